"""Functions shared by the refinements of UMPA: exchanges of whole groups of tasks between nodes."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from hopbytes._arrays import Int32
from hopbytes._frozen import frozen
from hopbytes.algorithms.base import Bounds, Effort, Refiner, refiners
from hopbytes.algorithms.mappers.ug import weighed
from hopbytes.algorithms.two_level.groups import (
    groups_of_mapping,
    move_groups,
    record_work,
)
from hopbytes.algorithms.two_level.neighbourhood import neighbourhood_of, place_distances
from hopbytes.algorithms.two_level.routing import routed_groups
from hopbytes.cost.objectives.comm_cost import objectives
from hopbytes.engine.routed_search import congestion_swap, hop_swap
from hopbytes.errors import UnsupportedError
from hopbytes.model.allocation import Allocation
from hopbytes.model.comm_graph import CommGraph
from hopbytes.util.options import check_types


@refiners.register("uwh")
@frozen
class WeightedHopSwap(Refiner):
    """Exchange the groups of two nodes, or move a group to a free node, as long as hop-bytes fall (UWH).

    This is algorithm 2 of Deveci et al., IPDPS 2015: groups are visited by decreasing cost, and the first
    exchange with a gain is made; passes are repeated until one has no gain. Groups move only to nodes with
    enough room. On machines without a network J falls instead of hop-bytes.
    """

    objective: ClassVar[str] = "hop_bytes"
    #: Number of nodes tried per group, the nearest to the nodes it communicates with. The paper does not
    #: state its value. With 8 the search takes at most half of the time, and hop-bytes are a few percent
    #: higher.
    delta: int = 64

    def refine(self, graph: CommGraph, where: Allocation, pe: Int32, bounds: Bounds, effort: Effort) -> Int32:
        return swap_for_hops(graph, where, pe, bounds, effort, self.delta, "volume")


@refiners.register("uth")
@frozen
class HopSwap(Refiner):
    """Like ``uwh``, for the hops of all messages regardless of their size (UTH)."""

    objective: ClassVar[str] = "hops"
    delta: int = 64  #: number of nodes tried per group

    def refine(self, graph: CommGraph, where: Allocation, pe: Int32, bounds: Bounds, effort: Effort) -> Int32:
        return swap_for_hops(graph, where, pe, bounds, effort, self.delta, "messages")


@refiners.register("umc")
@frozen
class CongestionSwap(Refiner):
    """Exchange the groups of two nodes as long as the maximum congestion of a link falls (UMC).

    The refiner follows algorithm 3 of Deveci et al., IPDPS 2015. The listing of that algorithm was not
    available, so it was reconstructed from its description. Groups with traffic over the hottest link, those
    with most traffic first, are tried on nodes near the groups they communicate with. All links with maximum
    congestion are tried before the search ends. The rule of the paper stops at ties and can be met by using
    more links, so it is not the default. Loads are integers, so a proposal costs only the links of the
    rerouted flows, and its rejection costs nothing.
    """

    needs_routes: ClassVar[bool] = True
    objective: ClassVar[str] = "max_congestion"
    delta: int = 8  #: number of nodes tried per group
    #: comparison of mappings: ``lexicographic`` compares the maximum congestion, the number of links that
    #: have it, the sum of squares and hop-bytes; ``paper`` compares the maximum congestion, then the mean
    #: congestion of links in use
    rule: str = "lexicographic"

    def __post_init__(self) -> None:
        check_types(self)
        check_rule("umc", self.rule)

    def refine(self, graph: CommGraph, where: Allocation, pe: Int32, bounds: Bounds, effort: Effort) -> Int32:
        return swap_for_congestion(
            graph, where, pe, bounds, effort, delta=self.delta, rule=self.rule, messages=False
        )


@refiners.register("ummc")
@frozen
class MessageCongestionSwap(Refiner):
    """Like ``umc``, for the number of messages on a link regardless of its capacity (UMMC)."""

    needs_routes: ClassVar[bool] = True
    objective: ClassVar[str] = "max_messages"
    delta: int = 8  #: the options of ``umc``
    rule: str = "lexicographic"

    def __post_init__(self) -> None:
        check_types(self)
        check_rule("ummc", self.rule)

    def refine(self, graph: CommGraph, where: Allocation, pe: Int32, bounds: Bounds, effort: Effort) -> Int32:
        return swap_for_congestion(
            graph, where, pe, bounds, effort, delta=self.delta, rule=self.rule, messages=True
        )


RULES = ("lexicographic", "paper")
#: Limit of the number of exchanges per group in congestion refinement, far above what searches reach.
MOST_EXCHANGES = 1000


def swap_for_hops(
    graph: CommGraph, where: Allocation, pe: Int32, bounds: Bounds, effort: Effort, delta: int, weight: str
) -> Int32:
    """Exchange the groups of nodes as long as hop-bytes (or hops of messages) fall."""
    grouped = groups_of_mapping(graph, where, pe, bounds) if graph.n else None
    if grouped is None or grouped.nodes.count < 2:
        return pe
    place, evaluations = hop_swap(
        weighed(grouped, weight), neighbourhood_of(grouped.nodes, effort), place_distances(grouped.nodes),
        grouped.start, delta, control=effort.run_control(),
    )
    record_work(effort, grouped.graph, evaluations)
    after = move_groups(graph, grouped, pe, place, bounds, effort)
    if where.machine.network() is None:  # J also counts distances inside nodes, which may differ
        return no_worse(graph, where, pe, after, "comm_cost")
    return no_worse(graph, where, pe, after, "hops" if weight == "messages" else "hop_bytes")


def no_worse(graph: CommGraph, where: Allocation, before: Int32, after: Int32, *goals: str) -> Int32:
    """Return `after` unless one of the objectives is higher there than with `before`."""
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
    grouped = groups_of_mapping(graph, where, pe, bounds) if graph.n else None
    who = "refiner ummc" if messages else "refiner umc"
    if grouped is None or grouped.nodes.count < 2:
        return pe
    problem = routed_groups(graph, grouped, pe, who, messages=messages)
    place, made, evaluations = congestion_swap(
        problem.traffic, problem.routing, neighbourhood_of(grouped.nodes, effort), grouped.start, delta=delta,
        paper_rule=rule == "paper", limit=MOST_EXCHANGES * len(grouped.sizes), control=effort.run_control(),
    )
    record_work(effort, grouped.graph, evaluations, swaps=made)
    after = move_groups(graph, grouped, pe, place, bounds, effort)
    return no_worse(graph, where, pe, after, "max_messages" if messages else "max_congestion")


def check_rule(name: str, rule: str) -> None:
    """Raise UnsupportedError if the rule does not exist."""
    if rule not in RULES:
        raise UnsupportedError(f"refiner {name!r}: rule={rule}, expected one of {', '.join(RULES)}")
