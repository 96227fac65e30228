"""PTRAM's mapper and refiner for ``map_tasks`` on rank 0, with searches distributed over leaders."""

from __future__ import annotations

from typing import ClassVar

from hopbytes._arrays import Int32
from hopbytes.algorithms.base import Bounds, Effort, Mapper, Refiner
from hopbytes.algorithms.mappers.ptram import HybridGreedy
from hopbytes.algorithms.refiners.refine_ptram import HottestLink
from hopbytes.algorithms.two_level.groups import Grouped
from hopbytes.algorithms.two_level.routing import Routed
from hopbytes.engine.routed_search import HybridTerms
from hopbytes.model.allocation import Allocation
from hopbytes.model.comm_graph import CommGraph
from hopbytes.mpi.ptram.node_leaders import Leaders


class LedGreedy(Mapper):
    """The mapper `plain`, whose groups are placed by `leaders`."""

    needs_routes: ClassVar[bool] = True

    def __init__(self, plain: HybridGreedy, leaders: Leaders) -> None:
        self._plain, self._leaders = plain, leaders

    def map(self, graph: CommGraph, where: Allocation, bounds: Bounds, effort: Effort) -> Int32:
        """Return int32[n], the PE of every task."""
        return self._plain.carried_out(graph, where, bounds, effort, self._place)

    def _place(self, grouped: Grouped, problem: Routed, terms: HybridTerms, effort: Effort) -> Int32:
        if problem.routing.ports > 1:  # leaders support one adapter per node only, so rank 0 searches alone
            return self._plain.place(grouped, problem, terms, effort)
        place, evaluations = self._leaders.greedy(problem, terms, by_share=not self._plain.raw)
        effort.count(places_evaluated=evaluations)
        return place


class LedRefinement(Refiner):
    """The refiner `plain`, whose exchanges are found by `leaders`."""

    needs_routes: ClassVar[bool] = True
    objective: ClassVar[str] = HottestLink.objective

    def __init__(self, plain: HottestLink, leaders: Leaders) -> None:
        self._plain, self._leaders = plain, leaders

    def refine(self, graph: CommGraph, where: Allocation, pe: Int32, bounds: Bounds, effort: Effort) -> Int32:
        """Return a mapping whose maximum congestion is not higher."""
        return self._plain.carried_out(graph, where, pe, bounds, effort, self._search)

    def _search(self, grouped: Grouped, problem: Routed, effort: Effort) -> tuple[Int32, int, int]:
        plain = self._plain
        if problem.routing.ports > 1:
            return plain.search(grouped, problem, effort)
        return self._leaders.refine(
            problem, grouped.start, nearest=plain.nearest, rounds=plain.rounds,
            paper_rule=plain.rule == "paper", nearby=plain.ties == "nearby",
        )
