"""Tabu search for few tasks that all talk to each other: one task per PE, any table of distances."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hopbytes._arrays import Int32, Int64
from hopbytes.algorithms.base import MILLION, Bounds, Effort, Refiner, refiners
from hopbytes.algorithms.shared.search_distances import is_dense
from hopbytes.cost.objectives.comm_cost import CommCost
from hopbytes.engine.assignment import EvolutionSettings, evolve
from hopbytes.engine.settings import FEW_TASKS
from hopbytes.engine.tabu_search import DenseProblem
from hopbytes.kernels.linear_cost import FORBIDDEN, LinearCost
from hopbytes.model.allocation import Allocation
from hopbytes.model.comm_graph import CommGraph

DEFAULT_WORK = 10


@refiners.register("tabu")
@dataclass(frozen=True, slots=True)
class Tabu(Refiner):
    """Exchange tasks, also at a loss, never back to where they just were; a population of such searches.

    Parameters
    ----------
    work : int
        How much to do at most, in millions of scanned edges (an exchange looks at all n² / 2 pairs of
        tasks, of which eight count as one arc); 0: until the deadline or the work limit of the whole
        run, and the default when there is neither. Small problems end earlier, see `renewals`.
    largest : int
        Placements of more tasks are returned as they are: an exchange costs O(n²) time here, and memory
        is eight matrices.
    sparse_up_to : int
        With more tasks only where they talk to a quarter of all others at least, on average: elsewhere
        searches that look at fewer pairs do better.
    population, short, long, fruitless_generations, renewals : int
        See :class:`hopbytes.engine.assignment.EvolutionSettings`.

    Notes
    -----
    Works where every PE in play holds exactly one task, and returns other placements as they are.
    Asymmetric volumes and distances and what a task costs on its own PE are exact here (the other
    refiners see the mean of both directions; `swap` ends with this one where that would matter). Robust
    tabu search is Taillard's (1991); see ``core/tabu.hpp`` and :func:`hopbytes.engine.assignment.evolve`.
    """

    work: int = DEFAULT_WORK
    largest: int = 1024
    sparse_up_to: int = FEW_TASKS
    population: int = 16
    short: int = 2
    long: int = 10
    fruitless_generations: int = 4
    renewals: int = 20

    def refine(self, graph: CommGraph, where: Allocation, pe: Int32, bounds: Bounds, effort: Effort) -> Int32:
        """Return a placement that costs no more."""
        n = graph.n
        if not bounds.exact or not 2 <= n == where.k <= self.largest or len(np.unique(pe)) != n:
            return pe
        if n > self.sparse_up_to and not is_dense(graph):
            return pe
        distance = where.distance.matrix()
        if not graph.total_volume or not distance.any():
            return pe
        linear_cost = dense_linear_cost(bounds.linear_cost, n, graph.total_volume * int(distance.max()))
        settings = EvolutionSettings(
            self.population, self.short, self.long, self.fruitless_generations, self.renewals
        )
        better, exchanges = evolve(
            DenseProblem.build(dense_flow(graph), distance, linear_cost), pe, limit=self._limit(effort),
            settings=settings, control=effort.run_control(),
        )
        effort.count(tabu_exchanges=exchanges)

        def cost(place: Int32) -> int:
            further = 0 if linear_cost is None else int(linear_cost[np.arange(n), place].sum())
            return CommCost().value(graph, where, place) + further

        # Numbers too large for exact search were rounded; the true cost decides.
        return better if cost(better) <= cost(pe) else pe

    def _limit(self, effort: Effort) -> int | None:
        """Arcs this search may look at; None: the deadline alone ends it."""
        own = self.work * MILLION if self.work else None
        if effort.work_limit is not None:
            left = max(0, effort.work_limit - effort.work.get("arcs", 0))
            return left if own is None else min(own, left)
        return DEFAULT_WORK * MILLION if own is None and effort.deadline is None else own


def dense_flow(graph: CommGraph) -> Int64:
    """int64[n, n]: volume from every task to every other."""
    flow = np.zeros((graph.n, graph.n), np.int64)
    flow[graph.sources(), graph.targets] = graph.arc_volumes()
    return flow


def dense_linear_cost(linear_cost: LinearCost | None, n: int, largest: int) -> Int64 | None:
    """int64[n, n]: cost of each task on each PE; forbidden ones cost more than all else together.

    `largest` is an upper bound of the communication cost.
    """
    if linear_cost is None:
        return None
    costs = np.repeat(linear_cost.rest[:, None], n, axis=1)
    costs[linear_cost.tasks, linear_cost.pes] = linear_cost.costs
    forbidden = costs >= FORBIDDEN
    costs[forbidden] = 0
    costs[forbidden] = min(largest + int(costs.max(axis=1).sum()) + 1, FORBIDDEN)
    return costs
