"""Feasibility of mappings: enforcing the bounds of a problem, and verifying a result from scratch."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from hopbytes._arrays import Int32, Int64
from hopbytes._frozen import frozen
from hopbytes.algorithms.balancer import Rebalanced, fill_empty, meet_bounds
from hopbytes.algorithms.base import Bounds, Effort
from hopbytes.errors import HopbytesError, InfeasibleError
from hopbytes.model.capacities import group_sums
from hopbytes.solve.constraints import TaskConstraints
from hopbytes.solve.evict_forbidden import evict_forbidden
from hopbytes.solve.problem import Problem


@frozen(eq=False)
class Held:
    """What the PEs hold under a mapping, counted once for all that depends on it."""

    loads: Int64  # int64[k]: Sum of the loads and number of the tasks of every PE
    tasks: Int64  # int64[k]

    @classmethod
    def of(cls, problem: Problem, pe: Int32, threads: int = 1) -> Held:
        """Count the tasks of `pe` (int32[n], values 0..k-1) from scratch; O(n + k)."""
        loads, k = problem.graph.loads, problem.where.k
        tasks = group_sums(pe, None, k, threads)
        return cls(tasks if loads is None else group_sums(pe, loads, k, threads), tasks)

    def overload(self, problem: Problem) -> int:
        """Return the largest load of a PE beyond its maximum load."""
        return max(0, int((self.loads - problem.bounds.load).max()))


def enforce_bounds(problem: Problem, pe: Int32, effort: Effort) -> tuple[Int32, Bounds, list[str]]:
    """Move tasks so that a mapping satisfies the bounds as far as the loads allow."""
    graph, where, bounds = problem.graph, problem.where, problem.bounds
    linear_cost, held = bounds.linear_cost, Held.of(problem, pe, effort.threads)
    if _keeps_all(problem, held):
        return np.array(pe, np.int32), bounds, []
    if linear_cost is not None and not bounds.exact:
        pe = evict_forbidden(where, pe, graph.loads, bounds.load, linear_cost, exact=False)
    steps = [meet_bounds(graph, where, pe, graph.loads, bounds.load, linear_cost)]
    if linear_cost is not None and bounds.exact:
        if Held.of(problem, steps[-1].pe).overload(problem):
            # Only moves that ignore the constraints can meet the bounds.
            steps.append(meet_bounds(graph, where, steps[-1].pe, None, bounds.load))
        steps.append(
            Rebalanced(evict_forbidden(where, steps[-1].pe, None, bounds.load, linear_cost, exact=True))
        )
    if problem.zero_load_bounds is not None and graph.loads is not None:
        zero_load = (graph.loads == 0).astype(np.int64)
        steps.append(
            meet_bounds(graph, where, steps[-1].pe, zero_load, problem.zero_load_bounds, linear_cost)
        )
    if problem.none_empty and not bounds.exact:
        steps.append(fill_empty(graph, where, steps[-1].pe, linear_cost, bounds.load))
    _count_work(effort, steps)
    pe = steps[-1].pe
    held = Held.of(problem, pe, effort.threads)
    notices, kept = _empty_notice(problem, held), held.loads
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


def _keeps_all(problem: Problem, held: Held) -> bool:
    """Return whether nothing has to be moved, as far as this shows in what the PEs hold."""
    if problem.bounds.linear_cost is not None or problem.zero_load_bounds is not None:
        return False
    return held.overload(problem) == 0 and not (problem.none_empty and int(held.tasks.min()) == 0)


def _empty_notice(problem: Problem, held: Held) -> list[str]:
    """Return a notice about PEs that stay empty because of constraints."""
    empty = np.flatnonzero(held.tasks == 0)
    if problem.bounds.linear_cost is None or not problem.none_empty or not len(empty):
        return []
    return [f"{len(empty)} PEs stay empty because of the constraints on single tasks"]


def _count_work(effort: Effort, steps: list[Rebalanced]) -> None:
    amounts = {"repair_moves": sum(s.moves for s in steps), "repair_swaps": sum(s.swaps for s in steps)}
    for name, amount in amounts.items():
        if amount:
            effort.work[name] = effort.work.get(name, 0) + amount


def feasible(problem: Problem, pe: Int32) -> bool:
    """Return whether a mapping keeps all bounds of the problem without being repaired."""
    return Held.of(problem, pe).overload(problem) == 0 and _fault(problem, pe) is None


def verify(problem: Problem, pe: Int32) -> None:
    """Check a result against the problem by recounting the tasks of every PE."""
    if (what := _fault(problem, pe)) is not None:
        raise HopbytesError(f"internal error: {what}; please report this")


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
    if problem.zero_load_bounds is not None and problem.graph.loads is not None:
        zero_load = np.bincount(pe[problem.graph.loads == 0], minlength=k)
        if np.any(zero_load > problem.zero_load_bounds) and linear_cost is None:
            return f"PE {int(np.argmax(zero_load))} holds {int(zero_load.max())} tasks without load"
    if problem.none_empty and int(counts.min()) == 0 and linear_cost is None:
        return f"PE {int(counts.argmin())} is empty"
    return None


def migration_report(constraints: TaskConstraints, placed: Int32) -> dict[str, Any]:
    """Return the number of migrated tasks and their cost; an empty dictionary without a current mapping."""
    if constraints.initial is None:
        return {}
    migrations = int(np.count_nonzero(placed != constraints.initial))
    return {"migrations": migrations, "migration_cost": migrations * constraints.price}


def balance_report(problem: Problem, pe: Int32) -> dict[str, Any]:
    """Return ``balance`` ("met" or "relaxed"), and the requested and the reached bound.

    ``bound_asked`` is the largest maximum load of a PE and ``bound_kept`` the largest load, in units of load
    for weighted tasks (a task heavier than a full PE counts as a full PE) and in tasks otherwise.
    """
    kept = group_sums(pe, problem.graph.loads, problem.where.k)
    met = bool(np.all(kept <= problem.bounds.load))
    return {
        "balance": "met" if met else "relaxed",
        "bound_asked": int(problem.bounds.load.max()) * problem.load_unit,
        "bound_kept": int(kept.max()) * problem.load_unit,
    }
