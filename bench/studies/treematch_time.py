"""CPU seconds of TreeMatch for thousands of ranks: whole mappings by one thread, by pattern and machine.

``python -m bench.studies.treematch_time [RANKS]`` (4096); the last pattern lets everybody talk to everybody.
Least of three runs; nothing is refined.
"""

from __future__ import annotations

import sys
import time

import numpy as np

import hopbytes as hb

#: Pairs all the way, nodes of two packages of four caches, one wide level.
MACHINES = ("binary", "node:{0}@10 package:2@5 l3:4@3 core:4@1", "node:{1}@10 core:64@1")
PATTERNS = ("stencil:{0}x16x16:points=27:periodic=xyz", "butterfly:{1}", "alltoall:{1}:groups={2}", "dense")


def machine(spec: str, ranks: int) -> str:
    """Return a machine with as many cores as ranks (a power of two from 64 on)."""
    if spec == "binary":
        levels = ranks.bit_length() - 1
        return " ".join(f"level{levels - level}:2@{levels - level}" for level in range(levels))
    return spec.format(ranks // 32, ranks // 64)


def pattern(spec: str, ranks: int) -> hb.CommGraph:
    """Return a pattern whose tasks are numbered at random, so that keeping their order is no answer."""
    rng = np.random.default_rng(0)
    if spec == "dense":
        volumes = rng.integers(1, 10**6, (ranks, ranks))
        np.fill_diagonal(volumes, 0)
        return hb.CommGraph.from_dense(volumes + volumes.T)
    graph, new = hb.read(spec.format(ranks // 256, ranks, ranks // 64)), rng.permutation(ranks)
    sources, targets = new[graph.sources()], new[graph.targets]
    return hb.CommGraph.from_edges(sources, targets, graph.volumes, n=ranks)


def main() -> None:
    """Print a row per pattern and machine."""
    ranks = int(sys.argv[1]) if len(sys.argv) > 1 else 4096
    hb.map_tasks(hb.read("stencil:4x4"), hb.allocate("core:16"), "treematch")  # imports are not timed
    for kind in PATTERNS:
        graph = pattern(kind, ranks)
        for spec in MACHINES:
            where = hb.allocate(machine(spec, ranks))
            seconds = []
            for _ in range(3):
                began = time.process_time()
                mapping = hb.map_tasks(graph, where, "treematch", threads=1)
                seconds.append(time.process_time() - began)
            cost = mapping.info["comm_cost"]
            order = hb.map_tasks(graph, where, "identity").info["comm_cost"]
            name = kind.format(ranks // 256, ranks, ranks // 64)
            place = spec.format(ranks // 32, ranks // 64)
            took, ratio = f"{min(seconds):.3f} s", f"J / in order {cost / order:.3f}"
            print(f"{name} ({graph.m} arcs) on {place}: {took}, {ratio}", flush=True)


if __name__ == "__main__":
    main()
