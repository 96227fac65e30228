"""Units of a machine for searches over groups of tasks; PEs of a unit have equal distances to others."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np

from hopbytes._arrays import Int32, Int64
from hopbytes._frozen import frozen
from hopbytes.algorithms.base import MILLION, Bounds, Effort, Refiner, refiners
from hopbytes.algorithms.shared.quotient_graph import quotient_csr
from hopbytes.algorithms.shared.search_distances import cheaper, search_problem
from hopbytes.engine.problem import SearchProblem
from hopbytes.engine.slots import SwapSettings, repartition_pairs, swap_refine
from hopbytes.kernels.linear_cost import FORBIDDEN, LinearCost, from_entries
from hopbytes.kernels.records import Csr, Distances
from hopbytes.machines.distances import NetworkDistance, TreeDistance, kernel_distances
from hopbytes.model.allocation import Allocation
from hopbytes.model.comm_graph import CommGraph


@frozen(eq=False)
class Units:
    """The units of one level, each a range of PEs."""

    start: Int64  # int64[units+1]: Unit u is the PEs ``start[u]`` to ``start[u+1] - 1``
    #: int64[units]: Equal for units with the same structure and the same maximum loads. The tasks of one such
    #: unit fit into another, PE by PE, with the same distances between them.
    kind: Int64
    near: Distances  # distances between the units

    @property
    def count(self) -> int:
        return len(self.kind)

    def of_pe(self) -> Int32:
        return np.repeat(np.arange(self.count, dtype=np.int32), np.diff(self.start))

    def linear_cost(self, linear_cost: LinearCost, pe: Int32) -> tuple[LinearCost, Int64]:
        """Return the linear cost of the tasks of each unit in every other unit, and the units that must stay.
        """
        own = self.of_pe()
        offset = np.arange(len(own)) - self.start[own]
        closed = linear_cost.rest >= FORBIDDEN
        rest = np.bincount(own[pe], weights=np.where(closed, 0, linear_cost.rest), minlength=self.count)
        tasks = linear_cost.tasks
        fits = (offset[linear_cost.pes] == offset[pe[tasks]]) & ~closed[tasks]
        tasks, pes, costs = tasks[fits], linear_cost.pes[fits], linear_cost.costs[fits]
        holder, place = own[pe[tasks]].astype(np.int64), own[pes].astype(np.int64)
        key, row = np.unique(holder * self.count + place, return_inverse=True)
        more = np.zeros(len(key), np.int64)
        never = costs >= FORBIDDEN
        np.add.at(more, row, np.where(never, 0, costs - linear_cost.rest[tasks]))
        listed = rest.astype(np.int64)[key // self.count] + more
        listed[np.unique(row[never])] = FORBIDDEN
        priced = from_entries(key // self.count, key % self.count, listed, rest.astype(np.int64))
        return priced, np.unique(own[pe[closed]]).astype(np.int64)


def units_of(where: Allocation, bounds: Bounds) -> list[Units]:
    """Return the levels whose units have more than one PE, outermost first; none if distances are a table."""
    distance = where.distance
    if isinstance(distance, TreeDistance):
        widths = [w for w in range(1, 64) if distance.bit_costs[w + 1] > distance.bit_costs[w]]
    elif isinstance(distance, NetworkDistance):
        costs = distance.inside_costs
        inside = distance.inside_bits
        widths = [w for w in range(1, inside) if costs[w + 1] > costs[w]] + [inside]
    else:
        return []
    found: list[Units] = []
    for width in widths:
        names = distance.labels >> np.uint64(width)
        first = np.flatnonzero(np.concatenate([[True], names[1:] != names[:-1]]))
        if len(first) == 1 or len(first) == where.k or (found and len(first) == found[-1].count):
            continue
        start = np.append(first, where.k).astype(np.int64)
        found.append(Units(start, _kinds(where, bounds, start, width), _near(where, first, width)))
    return found[::-1]


def _kinds(where: Allocation, bounds: Bounds, start: Int64, width: int) -> Int64:
    inside = where.distance.labels & np.uint64((1 << width) - 1)
    room = bounds.count if bounds.exact and bounds.count is not None else bounds.load
    numbers: dict[bytes, int] = {}
    kinds = []
    for low, high in itertools.pairwise(start):
        name = inside[low:high].tobytes() + room[low:high].tobytes()
        kinds.append(numbers.setdefault(name, len(numbers)))
    return np.array(kinds, np.int64)


def _near(where: Allocation, first: Int64, width: int) -> Distances:
    distance = where.distance
    if isinstance(distance, TreeDistance):
        known = distance.bit_costs
        costs = np.concatenate([[0], known[width + 1 :], np.full(width, known[64])])
        return Distances(distance.labels[first] >> np.uint64(width), costs.astype(np.int64))
    each = Allocation(where.machine, np.arange(len(first) + 1, dtype=np.int64), where.first_core[first])
    return kernel_distances(each)


@refiners.register("subtrees")
@frozen
class Subtrees(Refiner):
    """Exchange the tasks of whole units, from the outermost level inwards and back, then of single PEs.

    The tasks of a unit are contracted to one vertex and vertices are exchanged, so the distances inside the
    two units do not change. For this reason only units of the same structure with the same room are
    exchanged. Exchanges of children of the same unit have no effect. Schulz and Träff (2017) name such
    exchanges as future work. O(levels x (n + m)) plus the exchanges. On machines without levels (``table:``)
    only single tasks are exchanged.
    """

    #: Maximum number of passes from the outermost level inwards and back. A level is skipped if nothing has
    #: changed since its last search.
    passes: int = 2
    #: with at most so many units on a level every pair of them is tried until none gains; with more, units
    #: near those of neighbours are tried (see the refiner ``swap``, option `neighbourhood`)
    all_pairs_up_to: int = 1024
    #: exchange single tasks at the innermost point of a pass, too, if every PE has one task
    singles: bool = True

    def refine(self, graph: CommGraph, where: Allocation, pe: Int32, bounds: Bounds, effort: Effort) -> Int32:
        if where.k < 2 or graph.n < 2:
            return pe
        levels: list[Units | None] = list(units_of(where, bounds))
        if bounds.exact and self.singles:  # without exact counts other refiners move single tasks
            levels.append(None)
        now, changes, searched = pe, 0, [-1] * len(levels)
        for _ in range(self.passes):
            if effort.used_up or all(last == changes for last in searched):
                break
            for at in [*range(len(levels)), *range(len(levels) - 2, -1, -1)]:
                if effort.used_up or searched[at] == changes:
                    continue  # nothing has changed since the last search of this level
                units = levels[at]
                if units is None:
                    moved = self._tasks(graph, where, now, bounds, effort)
                else:
                    moved = self._units(graph, where, now, bounds, effort, units)
                changes += not np.array_equal(moved, now)
                now, searched[at] = moved, changes
        return cheaper(graph, where, pe, now, bounds.linear_cost)

    def _tasks(
        self, graph: CommGraph, where: Allocation, pe: Int32, bounds: Bounds, effort: Effort
    ) -> Int32:
        found = swap_refine(
            search_problem(graph, where, bounds), pe, bounds.room(graph.n),
            SwapSettings(all_pairs_up_to=self.all_pairs_up_to), control=effort.run_control(),
        )
        effort.count(swaps_evaluated=found.evaluations, swaps=found.swaps)
        return found.pe

    def _units(
        self, graph: CommGraph, where: Allocation, pe: Int32, bounds: Bounds, effort: Effort, units: Units
    ) -> Int32:
        problem = search_problem(graph, where, bounds)
        linear_cost = problem.linear_cost
        own, kind = units.of_pe(), units.kind
        csr = quotient_csr(problem.csr, own[pe], units.count)
        if linear_cost is not None:
            linear_cost, staying = units.linear_cost(linear_cost, pe)
            kind = kind.copy()
            kind[staying] = kind.max() + 1 + np.arange(len(staying))
        # Kinds serve as loads and as maximum loads, so that only units of the same kind can be exchanged.
        found = swap_refine(
            SearchProblem(csr, kind, units.near, linear_cost), np.arange(units.count, dtype=np.int32), kind,
            SwapSettings(all_pairs_up_to=self.all_pairs_up_to), control=effort.run_control(),
        )
        effort.count(swaps_evaluated=found.evaluations, subtree_swaps=found.swaps)
        moved: Int32 = (pe + (units.start[found.pe] - units.start[:-1])[own[pe]]).astype(np.int32)
        return moved


@refiners.register("pairwise_repartitioning")
@frozen
class PairwiseRepartitioning(Refiner):
    """Bisect the tasks of two units with a large volume between them again, and keep improvements.

    Levels are visited from the outermost inwards, and pairs with a larger volume first. The terminal weight
    of a task is the cost of the arcs to its neighbours outside the pair from either unit. The cut that is
    minimized therefore equals the communication cost except for the distances inside the units. Tasks that
    change sides take the slots of those that move in the opposite direction, a local search of their
    neighbourhood follows, and the exchange is undone unless the cost has fallen
    (``core/assignment/pairwise_repartition.hpp``). The pairs of a level take O(partners x (n + m)) plus the
    bisections.
    """

    #: number of new bisections per pair, in addition to improving the existing one
    initial_partitions: int = 1
    partners: int = 4  #: number of partners per unit: those with the largest communication volume
    rounds: int = 3  #: number of passes over the pairs of a level
    #: for pairs of units with fewer PEs the existing bisection is improved, but no new one is computed
    smallest: int = 8
    largest: int = 4096  #: units with more PEs are skipped
    work: int = 1000  #: maximum number of scanned edges, in millions

    def refine(self, graph: CommGraph, where: Allocation, pe: Int32, bounds: Bounds, effort: Effort) -> Int32:
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

            found, gained = repartition_pairs(
                problem, now, units.start, pairs, new_bisections=new_bisections, rounds=self.rounds,
                budget=left, control=replace(effort.run_control(), spend=spend),
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
