"""UMPA's UTH: exchanges that save hops of messages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from hopbytes._arrays import Int32
from hopbytes.algorithms.base import Bounds, Effort, Refiner, refiners
from hopbytes.algorithms.refiners.umpa import swap_for_hops
from hopbytes.model.allocation import Allocation
from hopbytes.model.comm_graph import CommGraph


@refiners.register("uth")
@dataclass(frozen=True, slots=True)
class HopSwap(Refiner):
    """Like ``uwh`` for the hops of all messages, whatever their size (UTH).

    Parameters
    ----------
    delta : int
        Nodes tried per group.
    """

    objective: ClassVar[str] = "hops"
    delta: int = 64

    def refine(self, graph: CommGraph, where: Allocation, pe: Int32, bounds: Bounds, effort: Effort) -> Int32:
        """Return a placement with no more message hops."""
        return swap_for_hops(graph, where, pe, bounds, effort, self.delta, "messages")
