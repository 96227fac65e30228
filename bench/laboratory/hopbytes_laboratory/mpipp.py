"""MPIPP: exchanges of tasks in random mappings."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import ClassVar

import numpy as np

from hopbytes._arrays import Bool, Int32, Int64
from hopbytes._frozen import frozen
from hopbytes.algorithms.base import Bounds, Effort, Mapper
from hopbytes.algorithms.shared.quotient_graph import with_isolated
from hopbytes.algorithms.shared.sequential_assignment import fill_in_order, random_order
from hopbytes.cost.objectives.comm_cost import CommCost
from hopbytes.engine.control import interruptible
from hopbytes.errors import ScaleError, UnsupportedError
from hopbytes.kernels.records import Csr
from hopbytes.model.allocation import Allocation
from hopbytes.model.comm_graph import CommGraph

#: Limit of the entries of the tables of n x k and k x k numbers, 8 bytes each.
MOST_ENTRIES = 2**27
#: Upper limit of the sum of weight x distance, so that a sum of four such values fits into 64 bits.
LARGEST = 2**60
#: Tasks whose exchanges are compared with all others at once.
ROWS = 256
#: Up to so many tasks the weights of all pairs are in one array.
DENSE = 4096


@frozen
class Mpipp(Mapper):
    """Improve random mappings by repeating the best exchange of two tasks; return the best result.

    Parameters
    ----------
    starts : int
        Number of random mappings to start from: 1 and 5 are MPIPP.1 and MPIPP.5 of the TreeMatch paper.
    free : bool
        Exchange tasks with free PEs, too, if there are fewer tasks than PEs and the caller does not prescribe
        the PEs. The paper exchanges only the cores of two processes: with ``free=no`` the start uses random
        PEs of the machine, and the search stays on them.
    passes : bool
        Make passes as in the original (:class:`hopbytes_laboratory.mpipp.LockedPasses`): in a
        pass every task moves once, also at a loss, and the best prefix is kept. This is feasible for a few
        hundred tasks.

    Raises
    ------
    UnsupportedError
        If there are more than 2^27 pairs of a task and a PE.

    Notes
    -----
    Chen et al., "MPIPP: an automatic profile-guided parallel process mapping toolset" (ICS 2006), as
    Jeannot and Mercier (Euro-Par 2010) describe it: the search stops when no single exchange has a gain. If
    neither the pattern nor the distances are symmetric, the mean of the two directions is used for both.
    """

    starts: int = 1
    free: bool = True
    passes: bool = False
    chooses_slots: ClassVar[bool] = True

    def map(self, graph: CommGraph, where: Allocation, bounds: Bounds, effort: Effort) -> Int32:
        """Return int32[n], the PE of every task."""
        if max(graph.n, where.k) * where.k > MOST_ENTRIES:
            raise UnsupportedError(
                f"mapper 'mpipp': {graph.n} tasks on {where.k} PEs, expected at most {MOST_ENTRIES} pairs"
            )
        table = _symmetric(where.distance.matrix())
        everywhere = graph.n < where.k and not bounds.exact and bounds.linear_cost is None
        cost, best = CommCost(), None
        for start in range(max(1, self.starts)):
            seed = (effort.seed + start * 0x9E3779B97F4A7C15) % 2**64
            if everywhere:  # tasks that do not exist represent the free PEs
                pe = random_order(where.k, seed).astype(np.int32)[: None if self.free else graph.n]
            else:
                pe = fill_in_order(graph, bounds, random_order(graph.n, seed))
            pe = self._improved(graph.symmetric_positive(), table, pe, effort)[: graph.n]
            if best is None or cost.value(graph, where, pe) < cost.value(graph, where, best):
                best = pe
            if effort.used_up:
                break
        assert best is not None
        return best

    def _improved(self, csr: Csr, table: Int64, pe: Int32, effort: Effort) -> Int32:
        tasks, csr, n = len(csr.indptr) - 1, with_isolated(csr, len(pe)), len(pe)
        if self.passes:
            return self._by_passes(LockedPasses(csr, table, tasks), pe, effort)
        each = max(64, n)  # number of exchanges between two checks of the limits
        control = effort.run_control()
        while not effort.used_up and n > 1:
            flag = control.flag()
            search = partial(best_swap, csr, table, pe, each, flag)
            pe, made = interruptible(search, flag, control, n * n)
            effort.count(exchanges=made)
            effort.spend(n * (n + made), whole=not flag[0])
            if made < each:
                break
        return pe

    def _by_passes(self, search: LockedPasses, pe: Int32, effort: Effort) -> Int32:
        saved, pairs = 1, len(pe) ** 2

        def ended() -> bool:
            if effort.used_up:
                return True
            effort.spend(pairs)  # each exchange compares all pairs, so one pass may use up the limit
            return False

        while saved > 0 and not effort.used_up:
            effort.spend(pairs)
            pe, saved, made = search.once(pe, ended)
            effort.count(exchanges=made, passes=1)
        return pe


def _symmetric(table: Int64) -> Int64:
    return table if np.array_equal(table, table.T) else table + table.T


class LockedPasses:
    """Exchanges of the PEs of two tasks, made in passes.

    Chen et al., "MPIPP" (ICS 2006): all exchanges of two tasks that have not moved in this pass are compared,
    and the best one is made even if it is a loss, until all tasks have moved. Then all exchanges after the
    state of least cost are undone. Passes are repeated as long as they have a gain. In case of ties the pair
    of smallest tasks is taken. A pass takes O(n^2 (n + k)) time and n (n + k) numbers of memory.
    """

    def __init__(self, csr: Csr, table: Int64, movable: int) -> None:
        n = len(csr.indptr) - 1
        self._weight = np.zeros((n, n), np.int64)
        rows = np.repeat(np.arange(n), np.diff(csr.indptr))
        self._weight[rows, csr.targets] = 1 if csr.weights is None else csr.weights
        np.fill_diagonal(self._weight, 0)
        self._table, self._movable = table, movable
        if int(self._weight.sum(dtype=np.float64)) * int(table.max(initial=0)) > LARGEST:
            raise ScaleError("mapper 'mpipp': volumes times distances exceed 2^60, expected smaller volumes")

    def once(self, pe: Int32, ended: Callable[[], bool] = bool) -> tuple[Int32, int, int]:
        """Return the mapping after one pass, its gain (0 or more), and the number of exchanges kept.

        A pass stops as soon as `ended` returns True; its best prefix is kept.
        """
        place, cost_at = pe.astype(np.int64), self._weight @ self._table[pe].astype(np.int64)
        free = np.ones(len(pe), bool)
        total, best, kept, made = 0, 0, 0, []
        for step in range(1, len(pe) // 2 + 1):
            if not free[: self._movable].any() or ended():
                break
            first, second, change = self._best(place, cost_at, free)
            moved = self._table[place[second]] - self._table[place[first]]
            cost_at += np.outer(self._weight[:, first] - self._weight[:, second], moved)
            place[[first, second]] = place[[second, first]]
            free[[first, second]] = False
            made.append((first, second))
            total += change
            if total < best:
                best, kept = total, step
        for first, second in reversed(made[kept:]):
            place[[first, second]] = place[[second, first]]
        return place.astype(np.int32), -best, kept

    def _best(self, place: Int64, cost_at: Int64, free: Bool) -> tuple[int, int, int]:
        """Return the two tasks of the best exchange and its change of the cost; each pair counts once."""
        tasks = np.flatnonzero(free)
        here = cost_at[np.ix_(tasks, place[tasks])]  # the cost of each task on the PE of each other task
        stay = np.diagonal(here)
        apart = self._table[np.ix_(place[tasks], place[tasks])]
        own = np.diagonal(apart)
        between = self._weight[np.ix_(tasks, tasks)]
        change = here + here.T - stay[:, None] - stay[None, :]
        change += between * (2 * apart - own[:, None] - own[None, :])
        exists = tasks < self._movable
        allowed = np.triu(exists[:, None] | exists[None, :], 1)
        masked = np.where(allowed, change, np.iinfo(np.int64).max)
        at = int(masked.argmin())
        first, second = divmod(at, len(tasks))
        return int(tasks[first]), int(tasks[second]), int(masked[first, second])


class _BestExchanges:
    """The best exchange of every task with a task of a larger number, kept up to date under exchanges.

    Sums of weight x distance may wrap around; differences of them are still exact.
    """

    def __init__(self, csr: Csr, table: Int64, pe: Int32) -> None:
        from scipy.sparse import csr_array

        n = len(pe)
        indptr, targets, weights = csr
        weights = np.ones(len(targets), np.int64) if weights is None else weights
        self.pe, self._table = pe, table
        self._arcs = csr_array((weights, targets, indptr), shape=(n, n))
        self._weight = self._arcs.toarray() if n <= DENSE else None
        self._cost_at = self._arcs @ table[pe]  # of every task on every PE
        self.partner, self.gain = np.full(n, -1), np.zeros(n, np.int64)
        for begin in range(0, n, ROWS):
            self._look(np.arange(begin, min(n, begin + ROWS)))

    def exchange(self, first: int, second: int) -> None:
        """Exchange the PEs of two tasks; only exchanges with them and with their neighbours change."""
        here, there = self.pe[[first, second]]
        farther, moved = self._table[there] - self._table[here], [first, second]
        for task, sign in ((first, 1), (second, -1)):
            row = self._arcs[[task]]
            self._cost_at[row.indices] += sign * np.outer(row.data, farther)
            moved.extend(row.indices.tolist())
        self.pe[[first, second]] = there, here
        changed = np.zeros(len(self.pe), bool)
        changed[moved] = True
        again = changed | ((self.partner >= 0) & changed[self.partner])
        rest, columns = np.flatnonzero(~again), np.flatnonzero(changed)
        found = self._gains(rest, columns)
        best = found.argmax(axis=1)
        gain, partner = found[np.arange(len(rest)), best], columns[best]
        old = self.gain[rest]
        better = (gain > old) | ((gain > 0) & (gain == old) & (partner < self.partner[rest]))
        self.gain[rest[better]], self.partner[rest[better]] = gain[better], partner[better]
        self._look(np.flatnonzero(again))

    def _look(self, tasks: Int64) -> None:
        found = self._gains(tasks, np.arange(len(self.pe)))
        self.gain[tasks] = found.max(axis=1, initial=0)
        self.partner[tasks] = np.where(self.gain[tasks] > 0, found.argmax(axis=1), -1)

    def _gains(self, some: Int64, others: Int64) -> Int64:
        """Return the gain of each exchange of one of `some` with a larger one of `others`; else 0."""
        a, b = some[:, None], others[None, :]
        p, q = self.pe[a], self.pe[b]
        cost = self._cost_at
        between = self._arcs[some][:, others].toarray() if self._weight is None else self._weight[a, b]
        # Both costs include the edge between the two tasks, which keeps its length.
        gain = cost[a, p] + cost[b, q] - cost[a, q] - cost[b, p] - 2 * between * self._table[p, q]
        return np.where((a < b) & (p != q), gain, 0)


def best_swap(
    csr: Csr, table: Int64, pe: Int32, most: int, flag: Int32 | None = None
) -> tuple[Int32, int]:
    """Repeatedly exchange the PEs of the two tasks with the best gain until no exchange has a gain.

    The start takes O(k m + n^2), and an exchange O(n) for each task whose best partner may have changed. The
    memory is O(n k). It ends when ``flag[0]`` is set.

    >>> pairs = Csr(np.array([0, 1, 2, 3, 4]), np.array([2, 3, 0, 1], np.int32), None)
    >>> far = np.array([[0, 1, 9, 9], [1, 0, 9, 9], [9, 9, 0, 1], [9, 9, 1, 0]])
    >>> best_swap(pairs, far, np.arange(4, dtype=np.int32), 9)
    (array([3, 1, 2, 0], dtype=int32), 1)
    """
    exchanges, made = _BestExchanges(csr, table, pe.copy()), 0
    while made < most and exchanges.gain.max(initial=0) > 0 and not (flag is not None and flag[0]):
        first = int(exchanges.gain.argmax())
        exchanges.exchange(first, int(exchanges.partner[first]))
        made += 1
    return exchanges.pe, made
