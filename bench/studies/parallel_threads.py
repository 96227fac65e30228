"""One thread beside two inside a run: J, CPU and wall seconds of presets on large graphs, and a rival.

    python -m bench.studies.parallel_threads --graphs FOLDER --presets turbo,fast --threads 1,2 --rival
    python -m bench.studies.parallel_threads --graphs FOLDER --presets turbo,fast,eco --out threads.jsonl

FOLDER holds ``*.graph``, ``*.graph.xz`` or ``*.bin`` (ParHIP); H is 4:8:6, D 1:10:100, imbalance 3 %.
``--machine`` gives another one with a core for every task, and every core gets one task.
Prints a row per graph, preset and number of threads: J, CPU and wall seconds of the mapping (reading is not
counted), scanned edges per arc of the symmetric graph. ``--out`` adds a line of JSON per run to a file,
with the span in the same unit. ``--rival`` adds SharedMap's ``fast`` on one thread, which needs ``pip
install '.[bench]'``. The mappings on all numbers of threads are compared. With seed 1 and the graphs of
2^20 vertices it takes about a minute.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

import hopbytes as hb
from bench.rivals.needed import need

MACHINE = "island:6@100 node:8@10 core:4@1"
ENDINGS = (".graph", ".graph.xz", ".bin")
Row = dict[str, Any]


def run(
    graph: hb.CommGraph, preset: str, seed: int, threads: int, machine: str = MACHINE
) -> tuple[hb.Mapping, float, float]:
    """Return a mapping, and the CPU and wall seconds that it took."""
    cpu, wall = time.process_time(), time.perf_counter()
    mapping = hb.map_tasks(
        graph, machine, preset=preset, seed=seed, threads=threads, partition=machine == MACHINE
    )
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


def work_and_span(mapping: hb.Mapping) -> tuple[int, int]:
    """Return scanned edges and their span."""
    work = mapping.info["work"]
    return work.get("arcs", 0), work.get("span", 0)


def pairs_of(rows: list[Row]) -> list[tuple[Row, Row]]:
    """Return the rows on one and on two threads of every graph, preset and seed."""
    found = {tuple(row[name] for name in ("graph", "preset", "seed", "threads")): row for row in rows}
    ones = [key for key in found if key[-1] == 1 and (*key[:-1], 2) in found]
    return [(found[key], found[(*key[:-1], 2)]) for key in ones]


def table(rows: list[Row]) -> str:
    """Return the runs on one and on two threads side by side."""
    lines = [
        "| graph | vertices | arcs | preset | J | CPU s, 1 thread | wall s, 1 thread | 2 threads | ratio"
        " | scanned edges per arc | work over span |",
        "|---" * 11 + "|",
    ]
    for one, two in pairs_of(rows):
        lines.append(
            f"| {one['graph']} | {one['n']:,} | {one['arcs']:,} | `{one['preset']}` | {one['comm_cost']:,}"
            f" | {one['cpu_seconds']:.2f} | {one['wall_seconds']:.2f} | {two['wall_seconds']:.2f}"
            f" | {one['wall_seconds'] / two['wall_seconds']:.2f} | {one['scanned'] / one['arcs']:.1f}"
            f" | {one['scanned'] / one['span']:.1f} |"
        )
    return "\n".join(lines)


def speed_ups(rows: list[Row]) -> dict[str, list[tuple[int, float]]]:
    """Return by graph and preset the speed-ups with 1 to 64 threads that work and span allow."""
    return {
        f"{row['graph']} {row['preset']}": [
            (threads, row["scanned"] / ((row["scanned"] - row["span"]) / threads + row["span"]))
            for threads in (2**power for power in range(7))
        ]
        for row, _ in pairs_of(rows)
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--graphs", type=Path, required=True)
    parser.add_argument("--presets", default="turbo,fast")
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--seeds", default="1")
    parser.add_argument("--machine", default=MACHINE)
    parser.add_argument("--rival", action="store_true")
    parser.add_argument("--out", type=Path, help="results file; rows are appended")
    options = parser.parse_args()
    warnings.simplefilter("ignore", hb.HopbytesWarning)
    print("| graph | vertices | arcs | tool | seed | threads | J | CPU s | wall s | scanned edges per arc |")
    print("|---" * 10 + "|")
    for path in sorted([each for end in ENDINGS for each in options.graphs.glob(f"*{end}")]):
        graph = hb.read(path)
        arcs = len(graph.symmetric().targets)
        # The first mapping of a graph also computes what later ones find ready.
        run(graph, "turbo", 0, 1, options.machine)
        name = path.name.split(".")[0]
        head = f"| {name} | {graph.n:,} | {arcs:,} |"
        for seed in map(int, options.seeds.split(",")):
            for preset in options.presets.split(","):
                found: list[np.ndarray] = []
                for threads in map(int, options.threads.split(",")):
                    mapping, cpu, wall = run(graph, preset, seed, threads, options.machine)
                    found.append(mapping.pe)
                    cost, scanned, span = mapping.info["comm_cost"], *work_and_span(mapping)
                    print(
                        head, f"`{preset}` | {seed} | {threads} | {cost:,} | {cpu:.2f} | {wall:.2f} |",
                        f"{scanned / arcs:.0f} |", flush=True,
                    )
                    row = {
                        "graph": name, "n": graph.n, "arcs": arcs, "preset": preset, "seed": seed,
                        "threads": threads, "comm_cost": cost, "cpu_seconds": cpu, "wall_seconds": wall,
                        "scanned": scanned, "span": span,
                    }  # fmt: skip
                    if options.out:
                        with options.out.open("a") as file:
                            file.write(json.dumps(row) + "\n")
                if not all(np.array_equal(found[0], other) for other in found):
                    print(f"{path.name}, {preset}, seed {seed}: the mapping depends on the number of threads")
            if options.rival:
                cost, cpu, wall = rival(path, seed)
                cells = f"SharedMap fast | {seed} | 1 | {cost:,} | {cpu:.2f} | {wall:.2f} | |"
                print(head, cells, flush=True)


if __name__ == "__main__":
    main()
