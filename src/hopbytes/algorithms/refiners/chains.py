"""Chains of exchanges, also with losses, after Kernighan and Lin."""

from __future__ import annotations

import numpy as np

from hopbytes._arrays import Int32
from hopbytes._frozen import frozen
from hopbytes.algorithms.base import MILLION, Bounds, Effort, Refiner, refiners
from hopbytes.algorithms.shared.search_distances import cheaper, search_problem
from hopbytes.algorithms.shared.sequential_assignment import random_order
from hopbytes.engine.slots import chain_search
from hopbytes.model.allocation import Allocation
from hopbytes.model.comm_graph import CommGraph


@refiners.register("chains")
@frozen
class Chains(Refiner):
    """Make the best exchange, lock its tasks, continue with their neighbours; keep the best prefix.

    A chain begins at every task, in random order, and again if a chain nearby had a gain. The candidates of a
    step are exchanges of the neighbours of moved tasks with tasks in the innermost units of their neighbours.
    Kernighan and Lin (1970) proposed such chains for bisections. Here a step costs
    O(degree^3 x tasks of an innermost unit) and not O(n^2).
    """

    #: number of exchanges without a new best state after which a chain ends and returns to its best state
    fruitless_moves: int = 10
    work: int = 1000  #: maximum number of scanned edges, in millions

    def refine(self, graph: CommGraph, where: Allocation, pe: Int32, bounds: Bounds, effort: Effort) -> Int32:
        if where.k < 2 or graph.n < 2 or effort.used_up:
            return pe
        order = random_order(graph.n, effort.seed).astype(np.int32)
        found = chain_search(
            search_problem(graph, where, bounds), pe, bounds.room(graph.n), order,
            self.fruitless_moves, self.work * MILLION, control=effort.run_control(),
        )
        effort.count(swaps_evaluated=found.evaluations, swaps=found.swaps)
        return cheaper(graph, where, pe, found.pe, bounds.linear_cost)
