"""PTRAM's greedy mapping: groups of tasks go where the hybrid metric along real routes is least."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from hopbytes.allocation import Allocation
from hopbytes.engine.routed import HybridTerms, hybrid_greedy, route_classes
from hopbytes.errors import UnsupportedError
from hopbytes.graph import CommGraph
from hopbytes.mappers.base import Bounds, Effort, Int32, Mapper, mappers
from hopbytes.mappers.node_level import cut, finish, settings_of
from hopbytes.nodal import Grouped, Routed, routed, vicinity_of
from hopbytes.objectives.hybrid import Hybrid
from hopbytes.objectives.links import traffic


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
        hop-bytes by the share of it that the groups placed so far would have.
    guarded : bool
        Keep the groups in the order of the partition where that has a lower highest congestion.
    runs, tries : int
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
    runs: int = 1
    tries: int = 4

    def __post_init__(self) -> None:
        parse_weights(self.weights)

    def map(self, graph: CommGraph, where: Allocation, bounds: Bounds, effort: Effort) -> Int32:
        """Return int32[n], the PE of every task."""
        return self.carried_out(graph, where, bounds, effort, self.place)

    def carried_out(
        self, graph: CommGraph, where: Allocation, bounds: Bounds, effort: Effort,
        place: Callable[[Grouped, Effort], Int32],
    ) -> Int32:
        """Return int32[n], the PE of every task, groups being placed by `place`."""
        grouped = cut(graph, where, bounds, effort, settings_of(self.runs, self.tries))
        if grouped.nodes.count < 2:
            return finish(graph, grouped, grouped.start, bounds, effort)
        found = place(grouped, effort)
        if self.guarded and _top(grouped, grouped.start) < _top(grouped, found):
            found = grouped.start
        return finish(graph, grouped, found, bounds, effort)

    def posed(self, grouped: Grouped) -> tuple[Routed, HybridTerms]:
        """Return routes with traffic, and the metric to lower."""
        problem = node_problem(grouped, "mapper ptram")
        return problem, hybrid_terms(grouped, problem, Hybrid(self.raw, parse_weights(self.weights)))

    def place(self, grouped: Grouped, effort: Effort) -> Int32:
        """int32[G]: place of every group."""
        problem, terms = self.posed(grouped)
        place, evaluations = hybrid_greedy(
            problem.traffic, problem.routing, vicinity_of(grouped.nodes), terms,
            route_classes(problem.routing, grouped.capacities), by_share=not self.raw,
            deadline=effort.deadline,
        )
        effort.count(places_evaluated=evaluations)
        return place


def node_problem(grouped: Grouped, wanted: str) -> Routed:
    """Return routes and traffic between groups; capacities of links count."""
    return routed(
        grouped.nodes, grouped.graph, grouped.graph.volumes, grouped.sizes, grouped.capacities, wanted
    )


def hybrid_terms(grouped: Grouped, problem: Routed, metric: Hybrid) -> HybridTerms:
    """Return the weights of the terms, normalised by groups in order of their numbers unless raw."""
    one_each = grouped.nodes.where.select(grouped.nodes.first)
    return HybridTerms(*metric.resolved(grouped.graph, one_each), problem.unit, problem.scale)


def _top(grouped: Grouped, place: Int32) -> Fraction:
    """Return the highest congestion between nodes."""
    one_each = grouped.nodes.where.select(grouped.nodes.first)
    found = traffic(grouped.graph, grouped.graph.volumes, one_each, place, "mapper ptram", priced=True)
    return found.most


def parse_weights(text: str) -> tuple[float, float, float, float]:
    """Read four numbers >= 0 with slashes between them (UnsupportedError for anything else)."""
    try:
        a, b, c, d = (float(word) for word in text.split("/"))
    except ValueError:
        a = b = c = d = -1.0
    if not all(0 <= weight < float("inf") for weight in (a, b, c, d)):
        raise UnsupportedError(f"mapper 'ptram': weights={text}, expected four numbers >= 0 like 1/1/1/1")
    return a, b, c, d


