"""Passes of exchanges after Kernighan and Lin: every task moves once, then the best prefix is kept."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from hopbytes._arrays import Bool, Int32, Int64
from hopbytes.errors import ScaleError
from hopbytes.kernels.records import Csr

#: Weight x distance, in all, stays below this, so that sums of four of them fit.
LARGEST = 2**60


class LockedPasses:
    """Exchanges of PEs between tasks by passes.

    Parameters
    ----------
    csr : (indptr, targets, weights)
        Symmetric.
    table : int64[k, k]
        Symmetric distances.
    movable : int
        Tasks 0..movable-1 exist, further ones stand for free PEs: of two exchanged one has to exist.

    Raises
    ------
    ScaleError
        Weights and distances too large for exact sums.

    Notes
    -----
    Chen et al., "MPIPP" (ICS 2006): all exchanges of two tasks that have not moved in this pass are compared,
    the best one is made even if it loses, until all have moved; then everything after the least cost is
    taken back. Passes go on while they win. Of equals the pair of smallest tasks is taken. Memory n (n + k)
    numbers, O(n^2 (n + k)) per pass.
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
        """Return the placement after one pass, what it saved (0 or more), and the exchanges it keeps.

        A pass is cut short as soon as `ended` says so, and its best prefix kept all the same.
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
        """Return the tasks whose exchange changes the cost least, and the change, each pair counted once."""
        tasks = np.flatnonzero(free)
        here = cost_at[np.ix_(tasks, place[tasks])]  # what each would cost at the place of each
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
