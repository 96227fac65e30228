"""Hops: how far messages travel, in links."""

from __future__ import annotations

from dataclasses import dataclass

from hopbytes._arrays import Int32
from hopbytes.cost.objectives.base import Objective, objectives
from hopbytes.cost.objectives.hop_distances import mostly_hops
from hopbytes.cost.objectives.link_sums import links_travelled, plain
from hopbytes.model.allocation import Allocation
from hopbytes.model.comm_graph import CommGraph


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

    def value(self, graph: CommGraph, where: Allocation, pe: Int32) -> int | float:
        """Return TH, as :func:`hopbytes.evaluate` does: every arc by its own route, detours by their mean."""
        return plain(links_travelled(graph, graph.messages, where, pe, "objective hops"))

    def lowered(self, graph: CommGraph, where: Allocation) -> tuple[CommGraph, Allocation]:
        """Return the graph and the allocation on which J is TH, up to ways back that differ and detours."""
        return graph.with_weights("messages"), mostly_hops(where, "objective hops")
