"""PTRAM's greedy mapping: groups of tasks go where the hybrid metric along real routes is least."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from hopbytes._arrays import Int32
from hopbytes.algorithms.base import Bounds, Effort, Mapper, mappers
from hopbytes.algorithms.two_level import (
    Grouped,
    Routed,
    move_groups,
    neighbourhood_of,
    ports_of,
    routed_groups,
)
from hopbytes.algorithms.two_level.node_level import capacity_of, cut, finish, settings_of
from hopbytes.cost.objectives.hybrid import Hybrid
from hopbytes.cost.objectives.link_sums import traffic
from hopbytes.engine.routed_search import HybridTerms, hybrid_greedy, route_classes
from hopbytes.errors import UnsupportedError
from hopbytes.model.allocation import Allocation
from hopbytes.model.comm_graph import CommGraph

Place = Callable[[Grouped, Routed, HybridTerms, Effort], Int32]


@mappers.register("ptram")
@dataclass(frozen=True, slots=True)
class HybridGreedy(Mapper):
    """Partition to nodes, then place group after group on the node with the lowest hybrid metric.

    Parameters
    ----------
    weights : str
        Of hop-bytes, highest, mean and variance of congestion, such as ``1/1/1/1``.
    raw : bool
        Add the terms as published. By default each is divided by its value for groups in order first,
        hop-bytes by the share of it that the groups placed so far would have. Raw terms depend on units:
        where capacities are bytes per second (``ib:``), congestion is some seconds beside 10^9 and more
        hop-bytes, so that only hop-bytes count unless `weights` make up for it.
    guarded : bool
        Keep the groups in the order of the partition where that has a lower highest congestion.
    repetitions, initial_partitions : int
        Effort of the partition to nodes.

    Raises
    ------
    UnsupportedError
        Weights that are not four numbers >= 0; a machine without routes.

    Notes
    -----
    Mirsadeghi and Afsahi, "PTRAM: a parallel topology- and routing-aware mapping framework", IPDPS
    workshops 2016, algorithm 1. The group placed next talks most to placed groups plus 1/(placed + 1) of
    what it says to others; the metric is that of everything placed so far; ties fall to the smaller
    number. Of free nodes with the same routes but for their own links only one is evaluated, which
    changes nothing but the time. O(groups x nodes x degree x route length).
    """

    needs_routes: ClassVar[bool] = True
    weights: str = "1/1/1/1"
    raw: bool = False
    guarded: bool = False
    repetitions: int = 1
    initial_partitions: int = 4

    def __post_init__(self) -> None:
        parse_weights(self.weights)

    def map(self, graph: CommGraph, where: Allocation, bounds: Bounds, effort: Effort) -> Int32:
        """Return int32[n], the PE of every task."""
        return self.carried_out(graph, where, bounds, effort, self.place)

    def carried_out(
        self, graph: CommGraph, where: Allocation, bounds: Bounds, effort: Effort, place: Place
    ) -> Int32:
        """Return int32[n], the PE of every task, groups being placed by `place`."""
        grouped = cut(graph, where, bounds, effort, settings_of(self.repetitions, self.initial_partitions))
        if grouped.nodes.count < 2:
            return finish(graph, grouped, grouped.start, bounds, effort)
        if ports_of(grouped.nodes).count > 1:
            return self._beside_adapters(graph, grouped, bounds, effort, place)
        problem = routed_groups(graph, grouped, None, "mapper ptram")
        one_each = where.select(grouped.nodes.first)
        terms = self._terms(grouped.graph, one_each, grouped.start, problem)
        found = place(grouped, problem, terms, effort)
        if self.guarded:
            tops = [_top(grouped.graph, one_each, each) for each in (grouped.start, found)]
            found = grouped.start if tops[0] < tops[1] else found
        return finish(graph, grouped, found, bounds, effort)

    def _beside_adapters(
        self, graph: CommGraph, grouped: Grouped, bounds: Bounds, effort: Effort, place: Place
    ) -> Int32:
        """Map where nodes have several adapters: which of them a task uses is known once it has a PE."""
        where = grouped.nodes.where
        seated = finish(graph, grouped, grouped.start, bounds, effort)
        problem = routed_groups(graph, grouped, seated, "mapper ptram")
        found = place(grouped, problem, self._terms(graph, where, seated, problem), effort)
        moved = move_groups(
            graph, grouped, seated, found, capacity_of(
                graph, bounds
            ), settings_of(1, 4), effort.run_control()
        )
        worse = self.guarded and _top(graph, where, seated) < _top(graph, where, moved)
        return seated if worse else moved

    def place(self, grouped: Grouped, problem: Routed, terms: HybridTerms, effort: Effort) -> Int32:
        """int32[G]: place of every group."""
        # Ports of a place have routes of their own, which classes of places do not know.
        classes = np.arange(grouped.nodes.count, dtype=np.int32)
        if problem.routing.ports == 1:
            classes = route_classes(problem.routing, grouped.capacities)
        place, evaluations = hybrid_greedy(
            problem.traffic, problem.routing, neighbourhood_of(grouped.nodes), terms, classes,
            by_share=not self.raw, control=effort.run_control(),
        )
        effort.count(places_evaluated=evaluations)
        return place

    def _terms(self, graph: CommGraph, where: Allocation, start: Int32, problem: Routed) -> HybridTerms:
        """Return the weights of the terms, normalised by groups in order of their numbers unless raw."""
        metric = Hybrid(self.raw, parse_weights(self.weights))
        return HybridTerms(*metric.resolved(graph, where, start), problem.unit, problem.scale)


def _top(graph: CommGraph, where: Allocation, pe: Int32) -> Fraction:
    """Return the highest congestion."""
    return traffic(graph, graph.volumes, where, pe, "mapper ptram", priced=True).most


def parse_weights(text: str) -> tuple[float, float, float, float]:
    """Read four numbers >= 0 with slashes between them (UnsupportedError for anything else)."""
    try:
        a, b, c, d = (float(word) for word in text.split("/"))
    except ValueError:
        a = b = c = d = -1.0
    if not all(0 <= weight < float("inf") for weight in (a, b, c, d)):
        raise UnsupportedError(f"mapper 'ptram': weights={text}, expected four numbers >= 0 like 1/1/1/1")
    return a, b, c, d


