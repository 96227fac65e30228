"""UTH of UMPA: exchanges that reduce the hops of messages."""

from __future__ import annotations

from typing import ClassVar

from hopbytes._arrays import Int32
from hopbytes._frozen import frozen
from hopbytes.algorithms.base import Bounds, Effort, Refiner, refiners
from hopbytes.algorithms.refiners.umpa import swap_for_hops
from hopbytes.model.allocation import Allocation
from hopbytes.model.comm_graph import CommGraph


@refiners.register("uth")
@frozen
class HopSwap(Refiner):
    """Like ``uwh``, for the hops of all messages regardless of their size (UTH).

    Parameters
    ----------
    delta : int
        Number of nodes tried per group.
    """

    objective: ClassVar[str] = "hops"
    delta: int = 64

    def refine(self, graph: CommGraph, where: Allocation, pe: Int32, bounds: Bounds, effort: Effort) -> Int32:
        """Return a mapping with no more hops of messages."""
        return swap_for_hops(graph, where, pe, bounds, effort, self.delta, "messages")
