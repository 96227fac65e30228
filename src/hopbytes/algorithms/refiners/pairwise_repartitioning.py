"""Pairs of units emptied and their tasks cut anew, exactly: one task per slot."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from hopbytes._arrays import Int32
from hopbytes.algorithms.base import MILLION, Bounds, Effort, Refiner, refiners
from hopbytes.algorithms.shared.quotient_graph import quotient_csr
from hopbytes.algorithms.shared.search_distances import cheaper, search_problem
from hopbytes.algorithms.shared.unit_distances import Units, units_of
from hopbytes.engine.slot_groups import RepartitionSettings, repartition_pairs
from hopbytes.kernels.records import Csr
from hopbytes.model.allocation import Allocation
from hopbytes.model.comm_graph import CommGraph


@refiners.register("pairwise_repartitioning")
@dataclass(frozen=True, slots=True)
class PairwiseRepartitioning(Refiner):
    """Free the tasks of two units that talk much, bisect them with what they pay outside, keep what gains.

    Parameters
    ----------
    initial_partitions : int
        New bisections per pair, beside improving the one there is.
    partners : int
        Pairs per unit: those it talks to most.
    rounds : int
        Passes over the pairs of a level.
    smallest : int
        Pairs of units of fewer PEs are improved only, not bisected anew.
    largest : int
        Units of more PEs are left alone.
    work : int
        Millions of arcs to look at, at most.

    Notes
    -----
    Level by level from the outermost in, pairs with more traffic first. A task's price is what its neighbours
    outside the pair cost from either unit, so the cut that is made smallest is, but for distances inside the
    units, the communication cost. Tasks that change sides take the slots of those that go the other way,
    the surroundings descend, and all is taken back unless the cost fell (``core/pairwise_repartition.hpp``).
    The pairs of
    a level cost O(partners x (n + m)) and the bisections.
    """

    initial_partitions: int = 1
    partners: int = 4
    rounds: int = 3
    smallest: int = 8
    largest: int = 4096
    work: int = 1000

    def refine(self, graph: CommGraph, where: Allocation, pe: Int32, bounds: Bounds, effort: Effort) -> Int32:
        """Return a placement that costs no more."""
        if not bounds.exact or where.k < 2 or graph.n < 2:
            return pe
        problem = search_problem(graph, where, bounds)
        now, left = pe, self.work * MILLION
        for units in units_of(where, bounds):
            size = int(np.diff(units.start).max())
            if effort.used_up or left <= 0 or size > self.largest:
                continue
            tries = self.initial_partitions if size >= self.smallest else 0
            pairs = self._pairs(quotient_csr(problem.csr, units.of_pe()[now], units.count), units)
            spent: list[int] = []

            def spend(arcs: int, whole: bool, spent: list[int] = spent) -> None:
                spent.append(arcs)
                effort.spend(arcs, whole)

            found, gained = repartition_pairs(
                problem, now, units.start, pairs, RepartitionSettings(tries, self.rounds, left),
                control=replace(effort.run_control(), spend=spend),
            )
            effort.count(swaps_evaluated=found.evaluations, swaps=found.swaps, repartitionings=gained)
            now, left = found.pe, left - sum(spent)
        return cheaper(graph, where, pe, now, bounds.linear_cost)

    def _pairs(self, traffic: Csr, units: Units) -> Int32:
        """int32[p, 2]: every unit with those it talks to most, pairs with most traffic first."""
        assert traffic.weights is not None
        source = np.repeat(np.arange(units.count, dtype=np.int32), np.diff(traffic.indptr))
        order = np.lexsort((traffic.targets, -traffic.weights, source))
        rank = np.arange(len(order)) - traffic.indptr[source[order]]
        top = order[rank < self.partners]
        pair = np.sort(np.stack([source[top], traffic.targets[top]], axis=1), axis=1)
        pair, where = np.unique(pair, axis=0, return_index=True)
        heaviest = np.argsort(-traffic.weights[top][where], kind="stable")
        found: Int32 = pair[heaviest].astype(np.int32)
        return found
