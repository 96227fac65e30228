"""The function that the searches over fixed sets of pairs share."""

from __future__ import annotations

from hopbytes._arrays import Int32
from hopbytes.algorithms.base import Bounds, Effort
from hopbytes.algorithms.shared.search_distances import cheaper, search_problem
from hopbytes.engine.slots import pair_search
from hopbytes.model.allocation import Allocation
from hopbytes.model.comm_graph import CommGraph


def search_pairs(
    kind: int, graph: CommGraph, where: Allocation, pe: Int32, bounds: Bounds, effort: Effort,
    reach: int = 0, order: Int32 | None = None,
) -> Int32:
    """Run one search, count its work, and return a mapping that costs no more."""
    if where.k < 2 or graph.n < 2:
        return pe
    found = pair_search(
        kind, search_problem(graph, where, bounds), pe, bounds.room(graph.n), reach=reach, order=order,
        control=effort.run_control(),
    )
    effort.count(swaps_evaluated=found.evaluations, swaps=found.swaps)
    return cheaper(graph, where, pe, found.pe, bounds.linear_cost)
