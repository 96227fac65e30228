"""The refinements of UMPA: exchanges of whole groups of tasks between nodes."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from hopbytes._arrays import Int32
from hopbytes._frozen import frozen
from hopbytes.algorithms.base import Allowed, Bounds, Effort, Refiner, refiners
from hopbytes.algorithms.mappers.ug import weighed
from hopbytes.algorithms.two_level.groups import groups_of_mapping, move_groups, record_work
from hopbytes.algorithms.two_level.neighbourhood import neighbourhood_of, place_distances
from hopbytes.algorithms.two_level.routing import routed_groups
from hopbytes.cost.objectives.comm_cost import objectives
from hopbytes.engine.routed_search import congestion_swap, hop_swap
from hopbytes.model.allocation import Allocation
from hopbytes.model.comm_graph import CommGraph

#: Limit of the number of exchanges per group in congestion refinement, far above what searches reach.
MOST_EXCHANGES = 1000


@refiners.register("uwh")
@frozen
class WeightedHopSwap(Refiner):
    """Exchange the groups of two nodes, or move a group to a free node, as long as hop-bytes fall (UWH).

    This is algorithm 2 of Deveci et al., IPDPS 2015: groups are visited by decreasing cost, and the first
    exchange with a gain is made; passes are repeated until one has no gain. Groups move only to nodes with
    enough room. On machines without a network J falls instead of hop-bytes.
    """

    objective: ClassVar[str] = "hop_bytes"
    weight: ClassVar[str] = "volume"
    #: Number of nodes tried per group, the nearest to the nodes it communicates with. The paper does not
    #: state its value. With 8 the search takes at most half of the time, and hop-bytes are a few percent
    #: higher.
    delta: int = 64

    def refine(self, graph: CommGraph, where: Allocation, pe: Int32, bounds: Bounds, effort: Effort) -> Int32:
        grouped = groups_of_mapping(graph, where, pe, bounds) if graph.n else None
        if grouped is None or grouped.nodes.count < 2:
            return pe
        place, evaluations = hop_swap(
            weighed(grouped, self.weight), neighbourhood_of(grouped.nodes, effort),
            place_distances(grouped.nodes), grouped.start, self.delta, control=effort.run_control(),
        )
        record_work(effort, grouped.graph, evaluations)
        after = move_groups(graph, grouped, pe, place, bounds, effort)
        # Without a network J is compared, which also counts distances inside nodes; these may differ.
        goal = "comm_cost" if where.machine.network() is None else self.objective
        return no_worse(graph, where, pe, after, goal)


@refiners.register("uth")
@frozen
class HopSwap(WeightedHopSwap):
    """Like ``uwh``, for the hops of all messages regardless of their size (UTH)."""

    objective: ClassVar[str] = "hops"
    weight: ClassVar[str] = "messages"


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
    allowed: ClassVar[Allowed] = {"rule": ("lexicographic", "paper")}
    delta: int = 8  #: number of nodes tried per group
    #: comparison of mappings: ``lexicographic`` compares the maximum congestion, the number of links that
    #: have it, the sum of squares and hop-bytes; ``paper`` compares the maximum congestion, then the mean
    #: congestion of links in use
    rule: str = "lexicographic"

    def refine(self, graph: CommGraph, where: Allocation, pe: Int32, bounds: Bounds, effort: Effort) -> Int32:
        grouped = groups_of_mapping(graph, where, pe, bounds) if graph.n else None
        if grouped is None or grouped.nodes.count < 2:
            return pe
        who = f"refiner {refiners.name_of(type(self))}"
        problem = routed_groups(graph, grouped, pe, who, messages=self.objective == "max_messages")
        place, made, evaluations = congestion_swap(
            problem.traffic, problem.routing, neighbourhood_of(grouped.nodes, effort), grouped.start,
            delta=self.delta, paper_rule=self.rule == "paper", limit=MOST_EXCHANGES * len(grouped.sizes),
            control=effort.run_control(),
        )
        record_work(effort, grouped.graph, evaluations, swaps=made)
        after = move_groups(graph, grouped, pe, place, bounds, effort)
        return no_worse(graph, where, pe, after, self.objective)


@refiners.register("ummc")
@frozen
class MessageCongestionSwap(CongestionSwap):
    """Like ``umc``, for the number of messages on a link regardless of its capacity (UMMC)."""

    objective: ClassVar[str] = "max_messages"


def no_worse(graph: CommGraph, where: Allocation, before: Int32, after: Int32, *goals: str) -> Int32:
    """Return `after` unless one of the objectives is higher there than with `before`."""
    if after is before or np.array_equal(after, before):
        return before
    for goal in goals:
        judge = objectives[goal]()
        if judge.value(graph, where, after) > judge.value(graph, where, before):
            return before
    return after
