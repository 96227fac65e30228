"""Scanned edges per arc of presets: on files of graphs and on shapes that are extreme in one way.

    python -m bench.studies.work_per_arc --graphs FOLDER --presets fast,eco,strong

Prints a row per graph: vertices, arcs, and for every preset scanned edges per arc and CPU seconds. FOLDER
holds ``*.graph`` or ``*.graph.xz``; without it only the shapes are measured.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import hopbytes as hb

#: Kinds of machines: one level of 64, three levels of 192 in all.
MACHINES = ("core:64", "node:4@100 package:8@10 core:6@1")


def pairs(first: np.ndarray, second: np.ndarray, n: int) -> hb.CommGraph:
    """Return the undirected graph with these edges."""
    return hb.CommGraph.from_edges(first, second, np.ones(len(first), np.int64), n=n, undirected=True)


def shapes() -> Iterator[tuple[str, hb.CommGraph, str]]:
    """Yield name, graph and machine of graphs that are extreme in one way."""
    number = np.arange(20_000)
    for spec in MACHINES:
        yield "star", pairs(np.zeros(19_999, np.int64), number[1:], 20_000), spec
        yield "path", pairs(number[:-1], number[1:], 20_000), spec
        yield "complete", pairs(*np.triu_indices(500, 1), 500), spec
        rng = np.random.default_rng(1)
        yield "random of mean degree 8", pairs(*rng.integers(0, 20_000, (2, 80_000)), 20_000), spec
    rng = np.random.default_rng(2)
    place = rng.random((4_117, 2))
    # Points of the plane, each joined with those within a radius that gives about 33,498 arcs.
    from scipy.spatial import cKDTree

    near = cKDTree(place).query_pairs(np.sqrt(33_498 / (4_117 * 4_116 * np.pi)), output_type="ndarray")
    yield "plane in 100 blocks", pairs(near[:, 0], near[:, 1], 4_117), "core:100"


def files(folder: Path) -> Iterator[tuple[str, hb.CommGraph, str]]:
    """Yield name, graph and machine of every graph file of a folder."""
    for path in sorted([*folder.glob("*.graph"), *folder.glob("*.graph.xz")]):
        yield path.name.split(".")[0], hb.read(path), MACHINES[1]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--graphs", type=Path, help="folder of graphs")
    parser.add_argument("--only", default="", help="names of graphs and shapes, comma-separated")
    parser.add_argument("--presets", default="fast,eco,strong")
    options = parser.parse_args()
    warnings.simplefilter("ignore", hb.HopbytesWarning)
    chosen = set(filter(None, options.only.split(",")))
    given = files(options.graphs) if options.graphs else iter(())
    for name, graph, spec in (*shapes(), *given):
        if chosen and name not in chosen:
            continue
        arcs, cells = len(graph.symmetric().targets), []
        for preset in options.presets.split(","):
            began = time.process_time()
            mapping = hb.map_tasks(graph, hb.allocate(spec), preset, partition=True, threads=1, seed=1)
            scanned = mapping.info["work"].get("arcs", 0) / max(1, arcs)
            cells.append(f"{scanned:,.0f} | {time.process_time() - began:.2f}")
        print(f"| {name} | {spec} | {graph.n:,} | {arcs:,} |", " | ".join(cells), "|", flush=True)


if __name__ == "__main__":
    main()
