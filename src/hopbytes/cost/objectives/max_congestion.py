"""Congestion: what the busiest link carries, in bytes over its capacity."""

from __future__ import annotations

from dataclasses import dataclass

from hopbytes._arrays import Int32
from hopbytes.cost.objectives.base import Objective, objectives
from hopbytes.cost.objectives.link_sums import traffic
from hopbytes.model.allocation import Allocation
from hopbytes.model.comm_graph import CommGraph


@objectives.register("max_congestion")
@dataclass(frozen=True, slots=True)
class MaxCongestion(Objective):
    """MC = largest volume over capacity of a link, with the routes flows really take.

    Source: Deveci et al., IPDPS 2015; Mirsadeghi and Afsahi, "PTRAM", IPDPS workshops 2016.
    """

    symbol = "MC"
    unit = "bytes / capacity"
    meaning = "volume over capacity of the busiest link"
    family = "link loads"

    def value(self, graph: CommGraph, where: Allocation, pe: Int32) -> float:
        """Return MC; one division of exact integers, whatever the capacities. O(m x length of a route)."""
        found = traffic(graph, graph.volumes, where, pe, "objective max-congestion", priced=True)
        return float(found.most)
