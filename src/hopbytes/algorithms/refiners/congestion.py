"""Reduction of the congestion of all hot links, by moves of whole groups, then of single tasks."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import numpy as np

from hopbytes._arrays import Int32, Int64
from hopbytes._frozen import frozen
from hopbytes.algorithms.base import Bounds, Effort, Refiner, refiners
from hopbytes.algorithms.refiners.umpa import no_worse
from hopbytes.algorithms.two_level.groups import groups_of_mapping, move_groups, nodes_of, record_work
from hopbytes.algorithms.two_level.neighbourhood import neighbourhood_of
from hopbytes.algorithms.two_level.routing import Routed, routed, routed_groups
from hopbytes.cost.objectives.base import objectives
from hopbytes.cost.objectives.on_links import Hybrid
from hopbytes.engine.routed_search import CongestionSettings, HybridTerms, Neighbourhood, congestion_search
from hopbytes.errors import UnsupportedError
from hopbytes.model.allocation import Allocation
from hopbytes.model.comm_graph import CommGraph
from hopbytes.util.options import check_types
from hopbytes.util.random_numbers import derived_seeds

GOALS = ("max_congestion", "max_messages", "hybrid")


@refiners.register("congestion")
@frozen
class Congestion(Refiner):
    """Lower the congestion of the hottest links, several at a time.

    The search is threshold accepting (Dueck and Scheuer, 1990) on the sum over links of
    (congestion / maximum)^4. This function depends on every hot link, so the search leaves plateaus of the
    maximum, and it also rewards fewer hop-bytes, since the load of every link counts. A step moves a random
    flow over a random hot link near the nodes it communicates with. The best mapping by (maximum congestion,
    number of links that have it, hop-bytes) is kept. UMPA and PTRAM do not move single tasks between nodes;
    they keep the given partition.
    """

    needs_routes: ClassVar[bool] = True
    objective: ClassVar[str] = "max_congestion"
    keeps: ClassVar[tuple[str, ...]] = ("hop_bytes",)
    #: objective: ``max_congestion``, ``max_messages`` or ``hybrid`` (relative to the mapping in order)
    goal: str = "max_congestion"
    #: number of evaluated exchanges per node in which all tasks of a node move; 0 turns this phase off
    group_work: int = 200
    #: Number of evaluated exchanges of single tasks per task in the second phase; 0 turns it off. This phase
    #: requires that every PE holds one task.
    task_work: int = 20
    nearest: int = 32  #: number of nodes (or PEs) near another one that are candidates for a group (or task)
    #: links with at least this percentage of the maximum congestion are selected for improvement
    band_percent: int = 85
    #: Initial acceptance threshold for losses, in thousandths of the cost of a link with maximum congestion.
    #: It falls to 0 during the search.
    threshold: int = 30_000
    #: percentage by which hop-bytes (hops of messages with ``max_messages``) may rise; None: no limit
    hop_percent: int | None = 0
    #: percentage of the group exchanges that move sets of groups together: ranges of nodes in machine order,
    #: the neighbourhoods of two nodes, clusters of communicating groups, cycles
    set_percent: int = 20

    def __post_init__(self) -> None:
        check_types(self)
        check_goal("congestion", self.goal)

    def refine(self, graph: CommGraph, where: Allocation, pe: Int32, bounds: Bounds, effort: Effort) -> Int32:
        nodes = nodes_of(where)
        if graph.n == 0 or nodes.count < 2:
            return pe
        if self.group_work:
            grouped = groups_of_mapping(graph, where, pe, bounds)
            problem = routed_groups(graph, grouped, pe, "refiner congestion", messages=not self._priced)
            near = neighbourhood_of(nodes, effort)
            place = self._search(problem, grouped.start, self.group_work, near, graph, where, effort, 0)
            pe = self._kept(graph, where, pe, move_groups(graph, grouped, pe, place, bounds, effort))
        if self.task_work and graph.n == where.k and bounds.exact and len(np.unique(pe)) == where.k:
            ones = np.ones(graph.n, np.int64)
            problem = routed(
                nodes, graph, self._weights(graph), ones, ones, "refiner congestion", priced=self._priced,
                of_pes=True,
            )
            around = neighbourhood_of(nodes, effort, of_pes=True)
            found = self._search(problem, pe, self.task_work, around, graph, where, effort, 1)
            pe = self._kept(graph, where, pe, found)
        return pe

    def _kept(self, graph: CommGraph, where: Allocation, before: Int32, after: Int32) -> Int32:
        """Return `after` if its goal is not worse and its hops are within the limit, otherwise `before`."""
        if self.hop_percent is not None and not np.array_equal(after, before):
            hops = objectives["hop_bytes" if self._priced else "hops"]()
            most = hops.value(graph, where, before) * (100 + self.hop_percent)
            if hops.value(graph, where, after) * 100 > most:
                return before
        return no_worse(graph, where, before, after, self.goal)

    @property
    def _priced(self) -> bool:
        return self.goal != "max_messages"

    def _weights(self, graph: CommGraph) -> Int64 | None:
        return graph.messages if self.goal == "max_messages" else graph.volumes

    def _search(
        self, problem: Routed, start: Int32, work: int, around: Neighbourhood, graph: CommGraph,
        where: Allocation,
        effort: Effort, step: int,
    ) -> Int32:
        terms = None
        if self.goal == "hybrid":
            terms = HybridTerms(*Hybrid().resolved(graph, where), problem.unit, problem.scale)
        seed = int(derived_seeds((effort.seed % 2**64, step), 1)[0])
        settings = CongestionSettings(
            work * len(start), self.nearest, self.band_percent, self.threshold, self.hop_percent,
            set_percent=0 if step else self.set_percent,
        )
        place, made, evaluations = congestion_search(
            problem.traffic, problem.routing, around, start, settings, hybrid=terms,
            control=replace(effort.run_control(), seed=seed),
        )
        record_work(effort, graph, evaluations, swaps=made)
        return place


def check_goal(name: str, goal: str) -> None:
    """Raise UnsupportedError if the goal does not exist."""
    if goal not in GOALS:
        raise UnsupportedError(f"refiner {name!r}: goal={goal}, expected one of {', '.join(GOALS)}")
