"""Which problem is being solved: the PEs in play, what each may hold, and whether an answer keeps to it."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping as Dictionary
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hopbytes.allocation import Allocation
from hopbytes.balance import LoadBound, count_caps, exact_imbalance, load_bound
from hopbytes.errors import HopbytesError, InfeasibleError, UnsupportedError
from hopbytes.graph import CommGraph
from hopbytes.mappers.base import Bounds, Effort, Int32, Int64
from hopbytes.metrics import check_scale
from hopbytes.objectives.comm_cost import CommCost
from hopbytes.repair import Repaired, fill_empty, meet_caps, sum_per_pe
from hopbytes.spread import spread, spread_counts

#: From this many tasks per PE on, a request that does not say so is taken for a partition.
TASKS_PER_PE_OF_A_PARTITION = 8


@dataclass(frozen=True, slots=True)
class Request:
    """What the caller asked of the counts; see :func:`hopbytes.run.map_tasks` for the fields."""

    partition: bool | None = None
    oversubscribe: bool = False
    pack: bool = False
    tasks_per_node: int | None = None
    per: str | Dictionary[str, int] | None = None
    imbalance: float = 0.03
    strict_balance: bool = False

    @property
    def chooses_slots(self) -> bool:
        """Whether the caller said which PEs to use."""
        return self.pack or self.tasks_per_node is not None or self.per is not None


@dataclass(frozen=True, slots=True, eq=False)
class Problem:
    """One mapping problem, posed.

    Parameters
    ----------
    name : {"processes", "partition"}
    graph : CommGraph
        What mappers see: volumes by the chosen weight, loads with heavy tasks cut down to a full PE.
    where : Allocation
        The PEs in play, a part of the caller's allocation.
    pes : int64[where.k]
        Their numbers in the caller's allocation, ascending.
    bounds : Bounds
    idle_caps : int64[k] or None
        Largest number of tasks without load per PE, so that they do not pile up; None: no such task.
    strict : bool
        A bound that cannot be met is an error.
    notices : tuple of str
        Sentences for the user.
    """

    name: str
    graph: CommGraph
    where: Allocation
    pes: Int64
    bounds: Bounds
    idle_caps: Int64 | None = None
    strict: bool = False
    notices: tuple[str, ...] = field(default=())

    @property
    def none_empty(self) -> bool:
        """A partition with enough tasks leaves no PE empty."""
        return self.name == "partition" and self.graph.n >= self.where.k

    def comm_cost(self, pe: Int32) -> int:
        """J of a placement on the PEs in play, from scratch."""
        return CommCost().value(self.graph, self.where, pe)


def pose(graph: CommGraph, where: Allocation, request: Request) -> Problem:
    """Decide the problem, choose the PEs and fix what each may hold.

    Raises
    ------
    InfeasibleError
        More tasks than PEs in the processes problem without `oversubscribe`; counts that do not fit.
    ScaleError
        Sums of volume x distance, or of loads, beyond 63 bits.
    """
    imbalance = exact_imbalance(request.imbalance)
    check_scale(graph, where)
    n, k = graph.n, where.k
    partition = request.partition
    if partition is None:
        partition = not request.oversubscribe and n >= TASKS_PER_PE_OF_A_PARTITION * k
    name = "partition" if partition else "processes"
    if request.chooses_slots and n > k and (partition or request.oversubscribe):
        raise UnsupportedError(
            f"pack, tasks_per_node and per choose among the PEs, but {n} tasks use all {k} of them"
        )
    if n <= k:
        pes = spread(where, n, pack=request.pack, tasks_per_node=request.tasks_per_node, per=request.per)
        return _counted(name, graph, where, pes, np.ones(n, np.int64), request)
    if not partition:
        if not request.oversubscribe:
            raise InfeasibleError(
                f"{n} tasks for {k} PEs, one task each: use a larger machine, oversubscribe, or a partition"
            )
        return _counted(name, graph, where, np.arange(k), spread_counts(where, n), request)
    bound = load_bound(graph.loads, n, _capacity(where), imbalance)
    if bound.loads is None and where.capacity is None and imbalance * n < k:
        return _counted(name, graph, where, np.arange(k), spread_counts(where, n), request)
    return _bounded(name, graph, where, bound, request)


def _capacity(where: Allocation) -> Int64:
    return np.ones(where.k, np.int64) if where.capacity is None else where.capacity


def _counted(
    name: str, graph: CommGraph, where: Allocation, pes: Int64, counts: Int64, request: Request
) -> Problem:
    """Every PE in play holds an exact number of tasks, so loads play no part."""
    used = where if len(pes) in (0, where.k) else where.select(pes)
    chosen = pes if len(pes) else np.arange(where.k)
    counts = counts if len(pes) else np.zeros(where.k, np.int64)
    bounds = Bounds(counts, counts, exact=True)
    return Problem(
        name, _with_loads(graph, None), used, chosen.astype(np.int64), bounds, strict=request.strict_balance
    )


def _with_loads(graph: CommGraph, loads: Int64 | None) -> CommGraph:
    # The same object where nothing changes, so that what it has already derived is kept.
    return graph if loads is graph.loads else dataclasses.replace(graph, loads=loads)


def _bounded(
    name: str, graph: CommGraph, where: Allocation, bound: LoadBound, request: Request
) -> Problem:
    """Every PE holds at most its cap of load."""
    notices = []
    if bound.heavy:
        tasks, have = ("task is", "it has") if bound.heavy == 1 else ("tasks are", "each has")
        notices.append(f"{bound.heavy} {tasks} heavier than a fair share: {have} a PE without other load")
    idle_caps = None
    if bound.loads is not None and int(bound.loads.min()) == 0:
        idle = int(np.count_nonzero(bound.loads == 0))
        idle_caps = count_caps(idle, _capacity(where), exact_imbalance(request.imbalance))
    return Problem(
        name, _with_loads(graph, bound.loads), where, np.arange(where.k, dtype=np.int64), Bounds(bound.caps),
        idle_caps, request.strict_balance, tuple(notices),
    )


# -------------------------------------------------------------------- keeping the bounds


def repaired(problem: Problem, pe: Int32, effort: Effort) -> tuple[Int32, Bounds, list[str]]:
    """Make a placement keep the bounds as far as its loads allow.

    Returns
    -------
    pe : int32[n]
    bounds : Bounds
        Those of the problem, relaxed where this placement could not meet them: what refiners must keep.
    notices : list of str
        What had to be relaxed.

    Raises
    ------
    InfeasibleError
        Strict, and the loads cannot be kept within the bound.
    """
    graph, where, bounds = problem.graph, problem.where, problem.bounds
    steps = [meet_caps(graph, where, pe, graph.loads, bounds.load)]
    if problem.idle_caps is not None and graph.loads is not None:
        idle = (graph.loads == 0).astype(np.int64)
        steps.append(meet_caps(graph, where, steps[-1].pe, idle, problem.idle_caps))
    if problem.none_empty and not bounds.exact:
        steps.append(fill_empty(graph, where, steps[-1].pe))
    _count_work(effort, steps)
    pe = steps[-1].pe
    kept = sum_per_pe(graph.loads, pe, where.k)
    if np.all(kept <= bounds.load):
        return pe, bounds, []
    worst = int(np.argmax(kept - bounds.load))
    what = (
        f"the loads could not be kept within {bounds.load[worst]} per PE: "
        f"PE {problem.pes[worst]} holds {kept[worst]}"
    )
    if problem.strict:
        raise InfeasibleError(f"{what}; allow a larger imbalance or a relaxed balance")
    return pe, dataclasses.replace(bounds, load=np.maximum(kept, bounds.load)), [what]


def _count_work(effort: Effort, steps: list[Repaired]) -> None:
    amounts = {"repair_moves": sum(s.moves for s in steps), "repair_swaps": sum(s.swaps for s in steps)}
    for name, amount in amounts.items():
        if amount:
            effort.work[name] = effort.work.get(name, 0) + amount


# -------------------------------------------------------------------- judging an answer


def verify(problem: Problem, pe: Int32) -> None:
    """Recount what every PE holds, from nothing but the answer itself.

    Raises
    ------
    HopbytesError
        A count that is off or a PE that is empty: our own fault, never the caller's.
    """
    k, n = problem.where.k, problem.graph.n
    if pe.shape != (n,) or (n and not 0 <= int(pe.min()) <= int(pe.max()) < k):
        raise _our_fault(f"not every one of {n} tasks has one of {k} PEs")
    counts = np.bincount(pe, minlength=k)
    wanted = problem.bounds.count
    if problem.bounds.exact and wanted is not None and not np.array_equal(counts, wanted):
        worst = int(np.flatnonzero(counts != wanted)[0])
        raise _our_fault(f"PE {worst} holds {counts[worst]} tasks, not {wanted[worst]}")
    if problem.idle_caps is not None and problem.graph.loads is not None:
        idle = np.bincount(pe[problem.graph.loads == 0], minlength=k)
        if np.any(idle > problem.idle_caps):
            raise _our_fault(f"PE {int(np.argmax(idle))} holds {int(idle.max())} tasks without load")
    if problem.none_empty and int(counts.min()) == 0:
        raise _our_fault(f"PE {int(counts.argmin())} is empty")


def _our_fault(what: str) -> HopbytesError:
    return HopbytesError(f"internal error: {what}; please report this")


def balance_report(problem: Problem, pe: Int32) -> dict[str, Any]:
    """Balance asked and kept: ``balance`` ("met" or "relaxed"), ``bound_asked``, ``bound_kept``.

    The bounds are the largest cap and the largest sum of a PE, in units of load for weighted tasks (a
    heavy one counting as a full PE) and in tasks otherwise.
    """
    kept = sum_per_pe(problem.graph.loads, pe, problem.where.k)
    met = bool(np.all(kept <= problem.bounds.load))
    return {
        "balance": "met" if met else "relaxed",
        "bound_asked": int(problem.bounds.load.max()),
        "bound_kept": int(kept.max()),
    }
