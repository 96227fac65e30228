"""The balancer moves tasks off overfull PEs with the least increase of the communication cost."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from hopbytes import kernels
from hopbytes._arrays import Int32, Int64
from hopbytes._frozen import frozen
from hopbytes.engine.control import DEFAULT_CONTROL, interruptible, rescale_linear_cost
from hopbytes.engine.problem import prepare
from hopbytes.kernels.linear_cost import FORBIDDEN, LinearCost
from hopbytes.kernels.records import Csr, Distances
from hopbytes.machines.distances import TableDistance, kernel_distances
from hopbytes.model.allocation import Allocation
from hopbytes.model.capacities import group_sums
from hopbytes.model.comm_graph import CommGraph


@frozen(eq=False)
class Rebalanced:
    """The result of a repair."""

    pe: Int32  # int32[n]: PE of every task after the repair
    moves: int = 0  # number of tasks moved, and number of pairs exchanged among these moves
    swaps: int = 0
    #: change of the sum over pairs of weight x distance (weights as in ``graph.symmetric()``, distances as
    #: the mean of both directions), where each pair counts once. It is None if tasks were assigned from
    #: scratch, if tasks left forbidden PEs, or if rounded weights or distances chose the moves.
    change: int | None = 0


def meet_bounds(
    graph: CommGraph, where: Allocation, pe: Int32, loads: Int64 | None, caps: Int64,
    linear_cost: LinearCost | None = None
) -> Rebalanced:
    """Move tasks off overfull PEs: the cheapest per unit of load first, to the nearest PE with room.

    If no PE has room for a whole task, tasks are exchanged for lighter ones. If the bounds still do not
    hold, the tasks of the overfull PEs and of more and more other PEs are assigned from scratch, the
    heaviest first, until the bounds hold or all tasks have been assigned this way (then no PE exceeds
    the even share by more than the load of the heaviest task). The mapping with the lowest overload is
    returned.
    """
    if _overload(pe, loads, caps) == 0:
        return Rebalanced(np.array(pe, np.int32))
    best = _run(graph, where, pe, loads, caps, linear_cost, fill_empty=False)
    over = _overload(best.pe, loads, caps)
    if over == 0 or loads is None:
        return best
    for anew in _rescheduled(best.pe, loads, caps, linear_cost):
        tried = _run(graph, where, anew, loads, caps, linear_cost, fill_empty=False)
        if _overload(tried.pe, loads, caps) < over:
            over = _overload(tried.pe, loads, caps)
            best = Rebalanced(tried.pe, int(np.count_nonzero(tried.pe != pe)), best.swaps + tried.swaps, None)
        if over == 0:
            break
    return best


def _rescheduled(pe: Int32, loads: Int64, caps: Int64, linear_cost: LinearCost | None) -> Iterator[Int32]:
    """Yield mappings in which the tasks of the overfull PEs and of some PEs with room are reassigned."""
    free = loads > 0
    if linear_cost is not None:
        free &= ~linear_cost.restricted()
    left = np.maximum(caps - group_sums(pe, np.where(free, 0, loads), len(caps)), 1)
    room = caps - group_sums(pe, loads, len(caps))
    fullest = np.argsort(room, kind="stable")
    over = int(np.count_nonzero(room < 0))
    helpers = over
    while True:
        chosen = np.sort(np.concatenate([fullest[:over], fullest[over:][::-1][:helpers]]))
        tasks = np.flatnonzero(np.isin(pe, chosen) & free)
        local = np.zeros(len(tasks), np.int32)
        kernels.list_schedule(loads[tasks], left[chosen], local)
        anew = pe.copy()
        anew[tasks] = chosen[local]
        yield anew
        if len(chosen) == len(caps):
            return
        helpers *= 2


def fill_empty(
    graph: CommGraph, where: Allocation, pe: Int32, linear_cost: LinearCost | None = None,
    caps: Int64 | None = None,
) -> Rebalanced:
    """Give every empty PE a task from the nearest PE that holds two or more, or a lighter task."""
    if int(group_sums(pe, None, where.k).min()) > 0:
        return Rebalanced(np.array(pe, np.int32))
    filled = _run(graph, where, pe, None, np.ones(where.k, np.int64), linear_cost, fill_empty=True)
    if caps is None or graph.loads is None or linear_cost is not None:
        return filled
    return _with_lighter_tasks(graph.loads, np.asarray(pe), filled, caps)


def _with_lighter_tasks(loads: Int64, before: Int32, filled: Rebalanced, caps: Int64) -> Rebalanced:
    """Replace tasks that exceed the maximum load of a PE that was empty by the lightest ones; O(n log n)."""
    pe = filled.pe.copy()
    moved = np.flatnonzero(pe != before)
    heavy = moved[loads[moved] > caps[pe[moved]]]
    if not len(heavy):
        return filled
    heavy = heavy[np.argsort(caps[pe[heavy]], kind="stable")]
    tasks = np.bincount(pe, minlength=len(caps))
    lightest = iter(np.argsort(loads, kind="stable").tolist())
    for task in heavy.tolist():
        target = pe[task]
        light = next((each for each in lightest if tasks[pe[each]] > 1), None)
        if light is None or loads[light] > caps[target]:
            break
        tasks[pe[light]] -= 1
        tasks[before[task]] += 1
        pe[light], pe[task] = target, before[task]
    return Rebalanced(pe, filled.moves, filled.swaps, None)


def _overload(pe: Int32, loads: Int64 | None, caps: Int64) -> int:
    return max(0, int((group_sums(pe, loads, len(caps)) - caps).max()))


def _run(
    graph: CommGraph, where: Allocation, pe: Int32, loads: Int64 | None, caps: Int64,
    linear_cost: LinearCost | None,
    *, fill_empty: bool,
) -> Rebalanced:
    pe = np.array(pe, np.int32)
    distance = where.distance
    if isinstance(distance, TableDistance):  # the mean of both directions, without overflow
        there, back = distance.table, np.ascontiguousarray(distance.table.T)
        given = Distances(table=((there & back) + ((there ^ back) >> 1)).reshape(-1))
    else:
        given = kernel_distances(where)
    costs = given.bit_costs if given.table is None else given.table
    symmetric, flag = graph.symmetric(), np.zeros(1, np.int32)
    if linear_cost is not None:
        linear_cost = linear_cost.scaled(1, 2 if symmetric.indptr is graph.indptr else 1)
    # The gain of a move is a difference of sums. If it could overflow, rounded weights choose the moves.
    arcs = len(symmetric.targets)
    seen = prepare(symmetric.weights, arcs, given)
    rescaled = Distances(*seen.arrays)
    near = rescaled.bit_costs if rescaled.table is None else rescaled.table
    rounded = seen.weights is not symmetric.weights or near is not costs
    priced = rescale_linear_cost(linear_cost, symmetric.weights, arcs, seen.scale)
    moves, swaps, change, _ = interruptible(
        lambda: kernels.repair(
            Csr(symmetric.indptr, symmetric.targets, seen.weights), loads, pe, caps, rescaled, flag,
            fill_empty=fill_empty, linear_cost=priced,
        ),
        flag, DEFAULT_CONTROL, graph.n + graph.m,  # no deadline: a mapping beyond its bounds is not a result
        to_the_end=True,
    )
    forbidden_left = linear_cost is not None and abs(change) >= FORBIDDEN // 2
    return Rebalanced(pe, moves, swaps, None if rounded or forbidden_left else change)


