"""What to do with a placement on a machine whose routes are known: hops first, then the links."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from hopbytes.allocation import Allocation
from hopbytes.graph import CommGraph
from hopbytes.mappers.base import Bounds, Effort, Int32, Refiner, refiners
from hopbytes.mappers.ug import HopGreedy
from hopbytes.nodal import nodes_of
from hopbytes.objectives.base import objectives
from hopbytes.refiners.congestion import Congestion, check_goal
from hopbytes.refiners.uth import HopSwap
from hopbytes.refiners.uwh import WeightedHopSwap
from hopbytes.repair import meet_caps


@refiners.register("routed")
@dataclass(frozen=True, slots=True)
class Routed(Refiner):
    """Exchange groups for hops, then take load off the hottest links; nothing on machines without routes.

    Parameters
    ----------
    goal : str
        As of ``congestion``.
    effort : int
        Multiple of its group_work of 100 and task_work of 10.
    second_start : bool
        Also start from ``ug`` and keep the better result.
    hop_percent : int or None
        How far hop-bytes may rise for the sake of the links; None: without limit.

    Raises
    ------
    UnsupportedError
        An unknown goal.
    """

    objective: ClassVar[str] = "max_congestion"
    goal: str = "max_congestion"
    effort: int = 4
    second_start: bool = False
    hop_percent: int | None = 0

    def __post_init__(self) -> None:
        check_goal("routed", self.goal)

    def refine(self, graph: CommGraph, where: Allocation, pe: Int32, bounds: Bounds, effort: Effort) -> Int32:
        """Return a placement with a goal no worse."""
        if where.machine.network() is None or graph.n == 0 or nodes_of(where).count < 2:
            return pe
        found = [pe, self._improved(graph, where, pe, bounds, effort)]
        if self.second_start:
            weight = "messages" if self.goal == "max_messages" else "volume"
            other = HopGreedy(weight=weight).map(graph, where, bounds, effort)
            if bounds.exact or graph.loads is None:
                other = meet_caps(graph, where, other, None if bounds.exact else graph.loads, bounds.load).pe
                found.append(self._improved(graph, where, other, bounds, effort))
        judge = objectives[self.goal]()
        return min(found, key=lambda one: judge.value(graph, where, one))

    def _improved(
        self, graph: CommGraph, where: Allocation, pe: Int32, bounds: Bounds, effort: Effort
    ) -> Int32:
        near: Refiner = HopSwap() if self.goal == "max_messages" else WeightedHopSwap()
        links = Congestion(
            goal=self.goal, group_work=100 * self.effort, task_work=10 * self.effort,
            hop_percent=self.hop_percent,
        )
        for step in (near, links):
            pe = step.refine(graph, where, pe, bounds, effort)
        return pe
