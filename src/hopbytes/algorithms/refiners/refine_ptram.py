"""The refinement of PTRAM: exchanges that reduce the congestion of the hottest link."""

from __future__ import annotations

from typing import ClassVar

from hopbytes._arrays import Int32
from hopbytes._frozen import frozen
from hopbytes.algorithms.base import Allowed, Bounds, Effort, Refiner, refiners
from hopbytes.algorithms.refiners.umpa import no_worse
from hopbytes.algorithms.two_level.groups import Grouped, groups_of_mapping, move_groups, record_work
from hopbytes.algorithms.two_level.neighbourhood import neighbourhood_of
from hopbytes.algorithms.two_level.routing import Routed, routed_groups
from hopbytes.engine.routed_search import hottest_link_refine
from hopbytes.model.allocation import Allocation
from hopbytes.model.comm_graph import CommGraph

#: Rules in the order of ``ReliefRule`` in ``core/routing/ptram.hpp``.
RULES = ("count", "paper", "listing")


@refiners.register("ptram")
@frozen
class HottestLink(Refiner):
    """In each round, make the exchange of the groups of two nodes that lowers the maximum congestion most.

    This is algorithm 2 of Mirsadeghi and Afsahi, IPDPS workshops 2016, evaluated for one node after another.
    Every group with a flow over the hottest link (in case of ties the one with the lowest number) is tried on
    the nodes nearest to its own, and in case of ties the lower node is taken. The paper tries only groups
    that send over this link (``rule=listing``). By default those that receive over it are tried, too, and
    free nodes are candidates, which the paper does not specify.
    """

    needs_routes: ClassVar[bool] = True
    objective: ClassVar[str] = "max_congestion"
    allowed: ClassVar[Allowed] = {"rule": RULES, "ties": ("number", "nearby")}
    nearest: int = 7  #: number of candidate nodes per group: the nearest by hops
    rounds: int = 10  #: Maximum number of rounds. The search ends earlier if no exchange is an improvement.
    #: With ``paper`` an exchange must lower the maximum congestion, and groups with flows over the first of
    #: the hottest links are tried. ``listing`` does exactly what the listing of the paper says: only groups
    #: that send over this link are tried, and only on nodes that hold a group. With ``count`` an exchange may
    #: also reduce the number of links with maximum congestion, and groups on all these links are tried, so
    #: that ties do not end the search.
    rule: str = "paper"
    #: order of equally near nodes: ``number`` takes low numbers first, ``nearby`` numbers near that of the
    #: node, so that all nodes of a switch are tried
    ties: str = "number"

    def refine(self, graph: CommGraph, where: Allocation, pe: Int32, bounds: Bounds, effort: Effort) -> Int32:
        grouped = groups_of_mapping(graph, where, pe, bounds) if graph.n else None
        if grouped is None or grouped.nodes.count < 2:
            return pe
        problem = routed_groups(graph, grouped, pe, "refiner ptram")
        place, rounds, evaluations = self.search(grouped, problem, effort)
        record_work(effort, grouped.graph, evaluations, rounds=rounds)
        after = move_groups(graph, grouped, pe, place, bounds, effort)
        return no_worse(graph, where, pe, after, self.objective)

    def search(self, grouped: Grouped, problem: Routed, effort: Effort) -> tuple[Int32, int, int]:
        """Return int32[G], the node of every group, the number of successful rounds, and of evaluations."""
        return hottest_link_refine(
            problem.traffic, problem.routing, neighbourhood_of(grouped.nodes, effort), grouped.start,
            nearest=self.nearest, rounds=self.rounds, rule=RULES.index(self.rule),
            nearby=self.ties == "nearby", control=effort.run_control(),
        )
