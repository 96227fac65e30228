"""Reduction of the congestion of all hot links by moves of groups and of tasks, alone or after hop-bytes."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from itertools import count
from typing import ClassVar

import numpy as np

from hopbytes._arrays import Int32
from hopbytes._frozen import frozen
from hopbytes.algorithms.balancer import meet_bounds
from hopbytes.algorithms.base import Allowed, Bounds, Effort, Refiner, refiners
from hopbytes.algorithms.mappers.ug import HopGreedy
from hopbytes.algorithms.refiners.umpa import HopSwap, WeightedHopSwap, no_worse
from hopbytes.algorithms.two_level.groups import groups_of_mapping, move_groups, nodes_of, record_work
from hopbytes.algorithms.two_level.neighbourhood import neighbourhood_of
from hopbytes.algorithms.two_level.routing import Routed as RoutedGroups
from hopbytes.algorithms.two_level.routing import routed, routed_groups
from hopbytes.cost.objectives.comm_cost import CommCost, Objective, objectives
from hopbytes.cost.objectives.on_links import Hybrid
from hopbytes.engine.routed_search import CongestionSettings, HybridTerms, Neighbourhood, congestion_search
from hopbytes.model.allocation import Allocation
from hopbytes.model.comm_graph import CommGraph
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
    allowed: ClassVar[Allowed] = {"goal": GOALS}
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
            weights = graph.volumes if self._priced else graph.messages
            problem = routed(
                nodes, graph, weights, ones, ones, "refiner congestion", priced=self._priced, of_pes=True
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

    def _search(
        self, problem: RoutedGroups, start: Int32, work: int, around: Neighbourhood, graph: CommGraph,
        where: Allocation, effort: Effort, step: int,
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


#: Thresholds of ``congestion`` that rounds of annealing use in turn.
THRESHOLDS = (10_000, 30_000, 3_000)


@frozen(eq=False)
class Limits:
    """Upper limits of hop-bytes (or hops of messages) and of the communication cost; None means no limit."""

    graph: CommGraph
    where: Allocation
    bounds: Bounds
    hops: Objective
    most: int | None = None
    cost: int | None = None

    def of(self, pe: Int32) -> int:
        """Return the hop-bytes of a mapping."""
        return int(self.hops.value(self.graph, self.where, pe))

    def kept(self, pe: Int32) -> bool:
        """Return whether a mapping is within the limits."""
        if self.most is not None and self.of(pe) > self.most:
            return False
        return self.cost is None or CommCost().value(self.graph, self.where, pe) <= self.cost

    def room(self, now: int) -> int | None:
        """Return the percentage by which hop-bytes may rise from `now`, rounded down; at least 0."""
        if self.most is None:
            return None
        return max(0, 100 * (self.most - now) // now) if now else 0


@refiners.register("routed")
@frozen
class Routed(Refiner):
    """Exchange groups to lower hop-bytes, then lower the congestion; no effect on machines without routes.

    The result and the counters of a round of annealing that the deadline ends early are discarded, so a work
    limit can reproduce a run with a time limit.
    """

    objective: ClassVar[str] = "max_congestion"
    allowed: ClassVar[Allowed] = {"goal": GOALS}
    goal: str = "max_congestion"  #: the goal of the refiner ``congestion``
    #: factor for the effort of ``congestion``: its group_work is 100 times and its task_work 10 times this
    effort: int = 4
    #: also start from a mapping by ``ug``, keep the better result and continue with moves of sets of groups
    second_start: bool = False
    set_moves: bool = False  #: continue with moves of sets of groups also without a second start
    #: Percentage by which hop-bytes may exceed those of the given mapping, for any start. With 0 the
    #: communication cost J may not rise either; None means no limit.
    hop_percent: int | None = 0
    #: with a time limit or a work limit continue until it is reached: rounds of ``congestion`` with new seeds
    #: anneal the best mapping again, at higher and lower temperatures in turn
    anneal: bool = False

    def refine(self, graph: CommGraph, where: Allocation, pe: Int32, bounds: Bounds, effort: Effort) -> Int32:
        if where.machine.network() is None or graph.n == 0 or nodes_of(where).count < 2:
            return pe
        limits = self._limits(graph, where, pe, bounds)
        found = [pe, self._improved(pe, effort, limits)]
        if self.second_start:
            weight = "messages" if self.goal == "max_messages" else "volume"
            other = HopGreedy(weight=weight).map(graph, where, bounds, effort)
            if bounds.exact or graph.loads is None:
                other = meet_bounds(graph, where, other, None, bounds.load).pe
                found.append(self._improved(other, effort, limits))
        judge = objectives[self.goal]()
        best = min(
            (one for one in found if limits.kept(one)), key=lambda one: judge.value(graph, where, one)
        )
        if self.second_start or self.set_moves:  # sets of groups move when single moves find no improvement
            links = Congestion(
                goal=self.goal, group_work=50 * self.effort, task_work=5 * self.effort, set_percent=40,
                hop_percent=None if self.hop_percent is None else 0, threshold=THRESHOLDS[0],
            )
            best = self._within(links, best, replace(effort, seed=effort.seed + 1), limits)
        endless = effort.deadline is not None or effort.work_limit is not None
        return self._annealed(best, effort, limits) if self.anneal and endless else best

    def _limits(self, graph: CommGraph, where: Allocation, pe: Int32, bounds: Bounds) -> Limits:
        hops = objectives["hops" if self.goal == "max_messages" else "hop_bytes"]()
        if self.hop_percent is None:
            return Limits(graph, where, bounds, hops)
        most = int(hops.value(graph, where, pe)) * (100 + self.hop_percent) // 100
        cost = None if self.hop_percent else CommCost().value(graph, where, pe)
        return Limits(graph, where, bounds, hops, most, cost)

    def _annealed(self, pe: Int32, effort: Effort, limits: Limits) -> Int32:
        goal = objectives[self.goal]()
        now = goal.value(limits.graph, limits.where, pe), limits.of(pe)
        for step in count():
            before = effort.work.get("arcs", 0)
            if effort.used_up or now[1] == 0:
                return pe
            seed = int(derived_seeds((effort.seed, 1, step), 1)[0] >> 1)
            links = Congestion(
                goal=self.goal, threshold=THRESHOLDS[step % len(THRESHOLDS)], hop_percent=limits.room(now[1])
            )
            own = replace(effort, seed=seed)
            better = own.whole(partial(self._within, links, pe, own, limits))
            if better is None or not effort.step_over(before):
                return pe
            effort.count(anneal_rounds=1)
            then = goal.value(limits.graph, limits.where, better), limits.of(better)
            if then < now:
                pe, now = better, then
        raise AssertionError("the rounds end above")

    def _improved(self, pe: Int32, effort: Effort, limits: Limits) -> Int32:
        # The effort is lower than the default of these refiners, since fewer hop-bytes leave less room for
        # lowering the congestion.
        near: Refiner = HopSwap(delta=8) if self.goal == "max_messages" else WeightedHopSwap(delta=8)
        pe = near.refine(limits.graph, limits.where, pe, limits.bounds, effort)
        links = Congestion(
            goal=self.goal, group_work=100 * self.effort, task_work=10 * self.effort,
            hop_percent=limits.room(limits.of(pe)),
        )
        return self._within(links, pe, effort, limits)

    def _within(self, links: Congestion, pe: Int32, effort: Effort, limits: Limits) -> Int32:
        """Move groups, then tasks; return the last of these mappings that is within the limits."""
        graph, where, bounds = limits.graph, limits.where, limits.bounds
        groups = replace(links, task_work=0).refine(graph, where, pe, bounds, effort)
        found = replace(links, group_work=0).refine(graph, where, groups, bounds, effort)
        return next((one for one in (found, groups) if limits.kept(one)), pe)
