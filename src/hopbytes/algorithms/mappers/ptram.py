"""The greedy mapping of PTRAM: each group of tasks is assigned so that the hybrid metric is lowest."""

from __future__ import annotations

from fractions import Fraction
from typing import ClassVar

import numpy as np

from hopbytes._arrays import Int32
from hopbytes._frozen import frozen
from hopbytes.algorithms.base import Bounds, Effort, Mapper, mappers
from hopbytes.algorithms.two_level.groups import Grouped, cut, finish, move_groups, settings_of
from hopbytes.algorithms.two_level.neighbourhood import neighbourhood_of
from hopbytes.algorithms.two_level.routing import Routed, ports_of, routed_groups
from hopbytes.cost.objectives.link_sums import traffic
from hopbytes.cost.objectives.on_links import Hybrid
from hopbytes.engine.routed_search import HybridTerms, hybrid_greedy, route_classes
from hopbytes.errors import UnsupportedError
from hopbytes.model.allocation import Allocation
from hopbytes.model.comm_graph import CommGraph
from hopbytes.util.options import check_types


@mappers.register("ptram")
@frozen
class HybridGreedy(Mapper):
    """Partition the tasks to nodes, then assign each group to the node with the lowest hybrid metric.

    Mirsadeghi and Afsahi, "PTRAM: a parallel topology- and routing-aware mapping framework", IPDPS
    workshops 2016, algorithm 1. The next group is the one with the largest communication volume with assigned
    groups plus 1/(assigned + 1) of its volume with the others. The metric is that of all groups assigned so
    far. In case of ties the smaller number is taken. Among free nodes whose routes differ only in their own
    links one is evaluated, which saves time and does not change the result.
    O(groups x nodes x degree x route length).
    """

    needs_routes: ClassVar[bool] = True
    #: Weights of hop-bytes and of maximum, mean and variance of congestion. The default is ``1/1/1/1``.
    weights: str = "1/1/1/1"
    #: Add the terms without normalization, as published. By default each term is first divided by its value
    #: for the groups in order, hop-bytes by the share of this value that belongs to the groups assigned so
    #: far. Raw terms depend on units: if capacities are bytes per second (``ib:``), congestion is a few
    #: seconds and hop-bytes are 10^9 and more, so that only hop-bytes matter unless `weights` compensate.
    raw: bool = False
    #: keep the groups in the order of the partition if this order has a lower maximum congestion
    guarded: bool = False
    repetitions: int = 1  #: effort of the partition to nodes
    initial_partitions: int = 4

    def __post_init__(self) -> None:
        check_types(self)
        parse_weights(self.weights)

    def map(self, graph: CommGraph, where: Allocation, bounds: Bounds, effort: Effort) -> Int32:
        grouped = cut(graph, where, bounds, effort, settings_of(self.repetitions, self.initial_partitions))
        if grouped.nodes.count < 2:
            return finish(graph, grouped, grouped.start, bounds, effort)
        if ports_of(grouped.nodes).count > 1:
            return self._beside_adapters(graph, grouped, bounds, effort)
        problem = routed_groups(graph, grouped, None, "mapper ptram")
        one_each = where.select(grouped.nodes.first)
        terms = self._terms(grouped.graph, one_each, grouped.start, problem)
        found = self.place(grouped, problem, terms, effort)
        if self.guarded:
            tops = [_top(grouped.graph, one_each, each) for each in (grouped.start, found)]
            found = grouped.start if tops[0] < tops[1] else found
        return finish(graph, grouped, found, bounds, effort)

    def _beside_adapters(self, graph: CommGraph, grouped: Grouped, bounds: Bounds, effort: Effort) -> Int32:
        """Map to nodes with several adapters; the adapter of a task is known when the task has a PE."""
        where = grouped.nodes.where
        seated = finish(graph, grouped, grouped.start, bounds, effort)
        problem = routed_groups(graph, grouped, seated, "mapper ptram")
        found = self.place(grouped, problem, self._terms(graph, where, seated, problem), effort)
        moved = move_groups(graph, grouped, seated, found, bounds, effort)
        worse = self.guarded and _top(graph, where, seated) < _top(graph, where, moved)
        return seated if worse else moved

    def place(self, grouped: Grouped, problem: Routed, terms: HybridTerms, effort: Effort) -> Int32:
        """Return int32[G], the node of every group."""
        # If nodes have several ports, every port has its own routes, which classes of nodes do not cover.
        classes = np.arange(grouped.nodes.count, dtype=np.int32)
        if problem.routing.ports == 1:
            classes = route_classes(problem.routing, grouped.capacities, effort.run_control())
        place, evaluations = hybrid_greedy(
            problem.traffic, problem.routing, neighbourhood_of(grouped.nodes, effort), terms, classes,
            by_share=not self.raw, control=effort.run_control(),
        )
        effort.count(places_evaluated=evaluations)
        return place

    def _terms(self, graph: CommGraph, where: Allocation, start: Int32, problem: Routed) -> HybridTerms:
        """Return the weights of the terms, normalized by their values for the groups in order unless raw."""
        metric = Hybrid(self.raw, parse_weights(self.weights))
        return HybridTerms(*metric.resolved(graph, where, start), problem.unit, problem.scale)


def _top(graph: CommGraph, where: Allocation, pe: Int32) -> Fraction:
    """Return the maximum congestion."""
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
