"""Linear assignment costs of tasks on PEs: fixed tasks, forbidden PEs, and the cost of migration."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from hopbytes._arrays import Bool, Int32, Int64
from hopbytes._frozen import frozen

#: A cost of this value or more means a forbidden PE, as in graph/linear_cost.hpp. Other costs sum to less
#: than half of it.
FORBIDDEN = 2**60


@frozen(eq=False)
class LinearCost:
    """The cost of each task on each PE: a few listed PEs, and one cost for all others."""

    indptr: Int64  # int64[n+1]: The entries of task t are ``indptr[t]:indptr[t+1]``
    pes: Int32  # int32[...]: Listed PEs, ascending within a task
    costs: Int64  # int64[...]: Cost of task t on ``pes[e]``; :data:`FORBIDDEN` for a forbidden PE
    rest: Int64  # int64[n]: Cost of each task on every PE that is not listed

    @property
    def tasks(self) -> Int64:
        tasks: Int64 = np.repeat(np.arange(len(self.rest)), np.diff(self.indptr))
        return tasks

    def at(self, pe: Int32) -> Int64:
        """Return int64[n], the cost of every task on its PE. O(n + entries)."""
        tasks = self.tasks
        here = self.pes == pe[tasks]
        costs: Int64 = self.rest.copy()
        costs[tasks[here]] = self.costs[here]
        return costs

    def total(self, pe: Int32) -> int:
        """Return the exact sum of the costs of a mapping that has no tasks on forbidden PEs."""
        return int(self.at(pe).sum())

    def violated(self, pe: Int32) -> Int64:
        """Return int64[...], the tasks on PEs that are forbidden to them."""
        return np.flatnonzero(self.at(pe) >= FORBIDDEN)

    @property
    def priced(self) -> bool:
        """Whether a PE that a task may use has a cost above 0."""
        return any(bool(np.any((each > 0) & (each < FORBIDDEN))) for each in (self.costs, self.rest))

    def restricted(self) -> Bool:
        """Return bool[n], the tasks to which a PE is forbidden."""
        some = self.rest >= FORBIDDEN
        some[self.tasks[self.costs >= FORBIDDEN]] = True
        return some

    def allowed(self, task: int, k: int) -> Bool:
        """Return bool[k], the PEs that a task may use."""
        entries = slice(int(self.indptr[task]), int(self.indptr[task + 1]))
        mask = np.full(k, bool(self.rest[task] < FORBIDDEN))
        mask[self.pes[entries]] = self.costs[entries] < FORBIDDEN
        return mask

    def scaled(self, numerator: int, denominator: int) -> LinearCost:
        """Return the costs with all finite ones multiplied by a fraction, rounded half up; O(entries)."""
        if numerator == denominator:
            return self

        def scale(costs: Int64) -> Int64:
            # Products fit in 63 bits: finite costs stay below 2^59, so large factors come with small costs.
            exact = (costs // denominator) * numerator + (
                (costs % denominator) * numerator + denominator // 2
            ) // denominator
            return np.where(costs >= FORBIDDEN, FORBIDDEN, exact).astype(np.int64)

        return replace(self, costs=scale(self.costs), rest=scale(self.rest))

    def take(self, tasks: Int32) -> LinearCost:
        """Return the rows of some tasks, in the given order."""
        counts = np.diff(self.indptr)[tasks]
        indptr = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        entries = np.arange(indptr[-1]) + np.repeat(self.indptr[:-1][tasks] - indptr[:-1], counts)
        return LinearCost(indptr, self.pes[entries], self.costs[entries], self.rest[tasks])

    def select(self, pes: Int64, k: int) -> LinearCost:
        """Return the costs on a subset `pes` (ascending) of the PEs 0..k-1, which are renumbered."""
        number = np.full(k, -1, np.int64)
        number[pes] = np.arange(len(pes))
        keep = number[self.pes] >= 0
        return from_entries(self.tasks[keep], number[self.pes[keep]], self.costs[keep], self.rest)

    def grouped(self, group: Int32, child_of_pe: Int32, parent: Int64, place: Int64) -> LinearCost:
        """Return the costs on children of groups of PEs; that of a child is that of its cheapest PE."""
        tasks, child = self.tasks, child_of_pe[self.pes].astype(np.int64)
        inside = parent[child] == group[tasks]
        tasks, child, costs = tasks[inside], child[inside], self.costs[inside]
        key = tasks * len(parent) + child
        order = np.argsort(key, kind="stable")
        key, costs = key[order], costs[order]
        first = np.flatnonzero(np.concatenate([[True], key[1:] != key[:-1]])) if len(key) else key
        least = np.minimum.reduceat(costs, first) if len(key) else costs
        listed = np.diff(np.append(first, len(key)))
        tasks, child = key[first] // len(parent), key[first] % len(parent)
        size = np.bincount(child_of_pe, minlength=len(parent))
        least = np.where(listed < size[child], np.minimum(least, self.rest[tasks]), least)
        return from_entries(tasks, place[child], least, self.rest)


def from_entries(tasks: Int64, pes: Int64, costs: Int64, rest: Int64) -> LinearCost:
    """Sort entries into rows, without entries whose cost equals `rest`."""
    keep = costs != rest[tasks]
    tasks, pes, costs = tasks[keep], pes[keep], costs[keep]
    order = np.lexsort((pes, tasks))
    counts = np.bincount(tasks, minlength=len(rest))
    indptr = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    return LinearCost(
        indptr, pes[order].astype(np.int32), costs[order].astype(np.int64), rest.astype(np.int64)
    )


def held(linear_cost: LinearCost | None, tasks: Bool, pe: Int32) -> LinearCost:
    """Return the costs with some tasks fixed to their current PEs."""
    here = np.zeros(len(pe), np.int64) if linear_cost is None else linear_cost.at(pe)
    rest = np.zeros(len(pe), np.int64) if linear_cost is None else linear_cost.rest.copy()
    rest[tasks] = FORBIDDEN
    chosen = np.flatnonzero(tasks)
    if linear_cost is None:
        return from_entries(chosen, pe[chosen].astype(np.int64), here[chosen], rest)
    owner = linear_cost.tasks
    free = ~tasks[owner]
    return from_entries(
        np.concatenate([owner[free], chosen]),
        np.concatenate([linear_cost.pes[free].astype(np.int64), pe[chosen].astype(np.int64)]),
        np.concatenate([linear_cost.costs[free], here[chosen]]), rest,
    )  # fmt: skip


#: The arrays of :class:`LinearCost` for compiled code, all None without costs.
CostArrays = tuple[Int64 | None, Int32 | None, Int64 | None, Int64 | None]


def as_arrays(linear_cost: LinearCost | None) -> CostArrays:
    """Return the arrays for compiled code."""
    if linear_cost is None:
        return None, None, None, None
    return linear_cost.indptr, linear_cost.pes, linear_cost.costs, linear_cost.rest
