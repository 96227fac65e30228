"""Functions that refiners share: distances for compiled code, and the choice of the cheaper mapping."""

from __future__ import annotations

import numpy as np

from hopbytes._arrays import Int32, Int64
from hopbytes.algorithms.base import Bounds
from hopbytes.cost.objectives.comm_cost import CommCost
from hopbytes.engine.control import MOST
from hopbytes.engine.problem import SearchProblem
from hopbytes.kernels.linear_cost import LinearCost
from hopbytes.machines.distances import NetworkDistance, TableDistance, kernel_distances
from hopbytes.model.allocation import Allocation
from hopbytes.model.comm_graph import CommGraph

#: Networks whose distances deviate more from those of a tree (``NetworkDistance.tree_deviation``) are unlike
#: one.
LEAST_DEVIATION = 0.15
#: From this deviation on, as on hypercubes, other starts and perturbations place blocks better than cuts.
SMALL_DEVIATION = 0.05


def search_problem(graph: CommGraph, where: Allocation, bounds: Bounds, threads: int = 1) -> SearchProblem:
    """Return the problem that refiners search; it has loads only if the bounds apply to loads."""
    csr = graph.symmetric_positive(threads)
    weights, linear_cost = _priced(graph, where, bounds.linear_cost)
    loads = None if bounds.exact else graph.loads
    return SearchProblem(csr._replace(weights=weights), loads, kernel_distances(where), linear_cost)


def _priced(
    graph: CommGraph, where: Allocation, linear_cost: LinearCost | None
) -> tuple[Int64 | None, LinearCost | None]:
    """Return the weights of ``graph.symmetric_positive()`` and the linear cost on the same scale.

    Searches count every edge once, but J counts both of its arcs. Linear costs are therefore halved if the
    two arcs have the same weight; if one of these costs is odd, the edge weights are doubled instead.
    """
    csr = graph.symmetric_positive()
    if linear_cost is None:
        return csr.weights, None
    times = 2 if csr.indptr is graph.indptr else 1
    over = 2 if one_way(where) else 1  # the search uses the sum of both directions
    if times == over:
        return csr.weights, linear_cost
    if times < over:
        return csr.weights, linear_cost.scaled(2, 1)
    finite = np.concatenate([linear_cost.costs, linear_cost.rest])
    if np.any(finite % 2):
        weights = np.ones(len(csr.targets), np.int64) if csr.weights is None else csr.weights
        return 2 * weights, linear_cost
    return csr.weights, linear_cost.scaled(1, 2)


def one_way(where: Allocation) -> bool:
    """Whether distances differ by direction."""
    distance = where.distance
    return isinstance(distance, TableDistance) and not np.array_equal(distance.table, distance.table.T)


def both_ways_differ(graph: CommGraph, where: Allocation) -> bool:
    """Whether neither volumes nor distances are symmetric, so that the sum over both directions is not exact.
    """
    if graph.undirected or not one_way(where):
        return False
    sources, volumes = graph.sources(), graph.arc_volumes()
    turned = np.lexsort((sources, graph.targets))  # the arcs of the transposed graph, row by row
    same = np.array_equal(sources[turned], graph.targets) and np.array_equal(graph.targets[turned], sources)
    return not (same and np.array_equal(volumes[turned], volumes))


def unlike_a_tree(where: Allocation, least: float = LEAST_DEVIATION) -> bool:
    """Whether the machine is a network whose distances differ much from those of every tree, as on a grid."""
    distance = where.distance
    return isinstance(distance, NetworkDistance) and distance.tree_deviation() > least


def is_dense(graph: CommGraph) -> bool:
    """Whether a task on average exchanges messages with at least a quarter of all tasks."""
    return 4 * len(graph.symmetric_positive().targets) >= graph.n**2


def equal_both_ways(where: Allocation) -> bool:
    """Whether distances are equal in both directions and 0 on a PE."""
    distance = where.distance
    return not (one_way(where) or (isinstance(distance, TableDistance) and np.diagonal(distance.table).any()))


def cheaper(
    graph: CommGraph, where: Allocation, before: Int32, after: Int32, linear_cost: LinearCost | None
) -> Int32:
    """Return `after` unless it costs more than `before`, where linear costs count, too.

    Compiled searches compare exactly, with two exceptions: volumes and distances that were rounded because
    they are very large (:func:`hopbytes.engine.control.rescale_to_63_bits`), and tables that are asymmetric
    or have a diagonal, since searches use the mean of both directions. Only then costs are computed here.
    """
    # The factor 8 covers that both directions are stored and both distances are added.
    if equal_both_ways(where) and graph.total_volume * where.distance.largest * 8 <= MOST:
        return after
    cost = CommCost()

    def total(pe: Int32) -> int:
        return cost.value(graph, where, pe) + (0 if linear_cost is None else linear_cost.total(pe))

    return after if total(after) <= total(before) else before
