"""The formulation of a mapping problem: the PEs that are used and the bounds of each."""

from __future__ import annotations

import dataclasses
from fractions import Fraction

import numpy as np

from hopbytes._arrays import Int32, Int64
from hopbytes.algorithms.base import Bounds
from hopbytes.cost.objectives.comm_cost import check_scale
from hopbytes.errors import InfeasibleError, UnsupportedError
from hopbytes.kernels.linear_cost import LinearCost
from hopbytes.machines.allocate.slot_counts import even_counts, spread
from hopbytes.model.allocation import Allocation
from hopbytes.model.capacities import LoadBound, count_bounds, exact_imbalance, load_bound, sum_of
from hopbytes.model.comm_graph import CommGraph
from hopbytes.solve.feasible import check_fixed_loads, evict_forbidden
from hopbytes.solve.problem import Problem, Request, TaskConstraints

#: From this many tasks per PE on, a request without `partition` is treated as a partition.
TASKS_PER_PE_OF_A_PARTITION = 8

UNCONSTRAINED = TaskConstraints()


def formulate(
    graph: CommGraph, where: Allocation, request: Request, constraints: TaskConstraints = UNCONSTRAINED
) -> Problem:
    """Return the problem of a request: choose processes or partition, select the PEs and set their bounds."""
    imbalance = exact_imbalance(request.imbalance)
    check_scale(graph, where)
    n, whole = graph.n, where
    usable = constraints.usable(n, whole.k)
    if not len(usable):
        raise InfeasibleError(f"every one of the {whole.k} PEs is forbidden to all tasks")
    if len(usable) < whole.k:
        where = whole.select(usable)
    linear_cost = constraints.linear_cost(n, whole.k)
    limits = None if linear_cost is None else linear_cost.select(usable, whole.k)
    current = _renumbered(constraints.initial, usable, whole.k)
    problem = _without_places(graph, where, request, imbalance, limits, current)
    if limits is None and current is None:
        return dataclasses.replace(problem, pes=usable[problem.pes])
    if limits is not None:
        limits = limits.select(problem.pes, where.k)
        _check_places(problem, limits)
    return dataclasses.replace(
        problem, pes=usable[problem.pes], bounds=dataclasses.replace(problem.bounds, linear_cost=limits),
        current=_renumbered(current, problem.pes, where.k),
    )


def _renumbered(pe: Int32 | None, pes: Int64, k: int) -> Int32 | None:
    """Return the positions in `pes` of PEs of 0..k-1, -1 for PEs that are not in `pes`."""
    if pe is None:
        return None
    number = np.full(k + 1, -1, np.int32)  # the last entry serves index -1
    number[pes] = np.arange(len(pes))
    return number[pe]


def _check_places(problem: Problem, linear_cost: LinearCost) -> None:
    """Raise an error for constraints that cannot be met, before any search begins."""
    bounds, where = problem.bounds, problem.where
    check_fixed_loads(problem.graph.loads, bounds.load, linear_cost, problem.load_unit)
    if bounds.exact and bounds.count is not None:
        in_order = np.repeat(np.arange(where.k, dtype=np.int32), bounds.count)
        evict_forbidden(where, in_order, None, bounds.count, linear_cost, exact=True)


def _without_places(
    graph: CommGraph, where: Allocation, request: Request, imbalance: Fraction,
    linear_cost: LinearCost | None,
    current: Int32 | None,
) -> Problem:
    n, k = graph.n, where.k
    constraints: tuple[str, ...] = ()
    partition = request.partition
    if partition is None:
        partition, constraints = _treated_as_partition(graph, k, request)
    name = "partition" if partition else "processes"
    if request.chooses_slots and n > k and (partition or request.use.oversubscribe):
        raise UnsupportedError(
            f"pack, tasks_per_node and tasks_per choose among the PEs, but {n} tasks use all {k} of them"
        )
    if n < k and _mapper_chooses(where, n, request, linear_cost, current):
        every = np.arange(k, dtype=np.int64)
        return Problem(name, _with_loads(graph, None), where, every, Bounds(np.ones(k, np.int64)))
    if n <= k:
        pes = _slots(where, n, request, linear_cost, current)
        return _counted(name, graph, where, pes, np.ones(n, np.int64), request)
    if not partition:
        if not request.use.oversubscribe:
            raise too_few_slots(n, where, sizes=str(graph.meta.get("sizes", "")))
        return _counted(name, graph, where, np.arange(k), _counts(where, n), request)
    bound = load_bound(graph.loads, n, _capacity(where), imbalance, ceil=request.bound == "ceil")
    even = bound.loads is None and where.capacity is None and imbalance * n < k
    if even and int(bound.caps.max()) == -(-n // k):  # at most the mean, rounded up
        problem = _counted(name, graph, where, np.arange(k), _counts(where, n), request)
    else:
        problem = _bounded(name, graph, where, bound, request)
    return dataclasses.replace(problem, notices=(*constraints, *problem.notices), load_unit=bound.unit)


def _treated_as_partition(graph: CommGraph, k: int, request: Request) -> tuple[bool, tuple[str, ...]]:
    """Return whether a request without `partition` is treated as a partition, and the notice about it.

    Processes of a program are never treated as a partition, since a machine that is too small for them is
    most likely a mistake.
    """
    n = graph.n
    if request.use.oversubscribe or graph.of_processes or n < TASKS_PER_PE_OF_A_PARTITION * k:
        return False, ()
    each = f"{n // k:,}" if n % k == 0 else f"about {n / k:,.1f}"
    what = f"treated as a partition, {each} tasks per slot (`partition=False` selects one each)"
    return True, (f"{n:,} tasks on {k:,} slot{'s' * (k > 1)}: {what}",)


MORE_TASKS_OR_SLOTS = "more nodes, or `oversubscribe=True`, or `partition=True` for mesh vertices"


def too_few_slots(
    n: int, where: Allocation, way_out: str = MORE_TASKS_OR_SLOTS, sizes: str = ""
) -> InfeasibleError:
    """Return the error for a machine with fewer slots than processes; `sizes` are what multiplies to n."""
    per_node = np.bincount(where.node_of_pe)
    nodes, most = int(np.count_nonzero(per_node)), int(per_node.max())
    size = int(np.diff(where.core_start).max())
    slot = where.slot_word
    each = f"{most}" if slot != "slot" else f"{most} slot{'s' * (most > 1)} of {size} cores"
    alike = f" ({nodes} nodes x {each})" if nodes > 1 and nodes * most == where.k else ""
    product = f" = {sizes}" if sizes else ""
    return InfeasibleError(
        f"{n} processes{product}, but the machine has {where.k} {slot}{'s' * (where.k > 1)}{alike}: {way_out}"
    )


def _mapper_chooses(
    where: Allocation, n: int, request: Request, linear_cost: LinearCost | None, current: Int32 | None
) -> bool:
    """Return whether the mapper alone decides which PEs are used by n tasks."""
    constraints = request.chooses_slots or linear_cost is not None or current is not None
    by_job = where.tasks_of_nodes is not None and int(where.tasks_of_nodes.sum()) == n
    return request.mapper_chooses and n > 0 and not constraints and not by_job


def _slots(
    where: Allocation, n: int, request: Request, linear_cost: LinearCost | None, current: Int32 | None
) -> Int64:
    """Return the PEs for n tasks, one each: those in use now, or a selection that meets the constraints."""
    if current is not None and not request.chooses_slots and len(np.unique(current[current >= 0])) == n:
        pes = np.sort(current).astype(np.int64)
    elif request.slots is not None:
        pes = request.slots
    else:
        pes = spread(where, n, request.use)
    if linear_cost is None or n in (0, where.k):
        return pes
    check_fixed_loads(None, np.ones(where.k, np.int64), linear_cost)
    chosen, anywhere = np.zeros(where.k, np.int64), np.ones(where.k, np.int64)
    chosen[pes] = 1
    in_order = pes.astype(np.int32)
    try:
        evict_forbidden(where, in_order, None, chosen, linear_cost, exact=True)
        return pes
    except InfeasibleError:
        if request.use.counted:
            raise
    return np.sort(evict_forbidden(where, in_order, None, anywhere, linear_cost, exact=True)).astype(np.int64)


def _counts(where: Allocation, n: int) -> Int64:
    """Return the number of tasks per PE for n > k: even, or by capacity (largest remainders)."""
    if where.capacity is None:
        return even_counts(where, n)
    whole = sum_of(where.capacity)
    shares = [n * size for size in where.capacity.tolist()]
    counts = np.array([share // whole for share in shares], np.int64)
    order = sorted(range(where.k), key=lambda pe: (-(shares[pe] % whole), pe))
    counts[order[: n - int(counts.sum())]] += 1
    return counts


def _capacity(where: Allocation) -> Int64:
    return np.ones(where.k, np.int64) if where.capacity is None else where.capacity


def _counted(
    name: str, graph: CommGraph, where: Allocation, pes: Int64, counts: Int64, request: Request
) -> Problem:
    """Return a problem in which every PE holds an exact number of tasks, so that loads are ignored."""
    used = where if len(pes) in (0, where.k) else where.select(pes)
    chosen = pes if len(pes) else np.arange(where.k)
    counts = counts if len(pes) else np.zeros(where.k, np.int64)
    bounds = Bounds(counts, counts, exact=True)
    return Problem(
        name, _with_loads(graph, None), used, chosen.astype(np.int64), bounds, strict=request.strict
    )


def _with_loads(graph: CommGraph, loads: Int64 | None) -> CommGraph:
    # An unchanged graph is returned as the same object, which keeps its cached data.
    return graph if loads is graph.loads else dataclasses.replace(graph, loads=loads)


def _bounded(name: str, graph: CommGraph, where: Allocation, bound: LoadBound, request: Request) -> Problem:
    """Return a problem in which every PE has a maximum load."""
    notices = []
    if bound.heavy:
        tasks, have = ("task is", "it has") if bound.heavy == 1 else ("tasks are", "each has")
        notices.append(f"{bound.heavy} {tasks} heavier than a fair share: {have} a PE without other load")
    zero_load_bounds = None
    if bound.loads is not None and int(bound.loads.min()) == 0:
        zero_load = int(np.count_nonzero(bound.loads == 0))
        zero_load_bounds = count_bounds(zero_load, _capacity(where), exact_imbalance(request.imbalance))
    return Problem(
        name, _with_loads(graph, bound.loads), where, np.arange(where.k, dtype=np.int64), Bounds(bound.caps),
        zero_load_bounds, request.strict, tuple(notices),
    )
