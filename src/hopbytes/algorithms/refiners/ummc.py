"""UMMC of UMPA: exchanges that reduce the number of messages on the busiest link."""

from __future__ import annotations

from typing import ClassVar

from hopbytes._arrays import Int32
from hopbytes._frozen import frozen
from hopbytes.algorithms.base import Bounds, Effort, Refiner, refiners
from hopbytes.algorithms.refiners.umpa import check_rule, swap_for_congestion
from hopbytes.model.allocation import Allocation
from hopbytes.model.comm_graph import CommGraph
from hopbytes.util.options import check_types


@refiners.register("ummc")
@frozen
class MessageCongestionSwap(Refiner):
    """Like ``umc``, for the number of messages on a link regardless of its capacity (UMMC).

    Parameters
    ----------
    delta, rule
        The options of ``umc``.
    """

    needs_routes: ClassVar[bool] = True
    objective: ClassVar[str] = "max_messages"
    delta: int = 8
    rule: str = "lexicographic"

    def __post_init__(self) -> None:
        check_types(self)
        check_rule("ummc", self.rule)

    def refine(self, graph: CommGraph, where: Allocation, pe: Int32, bounds: Bounds, effort: Effort) -> Int32:
        """Return a mapping with no more messages on the busiest link."""
        return swap_for_congestion(
            graph, where, pe, bounds, effort, delta=self.delta, rule=self.rule, messages=True
        )
