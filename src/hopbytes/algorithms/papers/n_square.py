"""Exchanges over all pairs of tasks, in cyclic order."""

from __future__ import annotations

from dataclasses import dataclass

from hopbytes._arrays import Int32
from hopbytes.algorithms.base import Bounds, Effort, Refiner, refiners
from hopbytes.algorithms.papers.pairs import search_pairs
from hopbytes.engine.slots import ALL_PAIRS
from hopbytes.model.allocation import Allocation
from hopbytes.model.comm_graph import CommGraph


@refiners.register("n_square")
@dataclass(frozen=True, slots=True)
class NSquare(Refiner):
    """Try all pairs of tasks in cyclic order until none gains: the neighbourhood N^2.

    Notes
    -----
    Heider (1972): after (i, j) comes (i, j + 1), after the last j comes (i + 1, i + 2); it ends after
    n(n-1)/2 failures in a row. Pairs inside one innermost unit of a tree are passed over. O(degree) a
    pair, judged before anything is applied; O(n^2) pairs a round, so for a few thousand tasks at most.
    """

    def refine(self, graph: CommGraph, where: Allocation, pe: Int32, bounds: Bounds, effort: Effort) -> Int32:
        """Return a placement that no exchange of two tasks improves."""
        return search_pairs(ALL_PAIRS, graph, where, pe, bounds, effort)
