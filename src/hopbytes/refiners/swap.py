"""Pairwise exchanges of tasks: the local search of one task per slot."""

from __future__ import annotations

from dataclasses import dataclass

from hopbytes.allocation import Allocation
from hopbytes.engine import swap_refine
from hopbytes.graph import CommGraph
from hopbytes.mappers.base import Bounds, Effort, Int32, Refiner, refiners
from hopbytes.refiners.distances import cheaper, kernel_distances, priced


@refiners.register("swap")
@dataclass(frozen=True, slots=True)
class Swap(Refiner):
    """Exchange two tasks as long as that lowers the communication cost.

    Parameters
    ----------
    all_pairs_up_to : int
        With at most this many tasks every pair is tried, so the result is optimal under exchanges
        (unless 2^32 looks at an arc do not suffice: dense patterns of unequal volumes).
    nearest : int
        With more, partners are tasks on this many PEs before and after the PE of a neighbour. A
        larger partition (many tasks per PE) is left to the refiner ``vcycle``.

    Notes
    -----
    Gains cost O(degree) and are computed before anything is applied (Schulz and Träff, 2017, applied
    and took back); a queue holds the tasks whose surroundings changed.
    """

    all_pairs_up_to: int = 1024
    nearest: int = 16

    def refine(self, graph: CommGraph, where: Allocation, pe: Int32, bounds: Bounds, effort: Effort) -> Int32:
        """Return a placement that costs no more."""
        if where.k < 2 or graph.n < 2 or not (bounds.exact or graph.n <= self.all_pairs_up_to):
            return pe
        csr = graph.symmetric_positive()
        weights, unary = priced(graph, where, bounds.unary)
        better, evaluations = swap_refine(
            csr.indptr, csr.targets, weights, None if bounds.exact else graph.loads, pe,
            bounds.load, exact=bounds.exact, **kernel_distances(where), seed=effort.seed,
            all_pairs_up_to=self.all_pairs_up_to, nearest=self.nearest, deadline=effort.deadline,
            spend=effort.spend, unary=unary,
        )
        effort.work["swaps_evaluated"] = effort.work.get("swaps_evaluated", 0) + evaluations
        return cheaper(graph, where, pe, better, bounds.unary)
