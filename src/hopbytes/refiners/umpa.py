"""What UMPA's refinements share: whole groups of tasks change nodes, for hops or for the busiest link."""

from __future__ import annotations

import numpy as np

from hopbytes.allocation import Allocation
from hopbytes.engine.places import hop_swap
from hopbytes.engine.routed import congestion_swap
from hopbytes.errors import UnsupportedError
from hopbytes.graph import CommGraph
from hopbytes.mappers.base import Bounds, Effort, Int32
from hopbytes.mappers.node_level import book, pace_of, settings_of, share_of
from hopbytes.mappers.ug import weighed
from hopbytes.nodal import Grouped, groups_of_placement, move_groups, place_distances, routed, vicinity_of
from hopbytes.objectives.comm_cost import CommCost

RULES = ("lexicographic", "paper")
#: Exchanges that relieve links, per group: far more than are ever found.
MOST_EXCHANGES = 1000


def relocated(
    graph: CommGraph, grouped: Grouped, pe: Int32, place: Int32, bounds: Bounds, effort: Effort
) -> Int32:
    """Return the placement with every group at its new place."""
    if np.array_equal(place, grouped.start):
        return pe
    return move_groups(
        graph, grouped, pe, place, share_of(graph, bounds), settings_of(1, 4), pace_of(effort)
    )


def swap_for_hops(
    graph: CommGraph, where: Allocation, pe: Int32, bounds: Bounds, effort: Effort, delta: int, weight: str
) -> Int32:
    """Exchange what nodes hold as long as weighted hops fall."""
    grouped = groups_of_placement(graph, where, pe, share_of(graph, bounds)) if graph.n else None
    if grouped is None or grouped.nodes.count < 2:
        return pe
    place, evaluations = hop_swap(
        weighed(grouped, weight), vicinity_of(grouped.nodes), place_distances(grouped.nodes), grouped.start,
        delta, effort.deadline,
    )
    book(effort, grouped.graph, evaluations)
    after = relocated(graph, grouped, pe, place, bounds, effort)
    if where.machine.network() is None:  # nodes may differ inside, and J counts that, too
        cost = CommCost()
        return after if cost.value(graph, where, after) <= cost.value(graph, where, pe) else pe
    return after


def swap_for_congestion(
    graph: CommGraph, where: Allocation, pe: Int32, bounds: Bounds, effort: Effort,
    *, delta: int, rule: str, messages: bool,
) -> Int32:
    """Exchange what nodes hold as long as the busiest link gets relief."""
    grouped = groups_of_placement(graph, where, pe, share_of(graph, bounds)) if graph.n else None
    who = "refiner ummc" if messages else "refiner umc"
    if grouped is None or grouped.nodes.count < 2:
        return pe
    weights = grouped.graph.messages if messages else grouped.graph.volumes
    problem = routed(
        grouped.nodes, grouped.graph, weights, grouped.sizes, grouped.capacities, who, priced=not messages
    )
    place, made, evaluations = congestion_swap(
        problem.traffic, problem.routing, vicinity_of(grouped.nodes), grouped.start, delta=delta,
        paper_rule=rule == "paper", limit=MOST_EXCHANGES * len(grouped.sizes), deadline=effort.deadline,
    )
    book(effort, grouped.graph, evaluations, swaps=made)
    return relocated(graph, grouped, pe, place, bounds, effort)


def check_rule(name: str, rule: str) -> None:
    """Refuse a rule that does not exist (UnsupportedError)."""
    if rule not in RULES:
        raise UnsupportedError(f"refiner {name!r}: rule={rule}, expected one of {', '.join(RULES)}")
