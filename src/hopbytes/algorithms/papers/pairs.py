"""The function that the searches over fixed sets of pairs share."""

from __future__ import annotations

import numpy as np

from hopbytes._arrays import Int32
from hopbytes.algorithms.base import Bounds, Effort
from hopbytes.algorithms.shared.search_distances import cheaper, kernel_distances, priced
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
    csr = graph.symmetric_positive()
    weights, linear_cost = priced(graph, where, bounds.linear_cost)
    caps = np.full(where.k, graph.n, np.int64) if bounds.exact else bounds.load
    found = pair_search(
        kind, csr.indptr, csr.targets, weights, None if bounds.exact else graph.loads, pe, caps,
        reach=reach, order=order, **kernel_distances(where), deadline=effort.deadline, spend=effort.spend,
        linear_cost=linear_cost,
    )
    effort.count(swaps_evaluated=found.evaluations, swaps=found.swaps)
    return cheaper(graph, where, pe, found.pe, bounds.linear_cost)
