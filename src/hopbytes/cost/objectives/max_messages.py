"""Message congestion: the maximum over all links of the number of messages."""

from __future__ import annotations

from hopbytes._arrays import Int32
from hopbytes._frozen import frozen
from hopbytes.cost.objectives.base import Objective, objectives
from hopbytes.cost.objectives.link_sums import network_of, traffic
from hopbytes.model.allocation import Allocation
from hopbytes.model.comm_graph import CommGraph


@objectives.register("max_messages")
@frozen
class MaxMessages(Objective):
    """MMC = the largest number of messages on a link, independent of its capacity.

    Source: Deveci et al., IPDPS 2015.
    """

    symbol = "MMC"
    unit = "messages"
    meaning = "messages on the link with the most messages"
    family = "link loads"

    def value(self, graph: CommGraph, where: Allocation, pe: Int32) -> float:
        """Return MMC, a fraction if flows take several paths; O(m x length of a route)."""
        found = traffic(graph, graph.messages, where, pe, "objective max-messages", priced=False)
        return float(found.most)

    def lowered(self, graph: CommGraph, where: Allocation) -> tuple[CommGraph, Allocation]:
        """Return the graph with messages as volumes, so that J adds up the distances of messages."""
        network_of(where, "objective max-messages")
        return graph.with_weights("messages"), where
