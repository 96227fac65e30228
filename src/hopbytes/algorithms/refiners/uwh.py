"""UWH of UMPA: exchanges that reduce hop-bytes."""

from __future__ import annotations

from typing import ClassVar

from hopbytes._arrays import Int32
from hopbytes._frozen import frozen
from hopbytes.algorithms.base import Bounds, Effort, Refiner, refiners
from hopbytes.algorithms.refiners.umpa import swap_for_hops
from hopbytes.model.allocation import Allocation
from hopbytes.model.comm_graph import CommGraph


@refiners.register("uwh")
@frozen
class WeightedHopSwap(Refiner):
    """Exchange the groups of two nodes, or move a group to a free node, as long as hop-bytes fall (UWH).

    Parameters
    ----------
    delta : int
        Number of nodes tried per group, the nearest to the nodes it communicates with. The paper does not
        state its value. With 8 the search takes at most half of the time, and hop-bytes are a few percent
        higher.

    Notes
    -----
    This is algorithm 2 of Deveci et al., IPDPS 2015: groups are visited by decreasing cost, and the first
    exchange with a gain is made; passes are repeated until one has no gain. Groups move only to nodes with
    enough room. On machines without a network J falls instead of hop-bytes.
    """

    objective: ClassVar[str] = "hop_bytes"
    delta: int = 64

    def refine(self, graph: CommGraph, where: Allocation, pe: Int32, bounds: Bounds, effort: Effort) -> Int32:
        """Return a mapping with no more hop-bytes."""
        return swap_for_hops(graph, where, pe, bounds, effort, self.delta, "volume")
