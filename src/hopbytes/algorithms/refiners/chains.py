"""Chains of exchanges through losses, after Kernighan and Lin."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hopbytes._arrays import Int32
from hopbytes.algorithms.base import MILLION, Bounds, Effort, Refiner, refiners
from hopbytes.algorithms.shared.search_distances import cheaper, search_problem
from hopbytes.algorithms.shared.sequential_assignment import random_order
from hopbytes.engine.slot_groups import ChainSettings, chain_search
from hopbytes.model.allocation import Allocation
from hopbytes.model.comm_graph import CommGraph


@refiners.register("chains")
@dataclass(frozen=True, slots=True)
class Chains(Refiner):
    """Make the cheapest exchange on offer, lock its tasks, go on next to them; keep the best state met.

    Parameters
    ----------
    fruitless_moves : int
        Exchanges without a new best after which a chain is taken back to its best state.
    work : int
        Millions of arcs to look at, at most.

    Notes
    -----
    Every task begins a chain, in random order, and again after a chain nearby gained. On offer are exchanges
    of the neighbours of what has moved with tasks in the innermost units of their neighbours. Kernighan and
    Lin (1970) on bisections; here the step of a chain costs O(degree^3 x tasks of an innermost unit) and
    not O(n^2).
    """

    fruitless_moves: int = 10
    work: int = 1000

    def refine(self, graph: CommGraph, where: Allocation, pe: Int32, bounds: Bounds, effort: Effort) -> Int32:
        """Return a placement that costs no more."""
        if where.k < 2 or graph.n < 2 or effort.used_up:
            return pe
        order = random_order(graph.n, effort.seed).astype(np.int32)
        found = chain_search(
            search_problem(graph, where, bounds), pe, bounds.room(graph.n), order,
            ChainSettings(self.fruitless_moves, self.work * MILLION), control=effort.run_control(),
        )
        effort.count(swaps_evaluated=found.evaluations, swaps=found.swaps)
        return cheaper(graph, where, pe, found.pe, bounds.linear_cost)
