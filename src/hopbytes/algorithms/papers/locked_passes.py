"""Passes of exchanges after Kernighan and Lin: every task moves once, and the best prefix is kept."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from hopbytes._arrays import Bool, Int32, Int64
from hopbytes.errors import ScaleError
from hopbytes.kernels.records import Csr

#: Upper limit of the sum of weight x distance, so that a sum of four such values fits into 64 bits.
LARGEST = 2**60


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
