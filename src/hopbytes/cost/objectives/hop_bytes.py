"""Hop-bytes: volume times links of the route, summed over arcs."""

from __future__ import annotations

from hopbytes._arrays import Int32
from hopbytes._frozen import frozen
from hopbytes.cost.objectives.base import Objective, objectives
from hopbytes.cost.objectives.hop_distances import hop_distances_for_search
from hopbytes.cost.objectives.link_sums import links_travelled, plain
from hopbytes.model.allocation import Allocation
from hopbytes.model.comm_graph import CommGraph


@objectives.register("hop_bytes")
@frozen
class HopBytes(Objective):
    """WH = sum over arcs of volume x hops, where hops are the links between two nodes, 0 inside a node.

    Source: weighted hops of Deveci et al., "Fast and high quality topology-aware task mapping", IPDPS 2015.
    """

    symbol = "WH"
    unit = "bytes x hops"
    meaning = "volume times links travelled, summed over all arcs"
    family = "distance sum"

    def value(self, graph: CommGraph, where: Allocation, pe: Int32) -> int | float:
        """Return WH as in :func:`hopbytes.evaluate`: every arc by its own route, detours by their mean."""
        return plain(links_travelled(graph, graph.volumes, where, pe, "objective hop-bytes"))

    def lowered(self, graph: CommGraph, where: Allocation) -> tuple[CommGraph, Allocation]:
        """Return the graph and an allocation on which J equals WH if routes are symmetric and shortest."""
        return graph, hop_distances_for_search(graph, where, "objective hop-bytes")
