"""Feasibility of mappings: bounds are kept as far as loads allow, and results are verified from scratch.

Searches support one bound per PE. If some tasks have no load, their number per PE is bounded as well, since
they could otherwise all end up on few PEs: each search then runs twice, for the tasks with load while the
others are fixed, then for the others. Some mappers see zero-load tasks as tasks of average load instead.
"""

from __future__ import annotations

import dataclasses
from collections import deque
from functools import cached_property
from heapq import heappop, heappush

import numpy as np

from hopbytes._arrays import Bool, Int32, Int64
from hopbytes.algorithms.balancer import Rebalanced, fill_empty, meet_bounds
from hopbytes.algorithms.base import Bounds, Effort, Mapper, Refiner
from hopbytes.algorithms.multisection.hierarchy import fixed_loads
from hopbytes.errors import InfeasibleError, internal_error
from hopbytes.kernels.linear_cost import FORBIDDEN, LinearCost, held
from hopbytes.model.allocation import Allocation
from hopbytes.model.capacities import MAX_TOTAL_LOAD, group_sums
from hopbytes.solve.problem import Problem

#: A mapping made with average loads is used if keeping the bounds raises J by at most a fifth. On 8 patterns
#: and 7 machines J was 0.74 to 1.06 of that of two searches then, and 0.99 to 5.0 of it elsewhere: where
#: tasks without load are neighbours, almost half of all tasks have to move.
RAISED_AT_MOST = 5

def enforce_bounds(problem: Problem, pe: Int32, effort: Effort) -> tuple[Int32, Bounds, list[str]]:
    """Move tasks so that a mapping satisfies the bounds as far as the loads allow."""
    graph, where, bounds = problem.graph, problem.where, problem.bounds
    linear_cost, zero_load_bounds = bounds.linear_cost, problem.zero_load_bounds
    if linear_cost is None and zero_load_bounds is None and not excess(problem, pe, effort.threads):
        return np.array(pe, np.int32), bounds, []
    if linear_cost is not None and not bounds.exact:
        pe = evict_forbidden(where, pe, graph.loads, bounds.load, linear_cost, exact=False)
    steps = [meet_bounds(graph, where, pe, graph.loads, bounds.load, linear_cost)]
    if linear_cost is not None and bounds.exact:
        if _overload(problem, _held(problem, steps[-1].pe, effort.threads)[0]):
            # Only moves that ignore the constraints can meet the bounds.
            steps.append(meet_bounds(graph, where, steps[-1].pe, None, bounds.load))
        steps.append(
            Rebalanced(evict_forbidden(where, steps[-1].pe, None, bounds.load, linear_cost, exact=True))
        )
    if zero_load_bounds is not None and graph.loads is not None:
        zero_load = _zero_load(problem)
        steps.append(meet_bounds(graph, where, steps[-1].pe, zero_load, zero_load_bounds, linear_cost))
    if problem.none_empty and not bounds.exact:
        steps.append(fill_empty(graph, where, steps[-1].pe, linear_cost, bounds.load))
    for name in ("moves", "swaps"):
        if amount := sum(getattr(step, name) for step in steps):
            effort.count(**{f"repair_{name}": amount})
    pe, notices = steps[-1].pe, []
    kept, empty = _held(problem, pe, effort.threads)
    if linear_cost is not None and empty:
        notices = [f"{empty} PEs stay empty because of the constraints on single tasks"]
    if np.all(kept <= bounds.load):
        return pe, bounds, notices
    worst = int(np.argmax(kept - bounds.load))
    what = (
        f"the loads could not be kept within {bounds.load[worst] * problem.load_unit} per PE: "
        f"PE {problem.pes[worst]} holds {kept[worst] * problem.load_unit}"
    )
    if problem.strict:
        raise InfeasibleError(f"{what}; allow a larger imbalance or a relaxed balance")
    return pe, dataclasses.replace(bounds, load=np.maximum(kept, bounds.load)), [*notices, what]


def excess(problem: Problem, pe: Int32, threads: int = 1) -> int:
    """Return the sum of violations: excess load, zero-load tasks beyond their bound, and empty PEs.

    An empty PE, which is never allowed, weighs more than any load that exceeds its bound.
    """
    loads, empty = _held(problem, pe, threads)
    weight = empty and empty * (problem.graph.n + problem.graph.total_load)
    return _overload(problem, loads) + zero_load_excess(problem, pe) + weight


def _held(problem: Problem, pe: Int32, threads: int = 1) -> tuple[Int64, int]:
    """Return the sum of the loads of every PE, and the number of empty PEs if there must be none."""
    loads, k = problem.graph.loads, problem.where.k
    tasks = group_sums(pe, None, k, threads) if loads is None or problem.none_empty else None
    empty = int(np.count_nonzero(tasks == 0)) if tasks is not None and problem.none_empty else 0
    return group_sums(pe, loads, k, threads) if loads is not None or tasks is None else tasks, empty


def _overload(problem: Problem, loads: Int64) -> int:
    """Return the largest load of a PE beyond its maximum load."""
    return max(0, int((loads - problem.bounds.load).max()))


def feasible(problem: Problem, pe: Int32) -> bool:
    """Return whether a mapping keeps all bounds of the problem without being repaired."""
    return _overload(problem, _held(problem, pe)[0]) == 0 and _fault(problem, pe) is None


def verify(problem: Problem, pe: Int32) -> None:
    """Check a result against the problem by recounting the tasks of every PE."""
    if (what := _fault(problem, pe)) is not None:
        raise internal_error(what)


def _fault(problem: Problem, pe: Int32) -> str | None:
    """Return what a mapping violates besides bounds on loads; None if there is nothing."""
    k, n = problem.where.k, problem.graph.n
    if pe.shape != (n,) or (n and not 0 <= int(pe.min()) <= int(pe.max()) < k):
        return f"not every one of {n} tasks has one of {k} PEs"
    counts = group_sums(pe, None, k)
    wanted, linear_cost = problem.bounds.count, problem.bounds.linear_cost
    if linear_cost is not None and len(linear_cost.violated(pe)):
        task = int(linear_cost.violated(pe)[0])
        return f"task {task} is on PE {problem.pes[pe[task]]}, which it must not use"
    if problem.bounds.exact and wanted is not None and not np.array_equal(counts, wanted):
        worst = int(np.flatnonzero(counts != wanted)[0])
        return f"PE {worst} holds {counts[worst]} tasks, not {wanted[worst]}"
    if linear_cost is None and zero_load_excess(problem, pe):
        zero_load = group_sums(pe, _zero_load(problem), k)
        return f"PE {int(np.argmax(zero_load))} holds {int(zero_load.max())} tasks without load"
    if linear_cost is None and problem.none_empty and int(counts.min()) == 0:
        return f"PE {int(counts.argmin())} is empty"
    return None


# ---------------------------------------------------------------------------------------- tasks without load


def zero_load_excess(problem: Problem, pe: Int32) -> int:
    """Return the largest number of zero-load tasks of a PE beyond its bound."""
    if problem.zero_load_bounds is None:
        return 0
    zero_load = group_sums(pe, _zero_load(problem), problem.where.k)
    return max(0, int((zero_load - problem.zero_load_bounds).max()))


def map_zero_load(problem: Problem, mapper: Mapper, pe: Int32, effort: Effort) -> Int32:
    """Map the zero-load tasks from scratch, evenly to all PEs, while the others are fixed.

    The mapper should respect ``Bounds.linear_cost``; otherwise the caller rejects the result.
    """
    assert problem.zero_load_bounds is not None
    unloaded, bounds = _without_load(problem, problem.bounds, pe)
    bounds = dataclasses.replace(bounds, load=problem.zero_load_bounds)
    return mapper.map(unloaded.graph, problem.where, bounds, effort)


def map_as_average(problem: Problem, mapper: Mapper, effort: Effort) -> Int32 | None:
    """Map all tasks at once, where those without load have the average load of the others.

    Of scattered ones every PE then has about its share. Returns None if keeping both bounds would cost too
    much, and where loads or constraints do not permit such a mapping.
    """
    graph, bounds = problem.graph, problem.bounds
    if problem.zero_load_bounds is None or bounds.linear_cost is not None:
        return None
    zero_load = _zero_load(problem)
    average = max(1, graph.total_load // (graph.n - int(zero_load.sum())))
    if average * graph.n > MAX_TOTAL_LOAD - graph.total_load:
        return None
    filled = dataclasses.replace(graph, loads=graph.task_loads() + average * zero_load)
    caps = np.ceil(bounds.load * (filled.total_load / graph.total_load)).astype(np.int64)
    pe = mapper.map(filled, problem.where, dataclasses.replace(bounds, load=caps), effort)
    lenient = dataclasses.replace(problem, strict=False)
    repaired = enforce_bounds(lenient, pe, effort)[0]
    if excess(problem, repaired, effort.threads):
        return None
    before, after = (problem.comm_cost(mapping, effort.threads) for mapping in (pe, repaired))
    return repaired if (after - before) * RAISED_AT_MOST <= before else None


def refine_by_load(problem: Problem, refiner: Refiner, pe: Int32, bounds: Bounds, effort: Effort) -> Int32:
    """Run a refiner once, or if there are zero-load tasks, first for the others and then for them."""
    if problem.zero_load_bounds is None:
        return refiner.refine(problem.graph, problem.where, pe, bounds, effort)
    loaded = dataclasses.replace(bounds, linear_cost=held(bounds.linear_cost, _zero_load(problem) > 0, pe))
    pe = refiner.refine(problem.graph, problem.where, pe, loaded, effort)
    unloaded, bounds = _without_load(problem, bounds, pe)
    return refiner.refine(unloaded.graph, problem.where, pe, bounds, effort)


def _zero_load(problem: Problem) -> Int64:
    zero_load: Int64 = (problem.graph.task_loads() == 0).astype(np.int64)
    return zero_load


def _without_load(problem: Problem, bounds: Bounds, pe: Int32) -> tuple[Problem, Bounds]:
    """Return the problem in which tasks with load are fixed and each zero-load task has load 1."""
    assert problem.zero_load_bounds is not None
    zero_load = _zero_load(problem)
    caps = np.maximum(problem.zero_load_bounds, group_sums(pe, zero_load, problem.where.k))
    graph = dataclasses.replace(problem.graph, loads=zero_load)
    linear_cost = held(bounds.linear_cost, zero_load == 0, pe)
    return dataclasses.replace(problem, graph=graph), dataclasses.replace(
        bounds, load=caps, linear_cost=linear_cost
    )


# ------------------------------------------------------------------------------------------- forbidden PEs


def evict_forbidden(
    where: Allocation, pe: Int32, loads: Int64 | None, caps: Int64, linear_cost: LinearCost, *, exact: bool
) -> Int32:
    """Return a mapping with no task on a PE forbidden to it."""
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


def check_fixed_loads(loads: Int64 | None, caps: Int64, linear_cost: LinearCost, unit: int = 1) -> None:
    """Raise InfeasibleError if tasks fixed to a PE are too heavy; loads and caps are in multiples of unit."""
    sums = fixed_loads(linear_cost, loads, len(caps))
    over = np.flatnonzero(sums > caps)
    if len(over):
        pe = int(over[0])
        what = "hold" if loads is None and unit == 1 else "carry"
        raise InfeasibleError(
            f"the tasks fixed to PE {pe} sum to {sums[pe] * unit}, but it may {what} {caps[pe] * unit}: "
            "fix fewer tasks there, or allow a larger imbalance or capacity"
        )


# ----------------------------------------------------------------------------------- the current mapping


def relabel_units(where: Allocation, pe: Int32, current: Int32, caps: Int64) -> Int32:
    """Permute units of equal shape, from the outermost level inwards, to minimize the number of migrations.

    For every group of units an assignment problem is solved (SciPy's Hungarian method). The weight of a pair
    is the number of tasks that a new unit and a current unit have in common.
    O(n x levels + sum of children cubed).
    """
    relabelled: Int32 = pe.copy()
    known = current >= 0
    parents = np.zeros(where.k, np.int32)
    for grouping in where.groups():
        renamed = np.arange(where.k, dtype=np.int32)
        children = int(grouping.max()) + 1
        mine, theirs = grouping[relabelled[known]].astype(np.int64), grouping[current[known]]
        pairs, counts = np.unique(mine * children + theirs, return_counts=True)
        common = dict(zip(pairs.tolist(), counts.tolist(), strict=True))
        parent = np.zeros(children, np.int64)
        parent[grouping] = parents
        members = np.split(np.argsort(grouping, kind="stable"), np.cumsum(np.bincount(grouping))[:-1])
        for alike in _alike(members, parent, caps):
            _exchange(alike, members, common, children, renamed)
        relabelled = renamed[relabelled]
        parents = grouping
    return relabelled


def _alike(members: list[Int64], parent: Int64, caps: Int64) -> list[list[int]]:
    """Return sets of two or more units of one parent whose PEs have the same maximum loads."""
    found: dict[tuple[int, bytes], list[int]] = {}
    for child, pes in enumerate(members):
        found.setdefault((int(parent[child]), caps[pes].tobytes()), []).append(child)
    return [units for units in found.values() if len(units) > 1]


def _exchange(
    units: list[int], members: list[Int64], common: dict[int, int], children: int, renamed: Int32
) -> None:
    """Exchange units so that most tasks agree, whose number `common` has by new x children + current unit."""
    from scipy.optimize import linear_sum_assignment

    agreement = np.array([[common.get(own * children + theirs, 0) for theirs in units] for own in units])
    if agreement.any():
        rows, columns = linear_sum_assignment(agreement, maximize=True)
        for row, column in zip(rows.tolist(), columns.tolist(), strict=True):
            renamed[members[units[row]]] = members[units[column]]
