"""UMPA's refinements: whole groups of tasks change nodes, for hops or for the busiest link."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from hopbytes.allocation import Allocation
from hopbytes.engine.places import hop_swap
from hopbytes.engine.routed import congestion_swap
from hopbytes.errors import UnsupportedError
from hopbytes.graph import CommGraph
from hopbytes.mappers.base import Bounds, Effort, Int32, Refiner, refiners
from hopbytes.mappers.node_level import book, pace_of, settings_of, share_of
from hopbytes.mappers.umpa import weighed
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


@refiners.register("uwh")
@dataclass(frozen=True, slots=True)
class WeightedHopSwap(Refiner):
    """Exchange the groups of tasks on two nodes, or move one to a free node, while hop-bytes fall (UWH).

    Parameters
    ----------
    delta : int
        Nodes tried per group, those nearest to the nodes it talks to.

    Notes
    -----
    Algorithm 2 of Deveci et al., IPDPS 2015: from the group that pays most on, the first exchange that
    helps is made; passes go on until one wins nothing. Groups only go where they fit. On machines without
    a network J falls instead of hop-bytes.
    """

    objective: ClassVar[str] = "hop_bytes"
    delta: int = 8

    def refine(self, graph: CommGraph, where: Allocation, pe: Int32, bounds: Bounds, effort: Effort) -> Int32:
        """Return a placement with no more hop-bytes."""
        return swap_for_hops(graph, where, pe, bounds, effort, self.delta, "volume")


@refiners.register("uth")
@dataclass(frozen=True, slots=True)
class HopSwap(Refiner):
    """Like ``uwh`` for the hops of all messages, whatever their size (UTH).

    Parameters
    ----------
    delta : int
        Nodes tried per group.
    """

    objective: ClassVar[str] = "hops"
    delta: int = 8

    def refine(self, graph: CommGraph, where: Allocation, pe: Int32, bounds: Bounds, effort: Effort) -> Int32:
        """Return a placement with no more message hops."""
        return swap_for_hops(graph, where, pe, bounds, effort, self.delta, "messages")


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


@refiners.register("umc")
@dataclass(frozen=True, slots=True)
class CongestionSwap(Refiner):
    """Exchange the groups on two nodes while the highest volume over capacity of a link falls (UMC).

    Parameters
    ----------
    delta : int
        Nodes tried per group.
    rule : str
        What counts as better: ``lexicographic`` compares highest congestion, number of links that have it,
        sum of squares, hop-bytes; ``paper`` highest congestion, then mean congestion of links in use.

    Raises
    ------
    UnsupportedError
        An unknown rule; a machine without routes.

    Notes
    -----
    Algorithm 3 of Deveci et al., IPDPS 2015, whose text is lost: reconstructed from its description. The
    groups with traffic over the hottest link, those with most there first, look for places near those they
    talk to; all links at the maximum are tried before it ends. The paper's rule stalls on ties and can be
    met by using more links, so it is not the default. Loads are integers, so that a proposal costs the
    links of the rerouted flows and its rejection nothing.
    """

    needs_routes: ClassVar[bool] = True
    objective: ClassVar[str] = "max_congestion"
    delta: int = 8
    rule: str = "lexicographic"

    def __post_init__(self) -> None:
        check_rule("umc", self.rule)

    def refine(self, graph: CommGraph, where: Allocation, pe: Int32, bounds: Bounds, effort: Effort) -> Int32:
        """Return a placement with no higher maximum congestion."""
        return swap_for_congestion(
            graph, where, pe, bounds, effort, delta=self.delta, rule=self.rule, messages=False
        )


@refiners.register("ummc")
@dataclass(frozen=True, slots=True)
class MessageCongestionSwap(Refiner):
    """Like ``umc`` for the number of messages over a link, whatever its capacity (UMMC).

    Parameters
    ----------
    delta, rule
        As of ``umc``.
    """

    needs_routes: ClassVar[bool] = True
    objective: ClassVar[str] = "max_messages"
    delta: int = 8
    rule: str = "lexicographic"

    def __post_init__(self) -> None:
        check_rule("ummc", self.rule)

    def refine(self, graph: CommGraph, where: Allocation, pe: Int32, bounds: Bounds, effort: Effort) -> Int32:
        """Return a placement with no more messages over the busiest link."""
        return swap_for_congestion(
            graph, where, pe, bounds, effort, delta=self.delta, rule=self.rule, messages=True
        )


def check_rule(name: str, rule: str) -> None:
    """Refuse a rule that does not exist (UnsupportedError)."""
    if rule not in RULES:
        raise UnsupportedError(f"refiner {name!r}: rule={rule}, expected one of {', '.join(RULES)}")
