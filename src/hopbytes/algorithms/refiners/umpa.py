"""Functions shared by the refinements of UMPA: exchanges of whole groups of tasks between nodes."""

from __future__ import annotations

import numpy as np

from hopbytes._arrays import Int32
from hopbytes.algorithms.base import Bounds, Effort
from hopbytes.algorithms.mappers.ug import weighed
from hopbytes.algorithms.two_level import (
    Grouped,
    groups_of_placement,
    move_groups,
    neighbourhood_of,
    place_distances,
    routed_groups,
)
from hopbytes.algorithms.two_level.node_level import capacity_of, record_work, settings_of
from hopbytes.cost.objectives.base import objectives
from hopbytes.engine.places import hop_swap
from hopbytes.engine.routed_search import congestion_swap
from hopbytes.errors import UnsupportedError
from hopbytes.model.allocation import Allocation
from hopbytes.model.comm_graph import CommGraph

RULES = ("lexicographic", "paper")
#: Limit of the number of exchanges per group in congestion refinement, far above what searches reach.
MOST_EXCHANGES = 1000


def relocated(
    graph: CommGraph, grouped: Grouped, pe: Int32, place: Int32, bounds: Bounds, effort: Effort
) -> Int32:
    """Return the mapping with every group on its new node."""
    if np.array_equal(place, grouped.start):
        return pe
    return move_groups(
        graph, grouped, pe, place, capacity_of(graph, bounds), settings_of(1, 4), effort.run_control()
    )


def swap_for_hops(
    graph: CommGraph, where: Allocation, pe: Int32, bounds: Bounds, effort: Effort, delta: int, weight: str
) -> Int32:
    """Exchange the groups of nodes as long as hop-bytes (or hops of messages) fall."""
    grouped = groups_of_placement(graph, where, pe, capacity_of(graph, bounds)) if graph.n else None
    if grouped is None or grouped.nodes.count < 2:
        return pe
    place, evaluations = hop_swap(
        weighed(grouped, weight), neighbourhood_of(grouped.nodes, effort), place_distances(grouped.nodes),
        grouped.start, delta, control=effort.run_control(),
    )
    record_work(effort, grouped.graph, evaluations)
    after = relocated(graph, grouped, pe, place, bounds, effort)
    if where.machine.network() is None:  # J also counts distances inside nodes, which may differ
        return no_worse(graph, where, pe, after, "comm_cost")
    return no_worse(graph, where, pe, after, "hops" if weight == "messages" else "hop_bytes")


def no_worse(graph: CommGraph, where: Allocation, before: Int32, after: Int32, *goals: str) -> Int32:
    """Return `after` unless one of the objectives is higher there than with `before`.

    The searches represent a node by its first PE, round the costs of links, and estimate the cost inside
    nodes of different structure. This function evaluates the objectives exactly.
    O(arcs x length of a route) per goal.
    """
    if after is before or np.array_equal(after, before):
        return before
    for goal in goals:
        judge = objectives[goal]()
        if judge.value(graph, where, after) > judge.value(graph, where, before):
            return before
    return after


def swap_for_congestion(
    graph: CommGraph, where: Allocation, pe: Int32, bounds: Bounds, effort: Effort,
    *, delta: int, rule: str, messages: bool,
) -> Int32:
    """Exchange the groups of nodes as long as the maximum load of a link falls."""
    grouped = groups_of_placement(graph, where, pe, capacity_of(graph, bounds)) if graph.n else None
    who = "refiner ummc" if messages else "refiner umc"
    if grouped is None or grouped.nodes.count < 2:
        return pe
    problem = routed_groups(graph, grouped, pe, who, messages=messages)
    place, made, evaluations = congestion_swap(
        problem.traffic, problem.routing, neighbourhood_of(grouped.nodes, effort), grouped.start, delta=delta,
        paper_rule=rule == "paper", limit=MOST_EXCHANGES * len(grouped.sizes), control=effort.run_control(),
    )
    record_work(effort, grouped.graph, evaluations, swaps=made)
    after = relocated(graph, grouped, pe, place, bounds, effort)
    return no_worse(graph, where, pe, after, "max_messages" if messages else "max_congestion")


def check_rule(name: str, rule: str) -> None:
    """Raise UnsupportedError if the rule does not exist."""
    if rule not in RULES:
        raise UnsupportedError(f"refiner {name!r}: rule={rule}, expected one of {', '.join(RULES)}")
