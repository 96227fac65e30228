"""UMPA's UWH: exchanges that save hop-bytes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from hopbytes._arrays import Int32
from hopbytes.algorithms.base import Bounds, Effort, Refiner, refiners
from hopbytes.algorithms.refiners.umpa import swap_for_hops
from hopbytes.model.allocation import Allocation
from hopbytes.model.comm_graph import CommGraph


@refiners.register("uwh")
@dataclass(frozen=True, slots=True)
class WeightedHopSwap(Refiner):
    """Exchange the groups of tasks on two nodes, or move one to a free node, while hop-bytes fall (UWH).

    Parameters
    ----------
    delta : int
        Nodes tried per group, those nearest to the nodes it talks to. The number of the paper is not known;
        8 takes half of the time or less and leaves some percent more hop-bytes.

    Notes
    -----
    Algorithm 2 of Deveci et al., IPDPS 2015: from the group that pays most on, the first exchange that
    helps is made; passes go on until one wins nothing. Groups only go where they fit. On machines without
    a network J falls instead of hop-bytes.
    """

    objective: ClassVar[str] = "hop_bytes"
    delta: int = 64

    def refine(self, graph: CommGraph, where: Allocation, pe: Int32, bounds: Bounds, effort: Effort) -> Int32:
        """Return a placement with no more hop-bytes."""
        return swap_for_hops(graph, where, pe, bounds, effort, self.delta, "volume")
