"""What refiners share: distances as compiled code takes them, and the choice of the cheaper placement."""

from __future__ import annotations

import numpy as np

from hopbytes._arrays import Int32, Int64
from hopbytes.algorithms.base import Bounds
from hopbytes.cost.objectives.comm_cost import CommCost
from hopbytes.engine import MOST, SearchProblem
from hopbytes.kernels.linear_cost import LinearCost
from hopbytes.machines.common.lowering import kernel_distances
from hopbytes.machines.place_distances import TableDistance
from hopbytes.model.allocation import Allocation
from hopbytes.model.comm_graph import CommGraph

__all__ = ["both_ways_differ", "cheaper", "is_dense", "kernel_distances", "search_problem"]


def search_problem(graph: CommGraph, where: Allocation, bounds: Bounds) -> SearchProblem:
    """Return what refiners search: loads only where they bound what a PE may hold."""
    csr = graph.symmetric_positive()
    weights, linear_cost = _priced(graph, where, bounds.linear_cost)
    loads = None if bounds.exact else graph.loads
    return SearchProblem(csr._replace(weights=weights), loads, kernel_distances(where), linear_cost)


def _priced(graph: CommGraph, where: Allocation, linear_cost: LinearCost | None) -> tuple[
    Int64 | None, LinearCost | None
]:
    """Return weights of ``graph.symmetric_positive()`` and the prices that belong beside them.

    Searches count every edge once, J both of its arcs: so prices are halved where the two arcs weigh the
    same, and where a price is odd weights are doubled instead.
    """
    csr = graph.symmetric_positive()
    if linear_cost is None:
        return csr.weights, None
    times, over = (2 if csr.indptr is graph.indptr else 1), 1
    distance = where.distance
    if isinstance(distance, TableDistance) and not np.array_equal(distance.table, distance.table.T):
        over = 2  # the search sees the sum of both directions
    if times == over:
        return csr.weights, linear_cost
    if times < over:
        return csr.weights, linear_cost.scaled(2, 1)
    finite = np.concatenate([linear_cost.costs, linear_cost.rest])
    if np.any(finite % 2):
        weights = np.ones(len(csr.targets), np.int64) if csr.weights is None else csr.weights
        return 2 * weights, linear_cost
    return csr.weights, linear_cost.scaled(1, 2)


def both_ways_differ(graph: CommGraph, where: Allocation) -> bool:
    """Whether neither volumes nor distances are symmetric, so that no sum of directions stands for both.

    O(k^2 + m log m), and only on tables.
    """
    distance = where.distance
    if not isinstance(distance, TableDistance) or np.array_equal(distance.table, distance.table.T):
        return False
    if graph.undirected:
        return False
    sources, volumes = graph.sources(), graph.arc_volumes()
    turned = np.lexsort((sources, graph.targets))  # the arcs of the transposed graph, row by row
    same = np.array_equal(sources[turned], graph.targets) and np.array_equal(graph.targets[turned], sources)
    return not (same and np.array_equal(volumes[turned], volumes))


def is_dense(graph: CommGraph) -> bool:
    """Whether tasks exchange messages with a quarter of all others at least, on average."""
    return 4 * len(graph.symmetric_positive().targets) >= graph.n**2


def cheaper(
    graph: CommGraph, where: Allocation, before: Int32, after: Int32, linear_cost: LinearCost | None = None
) -> Int32:
    """Return `after` unless it costs more, prices of single tasks included.

    Compiled searches compare exactly, with two exceptions: volumes and distances so large that they were
    rounded (:func:`hopbytes.engine.rescale_to_63_bits`), and tables that are asymmetric or have a diagonal,
    of which
    searches see the mean of both directions. Only then the costs are computed here.
    """
    distance = where.distance
    table = distance.table if isinstance(distance, TableDistance) else None
    plain = table is None or (np.array_equal(table, table.T) and not np.diagonal(table).any())
    # Both directions are stored, both distances added.
    if plain and graph.total_volume * distance.largest * 8 <= MOST:
        return after
    cost = CommCost()

    def total(pe: Int32) -> int:
        return cost.value(graph, where, pe) + (0 if linear_cost is None else linear_cost.total(pe))

    return after if total(after) <= total(before) else before
