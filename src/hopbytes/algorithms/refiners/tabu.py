"""Tabu search for dense patterns of few tasks, with one task per PE and any table of distances."""

from __future__ import annotations

import numpy as np

from hopbytes._arrays import Int32, Int64
from hopbytes._frozen import frozen
from hopbytes.algorithms.base import MILLION, Bounds, Effort, Refiner, refiners
from hopbytes.algorithms.shared.search_distances import is_dense
from hopbytes.cost.objectives.comm_cost import CommCost
from hopbytes.engine.dense_assignment import DenseProblem, EvolutionSettings, evolve
from hopbytes.engine.problem import FEW_TASKS
from hopbytes.kernels.linear_cost import FORBIDDEN, LinearCost
from hopbytes.model.allocation import Allocation
from hopbytes.model.comm_graph import CommGraph

DEFAULT_WORK = 10


@refiners.register("tabu")
@frozen
class Tabu(Refiner):
    """Improve a population of mappings by robust tabu search with exchanges of two tasks.

    The refiner requires that every used PE holds exactly one task, and returns other mappings unchanged.
    Asymmetric volumes and distances and linear costs are exact (other refiners use the mean of both
    directions; `swap` ends with this refiner if that makes a difference). Robust tabu search is due to
    Taillard (1991); see ``core/assignment/tabu.hpp`` and :func:`hopbytes.engine.dense_assignment.evolve`.
    """

    #: Maximum work in millions of scanned edges (an exchange evaluates all n² / 2 pairs of tasks, and eight
    #: pairs count as one edge). With 0 the search runs until the deadline or the work limit of the whole run;
    #: if there is neither, the default applies. Small problems end earlier, see `renewals`.
    work: int = DEFAULT_WORK
    exchanges: int = 0  #: maximum number of exchanges per task; 0 means no further limit
    #: mappings of more tasks are returned unchanged, since an exchange takes O(n²) time and the search needs
    #: the memory of eight matrices
    largest: int = 1024
    #: With more tasks the search runs only if a task communicates with at least a quarter of all tasks on
    #: average. For sparser patterns searches that evaluate fewer pairs are better.
    sparse_up_to: int = FEW_TASKS
    population: int = 16  #: see :class:`hopbytes.engine.dense_assignment.EvolutionSettings`.
    descending: int = 1024
    short: int = 2
    long: int = 10
    renewals: int = 20

    def refine(self, graph: CommGraph, where: Allocation, pe: Int32, bounds: Bounds, effort: Effort) -> Int32:
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
            self.population, self.descending, self.short, self.long, renewals=self.renewals
        )
        better, exchanges = evolve(
            DenseProblem.build(dense_flow(graph), distance, linear_cost), pe, limit=self._limit(n, effort),
            settings=settings, control=effort.run_control(),
        )
        effort.count(tabu_exchanges=exchanges)

        def cost(place: Int32) -> int:
            further = 0 if linear_cost is None else int(linear_cost[np.arange(n), place].sum())
            return CommCost().value(graph, where, place) + further

        # The search rounds very large numbers, so the exact cost decides.
        return better if cost(better) <= cost(pe) else pe

    def _limit(self, n: int, effort: Effort) -> int | None:
        """Return the work limit of this search in scanned edges; None if only the deadline ends it."""
        limits = self.work * MILLION, self.exchanges * n * (n**2 // 8 + 1)
        own = min(filter(None, limits), default=None)
        if effort.work_limit is not None:
            left = max(0, effort.work_limit - effort.work.get("arcs", 0))
            return left if own is None else min(own, left)
        return DEFAULT_WORK * MILLION if own is None and effort.deadline is None else own


def dense_flow(graph: CommGraph) -> Int64:
    """Return int64[n, n], the volume from every task to every other."""
    flow = np.zeros((graph.n, graph.n), np.int64)
    flow[graph.sources(), graph.targets] = graph.arc_volumes()
    return flow


def dense_linear_cost(linear_cost: LinearCost | None, n: int, largest: int) -> Int64 | None:
    """Return int64[n, n], the linear cost of each task on each PE."""
    if linear_cost is None:
        return None
    costs = np.repeat(linear_cost.rest[:, None], n, axis=1)
    costs[linear_cost.tasks, linear_cost.pes] = linear_cost.costs
    forbidden = costs >= FORBIDDEN
    costs[forbidden] = 0
    costs[forbidden] = min(largest + int(costs.max(axis=1).sum()) + 1, FORBIDDEN)
    return costs
