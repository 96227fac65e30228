"""Hops: messages times links of the route, summed over arcs."""

from __future__ import annotations

from hopbytes._arrays import Int32
from hopbytes._frozen import frozen
from hopbytes.cost.objectives.base import Objective, objectives
from hopbytes.cost.objectives.hop_distances import hop_distances_for_search
from hopbytes.cost.objectives.link_sums import links_travelled, plain
from hopbytes.model.allocation import Allocation
from hopbytes.model.comm_graph import CommGraph


@objectives.register("hops")
@frozen
class Hops(Objective):
    """TH = sum over arcs of messages x hops; one message per arc if the source has no message counts.

    Source: total hops of Deveci et al., IPDPS 2015.
    """

    symbol = "TH"
    unit = "messages x hops"
    meaning = "links travelled by all messages"
    family = "distance sum"

    def value(self, graph: CommGraph, where: Allocation, pe: Int32) -> int | float:
        """Return TH as in :func:`hopbytes.evaluate`: every arc by its own route, detours by their mean."""
        return plain(links_travelled(graph, graph.messages, where, pe, "objective hops"))

    def lowered(self, graph: CommGraph, where: Allocation) -> tuple[CommGraph, Allocation]:
        """Return a graph and an allocation on which J equals TH if routes are symmetric and shortest."""
        messages = graph.with_weights("messages")
        return messages, hop_distances_for_search(messages, where, "objective hops")
