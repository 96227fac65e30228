"""Moves of tasks off PEs that are forbidden to them, and the error if no such moves exist."""

from __future__ import annotations

from collections import deque
from functools import cached_property
from heapq import heappop, heappush

import numpy as np

from hopbytes._arrays import Bool, Int32, Int64
from hopbytes.errors import InfeasibleError
from hopbytes.kernels.linear_cost import FORBIDDEN, LinearCost
from hopbytes.model.allocation import Allocation
from hopbytes.model.capacities import group_sums


def evict_forbidden(
    where: Allocation, pe: Int32, loads: Int64 | None, caps: Int64, linear_cost: LinearCost, *, exact: bool
) -> Int32:
    """Return a mapping with no task on a PE forbidden to it.

    O(n + entries) plus, for each task that must move, O(k) if there is room. Otherwise a breadth-first search
    for a chain takes O(k) for each different set of allowed PEs among the tasks that it visits. Chains are
    augmenting paths of a bipartite matching; if there is none, no mapping exists.
    """
    moving = linear_cost.violated(pe)
    if not len(moving):
        return pe
    pe = pe.copy()
    weight = np.ones(len(pe), np.int64) if loads is None else loads
    room = caps - group_sums(pe, loads, len(caps))
    chains = _Chains(pe, room, linear_cost)
    for task in moving[np.argsort(-weight[moving], kind="stable")].tolist():
        allowed = linear_cost.allowed(task, len(caps))
        old, load = int(pe[task]), int(weight[task])
        if allowed[old]:  # a chain has moved the task
            continue
        open_to = np.flatnonzero(allowed & (room >= load))
        if len(open_to):
            target = _nearest(where, old, open_to)
        elif exact:
            chains.make_way(task, allowed)
            continue
        else:
            choices = np.flatnonzero(allowed)
            target = int(choices[np.argmax(room[choices])])
        room[old] += load
        room[target] -= load
        chains.put(task, target)
    return pe


def _nearest(where: Allocation, pe: int, choices: Int64) -> int:
    if len(choices) == 1:
        return int(choices[0])
    return int(choices[int(np.argmin(where.distance.apart(np.full(1, pe), choices)))])


class _Chains:
    """Moves of tasks among PEs that hold exact numbers of them; they change the given arrays `pe` and `room`.

    Tasks with the same allowed PEs are of one kind; kind 0 may use all PEs. A search looks at one task of
    every kind, since others would reach the same PEs.
    """

    def __init__(self, pe: Int32, room: Int64, linear_cost: LinearCost) -> None:
        self._pe, self._room, self._linear_cost = pe, room, linear_cost

    @cached_property
    def _kinds(self) -> list[int]:
        """The kind of every task."""
        costs, closed = self._linear_cost, self._linear_cost.costs >= FORBIDDEN
        found, kinds = dict[tuple[bool, bytes], int](), [0] * len(self._pe)
        for task in np.flatnonzero(costs.restricted()).tolist():
            entries = slice(int(costs.indptr[task]), int(costs.indptr[task + 1]))
            elsewhere = bool(costs.rest[task] < FORBIDDEN)
            listed = costs.pes[entries][closed[entries] == elsewhere].tobytes()
            kinds[task] = found.setdefault((elsewhere, listed), len(found) + 1)
        return kinds

    @cached_property
    def _held(self) -> list[dict[int, list[int]]]:
        """For every PE and kind a heap of tasks, among them some that have left the PE."""
        held: list[dict[int, list[int]]] = [{} for _ in range(len(self._room))]
        for task, (at, kind) in enumerate(zip(self._pe.tolist(), self._kinds, strict=True)):
            held[at].setdefault(kind, []).append(task)
        return held

    def put(self, task: int, at: int) -> None:
        """Move a task to a PE."""
        self._pe[task] = at
        if "_held" in vars(self):
            heappush(self._held[at].setdefault(self._kinds[task], []), task)

    def make_way(self, task: int, allowed: Bool) -> None:
        """Move `task` to an allowed PE, a task from there to another PE, and so on until a PE has room."""
        k, room = len(self._room), self._room
        room[self._pe[task]] += 1  # the task leaves
        sent_by = np.full(k, -2, np.int64)  # the task that would move to each PE; -2: the PE is not reached
        reached = deque(np.flatnonzero(allowed).tolist())
        sent_by[allowed] = task
        looked_at = {self._kinds[task]}
        while reached:
            for other in self._others(reached.popleft(), looked_at):
                further = np.flatnonzero(self._linear_cost.allowed(other, k) & (sent_by == -2))
                sent_by[further] = other
                open_to = further[room[further] > 0]
                if len(open_to):
                    self._shift(task, int(open_to[0]), sent_by)
                    return
                reached.extend(further.tolist())
        used = np.flatnonzero(sent_by != -2)
        competing = np.union1d([task], np.flatnonzero(np.isin(self._pe, used)))
        some = ", ".join(map(str, competing[:5])) + (", …" if len(competing) > 5 else "")
        raise InfeasibleError(
            f"{len(competing)} tasks ({some}) may only use {len(used)} PEs, which hold {len(competing) - 1}: "
            "allow more PEs to some of them"
        )

    def _others(self, at: int, looked_at: set[int]) -> list[int]:
        """Return the first task of every further kind on a PE, unrestricted ones first."""
        held, found = self._held[at], []
        for kind in held.keys() - looked_at:
            while held[kind] and self._pe[held[kind][0]] != at:
                heappop(held[kind])
            if held[kind]:
                found.append((kind > 0, held[kind][0]))
                looked_at.add(kind)
            else:
                del held[kind]
        return [task for _, task in sorted(found)]

    def _shift(self, task: int, at: int, sent_by: Int64) -> None:
        """Move the tasks of a chain that ends at a PE with room."""
        self._room[at] -= 1
        while True:
            comer = int(sent_by[at])
            came_from = int(self._pe[comer])
            self.put(comer, at)
            if comer == task:
                return
            at = came_from


def check_fixed_loads(
    loads: Int64 | None, caps: Int64, linear_cost: LinearCost, unit: int = 1
) -> Int64:
    """Return int64[k], the load of the tasks fixed to each PE; raise InfeasibleError if it is too large.

    Loads and caps count multiples of `unit`; the error names what users gave.
    """
    alone = (linear_cost.rest >= FORBIDDEN) & (np.diff(linear_cost.indptr) == 1)
    tasks = np.flatnonzero(alone)
    pes = linear_cost.pes[linear_cost.indptr[tasks]]
    sums = group_sums(pes, np.ones(len(tasks), np.int64) if loads is None else loads[tasks], len(caps))
    over = np.flatnonzero(sums > caps)
    if len(over):
        pe = int(over[0])
        what = "hold" if loads is None and unit == 1 else "carry"
        raise InfeasibleError(
            f"the tasks fixed to PE {pe} sum to {sums[pe] * unit}, but it may {what} {caps[pe] * unit}: "
            "fix fewer tasks there, or allow a larger imbalance or capacity"
        )
    return sums
