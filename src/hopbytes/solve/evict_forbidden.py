"""Moves of tasks off PEs that are forbidden to them, and the error if no such moves exist."""

from __future__ import annotations

from collections import deque

import numpy as np

from hopbytes._arrays import Bool, Int32, Int64
from hopbytes.errors import InfeasibleError
from hopbytes.kernels.linear_cost import FORBIDDEN, LinearCost
from hopbytes.model.allocation import Allocation
from hopbytes.model.exact_sums import group_sums


def evict_forbidden(
    where: Allocation, pe: Int32, loads: Int64 | None, caps: Int64, linear_cost: LinearCost, *, exact: bool
) -> Int32:
    """Return a mapping with no task on a PE forbidden to it.

    Parameters
    ----------
    pe : int32[n]
        PE of every task; the array is not changed. With `exact` it must satisfy `caps`.
    loads : int64[n] or None
        Loads of the tasks; None means 1 each.
    caps : int64[k]
        Maximum load of every PE.
    exact : bool
        Treat `caps` as numbers of tasks that must not be exceeded: if no allowed PE of a task has room, other
        tasks are moved along a chain that is as short as possible. Without `exact` such a task makes a PE
        overfull, which :func:`hopbytes.algorithms.balancer.meet_bounds` repairs.

    Raises
    ------
    InfeasibleError
        With `exact`, if no mapping of all tasks exists; the text names the tasks that compete for PEs.

    Notes
    -----
    O(n + entries) plus, for each task that must move, O(k) if there is room, or O(k x visited tasks) for a
    chain. Chains are augmenting paths of a bipartite matching; if there is none, no mapping exists.
    """
    moving = linear_cost.violated(pe)
    if not len(moving):
        return pe
    pe = pe.copy()
    weight = np.ones(len(pe), np.int64) if loads is None else loads
    room = caps - group_sums(pe, loads, len(caps))
    held = linear_cost.restricted()
    for task in moving[np.argsort(-weight[moving], kind="stable")].tolist():
        allowed = linear_cost.allowed(task, len(caps))
        old, load = int(pe[task]), int(weight[task])
        open_to = np.flatnonzero(allowed & (room >= load))
        if len(open_to):
            target = _nearest(where, old, open_to)
        elif exact:
            _chain(pe, task, allowed, room, linear_cost, held)
            continue
        else:
            choices = np.flatnonzero(allowed)
            target = int(choices[np.argmax(room[choices])])
        room[old] += load
        room[target] -= load
        pe[task] = target
    return pe


def _nearest(where: Allocation, pe: int, choices: Int64) -> int:
    distance = where.distance
    apart = [distance.between(pe, int(q)) for q in choices[:256]]
    return int(choices[int(np.argmin(apart))])


def _chain(pe: Int32, task: int, allowed: Bool, room: Int64, linear_cost: LinearCost, held: Bool) -> None:
    """Move `task` to an allowed PE, a task from there to another PE, and so on until a PE has room."""
    k, old = len(room), int(pe[task])
    room[old] += 1  # the task leaves
    sent_by = np.full(k, -2, np.int64)  # the task that would move to each PE; -2: the PE is not reached
    reached = deque(np.flatnonzero(allowed).tolist())
    sent_by[reached] = task
    competing = {task}
    while reached:
        at = reached.popleft()
        if room[at] > 0:
            room[at] -= 1
            while True:
                comer = int(sent_by[at])
                came_from, pe[comer] = int(pe[comer]), at
                if comer == task:
                    return
                at = came_from
        tasks = np.flatnonzero(pe == at)
        tasks = tasks[np.argsort(held[tasks], kind="stable")]  # unrestricted tasks come first
        for other in tasks.tolist():
            competing.add(other)
            further = np.flatnonzero(linear_cost.allowed(other, k) & (sent_by == -2))
            sent_by[further] = other
            reached.extend(further.tolist())
            if not held[other]:
                break  # an unrestricted task reaches every PE
    places = int(np.count_nonzero(sent_by != -2))
    some = ", ".join(map(str, sorted(competing)[:5])) + (", …" if len(competing) > 5 else "")
    raise InfeasibleError(
        f"{len(competing)} tasks ({some}) may only use {places} PEs, which hold {len(competing) - 1}: "
        "allow more PEs to some of them"
    )


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
