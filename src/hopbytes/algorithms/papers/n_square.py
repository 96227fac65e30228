"""Exchanges over all pairs of tasks, in cyclic order."""

from __future__ import annotations

from hopbytes._arrays import Int32
from hopbytes._frozen import frozen
from hopbytes.algorithms.base import Bounds, Effort, Refiner, refiners
from hopbytes.algorithms.papers.pairs import search_pairs
from hopbytes.engine.slots import ALL_PAIRS
from hopbytes.model.allocation import Allocation
from hopbytes.model.comm_graph import CommGraph


@refiners.register("n_square")
@frozen
class NSquare(Refiner):
    """Try all pairs of tasks in cyclic order until none gains: the neighbourhood N^2.

    Notes
    -----
    The order is that of Heider (1972): the pair (i, j) is followed by (i, j + 1), and the last j by
    (i + 1, i + 2). The search ends after n(n-1)/2 consecutive pairs without a gain. Pairs inside an innermost
    unit of a tree are skipped. A gain takes O(degree) and is computed before an exchange is made. A round has
    O(n^2) pairs, so the refiner is feasible for a few thousand tasks.
    """

    def refine(self, graph: CommGraph, where: Allocation, pe: Int32, bounds: Bounds, effort: Effort) -> Int32:
        """Return a mapping that no exchange of two tasks improves."""
        return search_pairs(ALL_PAIRS, graph, where, pe, bounds, effort)
