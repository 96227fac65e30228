"""Further suites for bench/run.py: deep hierarchies, irregular graphs, growth.

Deep hierarchies are a matter of the machine (``--hierarchy 4:16:32``), so that suite holds plain graphs.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import instances
from instances import Arrays, Instance, delaunay, from_edges, grid

#: Sides of boxes whose number of cells doubles, from about 2^17 to 2^21.
SIDES = {17: 51, 18: 64, 19: 81, 20: 102, 21: 128}


def random_graph(n: int, edges: int, seed: int) -> Arrays:
    """Edges between random ends."""
    ends = np.random.default_rng(seed).integers(0, n, (2, edges))
    return from_edges(n, ends[0], ends[1])


def recursive_matrix(log_n: int, per_vertex: int, seed: int) -> Arrays:
    """R-MAT (Chakrabarti, Zhan and Faloutsos, 2004), quadrants by 0.57, 0.19, 0.19, 0.05."""
    rng = np.random.default_rng(seed)
    ends = np.zeros((2, per_vertex << log_n), np.int64)
    for _ in range(log_n):
        quadrant = np.searchsorted([0.57, 0.76, 0.95], rng.random(ends.shape[1]), side="right")
        ends = 2 * ends + np.stack([quadrant // 2, quadrant % 2])
    return from_edges(1 << log_n, ends[0], ends[1])


def deep_suite() -> list[Instance]:
    """The three generated graphs of suite `foundation` in their own order."""
    return [each for each in instances.foundation_suite() if each.name in ("del17", "rgg17", "grid50")]


def irregular_suite() -> list[Instance]:
    """Social graphs and a circuit of the folder when it is there; random and recursive-matrix ones."""
    named = ("astro-ph", "ibm13_c8", "PGPgiantcompo")
    return [
        *(each for each in instances.engine_suite() if each.name in named),
        Instance("random20k", "irregular", lambda seed: random_graph(20_000, 200_000, seed)),
        Instance("rmat14", "irregular", lambda seed: recursive_matrix(14, 16, seed)),
        Instance("rmat15", "irregular", lambda seed: recursive_matrix(15, 8, seed)),
    ]


def growth_suite() -> list[Instance]:
    """Delaunay graphs and boxes of 2^17 to 2^21 vertices, every one twice as large as the one before."""
    flat = [Instance(f"del{i}", "2-D", lambda seed, i=i: delaunay(i, seed)) for i in SIDES]
    return flat + [Instance(f"box{i}", "3-D", lambda seed, s=s: grid(s, s, s)) for i, s in SIDES.items()]


SUITES: dict[str, Callable[[], list[Instance]]] = {
    **instances.SUITES, "deep": deep_suite, "irregular": irregular_suite, "growth": growth_suite,
}  # fmt: skip
