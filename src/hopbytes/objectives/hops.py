"""Hops: how far messages travel, in links."""

from __future__ import annotations

from dataclasses import dataclass

from hopbytes.allocation import Allocation
from hopbytes.graph import CommGraph
from hopbytes.objectives.base import Int32, Objective, objectives
from hopbytes.objectives.comm_cost import distance_sum
from hopbytes.objectives.hop_distances import in_hops, mostly_hops


@objectives.register("hops")
@dataclass(frozen=True, slots=True)
class Hops(Objective):
    """TH = sum over arcs of messages x hops; one message per arc where the source counted none.

    Source: total hops of Deveci et al., IPDPS 2015.
    """

    symbol = "TH"
    unit = "messages x hops"
    meaning = "links travelled by all messages"
    family = "distance sum"

    def value(self, graph: CommGraph, where: Allocation, pe: Int32) -> int:
        """Return TH; O(m)."""
        return distance_sum(graph, graph.messages, in_hops(where, "objective hops"), pe)

    def lowered(self, graph: CommGraph, where: Allocation) -> tuple[CommGraph, Allocation]:
        """Return the graph and the allocation on which J is TH."""
        return graph.weighing("messages"), mostly_hops(where, "objective hops")
