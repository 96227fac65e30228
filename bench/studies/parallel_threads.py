"""One thread beside two inside a run: J, CPU and wall seconds of presets on large graphs, and a rival.

    python -m bench.studies.parallel_threads --graphs FOLDER --presets turbo,fast --threads 1,2 --rival

FOLDER holds ``*.graph`` or ``*.graph.xz``; H is 4:8:6, D 1:10:100, imbalance 3 %. Prints a row per graph,
preset and number of threads: J, CPU and wall seconds of the mapping (reading is not counted), scanned edges
per arc of the symmetric graph. ``--rival`` adds SharedMap's ``fast`` on one thread, which needs
``pip install '.[bench]'``. The mappings on all numbers of threads are compared. With seed 1 and the graphs of
2^20 vertices it takes about a minute.
"""

from __future__ import annotations

import argparse
import time
import warnings
from pathlib import Path

import numpy as np

import hopbytes as hb
from bench.rivals.needed import need

MACHINE = "island:6@100 node:8@10 core:4@1"


def run(graph: hb.CommGraph, preset: str, seed: int, threads: int) -> tuple[hb.Mapping, float, float]:
    """Return a mapping, and the CPU and wall seconds that it took."""
    cpu, wall = time.process_time(), time.perf_counter()
    mapping = hb.map_tasks(graph, MACHINE, preset=preset, seed=seed, threads=threads, partition=True)
    return mapping, time.process_time() - cpu, time.perf_counter() - wall


def rival(path: Path, seed: int) -> tuple[int, float, float]:
    """Return J, CPU and wall seconds of SharedMap's fast on one thread."""
    need("chszlablib")
    from chszlablib import Decomposition, Graph

    graph = Graph.from_metis(str(path))
    cpu, wall = time.process_time(), time.perf_counter()
    found = Decomposition.process_map(
        graph, [4, 8, 6], [1, 10, 100], mode="fast", imbalance=0.03, threads=1, seed=seed
    )
    return int(found.comm_cost), time.process_time() - cpu, time.perf_counter() - wall


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--graphs", type=Path, required=True)
    parser.add_argument("--presets", default="turbo,fast")
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--seeds", default="1")
    parser.add_argument("--rival", action="store_true")
    options = parser.parse_args()
    warnings.simplefilter("ignore", hb.HopbytesWarning)
    print("| graph | vertices | arcs | tool | seed | threads | J | CPU s | wall s | scanned edges per arc |")
    print("|---" * 10 + "|")
    for path in sorted([*options.graphs.glob("*.graph"), *options.graphs.glob("*.graph.xz")]):
        graph = hb.read(path)
        arcs = len(graph.symmetric().targets)
        head = f"| {path.name.split('.')[0]} | {graph.n:,} | {arcs:,} |"
        for seed in map(int, options.seeds.split(",")):
            for preset in options.presets.split(","):
                found: list[np.ndarray] = []
                for threads in map(int, options.threads.split(",")):
                    mapping, cpu, wall = run(graph, preset, seed, threads)
                    found.append(mapping.pe)
                    cost, scanned = mapping.info["comm_cost"], mapping.info["work"].get("arcs", 0) / arcs
                    print(
                        head, f"`{preset}` | {seed} | {threads} | {cost:,} | {cpu:.2f} | {wall:.2f} |",
                        f"{scanned:.0f} |", flush=True,
                    )
                if not all(np.array_equal(found[0], other) for other in found):
                    print(f"{path.name}, {preset}, seed {seed}: the mapping depends on the number of threads")
            if options.rival:
                cost, cpu, wall = rival(path, seed)
                cells = f"SharedMap fast | {seed} | 1 | {cost:,} | {cpu:.2f} | {wall:.2f} | |"
                print(head, cells, flush=True)


if __name__ == "__main__":
    main()
