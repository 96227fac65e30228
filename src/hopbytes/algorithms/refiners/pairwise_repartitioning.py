"""Repartitioning of the tasks of two units with exact block sizes, for one task per slot."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from hopbytes._arrays import Int32
from hopbytes._frozen import frozen
from hopbytes.algorithms.base import MILLION, Bounds, Effort, Refiner, refiners
from hopbytes.algorithms.shared.quotient_graph import quotient_csr
from hopbytes.algorithms.shared.search_distances import cheaper, search_problem
from hopbytes.algorithms.shared.unit_distances import Units, units_of
from hopbytes.engine.slot_groups import RepartitionSettings, repartition_pairs
from hopbytes.kernels.records import Csr
from hopbytes.model.allocation import Allocation
from hopbytes.model.comm_graph import CommGraph


@refiners.register("pairwise_repartitioning")
@frozen
class PairwiseRepartitioning(Refiner):
    """Bisect the tasks of two units with a large volume between them again, and keep improvements.

    Parameters
    ----------
    initial_partitions : int
        Number of new bisections per pair, in addition to improving the existing one.
    partners : int
        Number of partners per unit: those with the largest communication volume.
    rounds : int
        Number of passes over the pairs of a level.
    smallest : int
        For pairs of units with fewer PEs the existing bisection is improved, but no new one is computed.
    largest : int
        Units with more PEs are skipped.
    work : int
        Maximum number of scanned edges, in millions.

    Notes
    -----
    Levels are visited from the outermost inwards, and pairs with a larger volume first. The terminal weight
    of a task is the cost of the arcs to its neighbours outside the pair from either unit. The cut that is
    minimized therefore equals the communication cost except for the distances inside the units. Tasks that
    change sides take the slots of those that move in the opposite direction, a local search of their
    neighbourhood follows, and the exchange is undone unless the cost has fallen
    (``core/assignment/pairwise_repartition.hpp``). The pairs of a level take O(partners x (n + m)) plus the
    bisections.
    """

    initial_partitions: int = 1
    partners: int = 4
    rounds: int = 3
    smallest: int = 8
    largest: int = 4096
    work: int = 1000

    def refine(self, graph: CommGraph, where: Allocation, pe: Int32, bounds: Bounds, effort: Effort) -> Int32:
        """Return a mapping that costs no more."""
        if not bounds.exact or where.k < 2 or graph.n < 2:
            return pe
        problem = search_problem(graph, where, bounds)
        now, left = pe, self.work * MILLION
        for units in units_of(where, bounds):
            size = int(np.diff(units.start).max())
            if effort.used_up or left <= 0 or size > self.largest:
                continue
            new_bisections = self.initial_partitions if size >= self.smallest else 0
            pairs = self._pairs(quotient_csr(problem.csr, units.of_pe()[now], units.count), units)
            spent: list[int] = []

            def spend(arcs: int, whole: bool, spent: list[int] = spent) -> None:
                spent.append(arcs)
                effort.spend(arcs, whole)

            settings = RepartitionSettings(new_bisections, self.rounds, left, effort.threads)
            found, gained = repartition_pairs(
                problem, now, units.start, pairs, settings,
                control=replace(effort.run_control(), spend=spend),
            )
            effort.count(swaps_evaluated=found.evaluations, swaps=found.swaps, repartitionings=gained)
            now, left = found.pe, left - sum(spent)
        return cheaper(graph, where, pe, now, bounds.linear_cost)

    def _pairs(self, traffic: Csr, units: Units) -> Int32:
        """Return int32[p, 2], the pairs of every unit and its partners, by decreasing volume."""
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
