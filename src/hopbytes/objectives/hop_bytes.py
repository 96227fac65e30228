"""Hop-bytes: how far bytes travel, in links."""

from __future__ import annotations

from dataclasses import dataclass

from hopbytes.allocation import Allocation
from hopbytes.graph import CommGraph
from hopbytes.objectives.base import Int32, Objective, objectives
from hopbytes.objectives.comm_cost import distance_sum
from hopbytes.objectives.hop_distances import in_hops, mostly_hops


@objectives.register("hop_bytes")
@dataclass(frozen=True, slots=True)
class HopBytes(Objective):
    """WH = sum over arcs of volume x hops, hops being links between the two nodes; 0 inside a node.

    Source: weighted hops of Deveci et al., "Fast and high quality topology-aware task mapping", IPDPS 2015.
    """

    symbol = "WH"
    unit = "bytes x hops"
    meaning = "volume times links travelled, summed over all arcs"
    family = "distance sum"

    def value(self, graph: CommGraph, where: Allocation, pe: Int32) -> int:
        """Return WH; where the ways there and back differ, the longer one counts. O(m)."""
        return distance_sum(graph, graph.volumes, in_hops(where, "objective hop-bytes"), pe)

    def lowered(self, graph: CommGraph, where: Allocation) -> tuple[CommGraph, Allocation]:
        """Return the graph and the allocation on which J is WH."""
        return graph, mostly_hops(where, "objective hop-bytes")
