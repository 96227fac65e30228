"""Congestion: the maximum over all links of bytes divided by capacity."""

from __future__ import annotations

from hopbytes._arrays import Int32
from hopbytes._frozen import frozen
from hopbytes.cost.objectives.base import Objective, objectives
from hopbytes.cost.objectives.link_sums import traffic
from hopbytes.model.allocation import Allocation
from hopbytes.model.comm_graph import CommGraph


@objectives.register("max_congestion")
@frozen
class MaxCongestion(Objective):
    """MC = the largest volume over capacity of a link, with the routes of the network.

    Source: Deveci et al., IPDPS 2015; Mirsadeghi and Afsahi, "PTRAM", IPDPS workshops 2016.
    """

    symbol = "MC"
    unit = "bytes / capacity"
    meaning = "volume over capacity of the most congested link"
    family = "link loads"

    def value(self, graph: CommGraph, where: Allocation, pe: Int32) -> float:
        """Return MC, an exact fraction that is rounded once; O(m x length of a route)."""
        found = traffic(graph, graph.volumes, where, pe, "objective max-congestion", priced=True)
        return float(found.most)
