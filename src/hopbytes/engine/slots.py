"""One task per slot: searches over fixed sets of pairs, and greedy constructions.

These algorithms, unlike the other searches, are fully defined and have a twin in
:mod:`hopbytes.reference.slots_reference`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hopbytes._arrays import Int32, Int64, UInt64
from hopbytes.engine.call import Call
from hopbytes.engine.control import MOST, Spend
from hopbytes.kernels.base import implementation
from hopbytes.kernels.linear_cost import LinearCost
from hopbytes.reference.slots_reference import ALL_PAIRS, BLOCKS, NEAR_PAIRS

__all__ = ["ALL_PAIRS", "BLOCKS", "NEAR_PAIRS", "Searched", "pair_search", "place_greedily"]

_implementation = implementation("slots")


class Searched(NamedTuple):
    """A placement, and the numbers of exchanges evaluated and made."""

    pe: Int32
    evaluations: int
    swaps: int


def pair_search(
    kind: int,
    indptr: Int64,
    targets: Int32,
    weights: Int64 | None,
    loads: Int64 | None,
    pe: Int32,
    capacities: Int64,
    *,
    reach: int = 0,
    order: Int32 | None = None,
    labels: UInt64 | None = None,
    bit_costs: Int64 | None = None,
    table: Int64 | None = None,
    deadline: float | None = None,
    spend: Spend | None = None,
    linear_cost: LinearCost | None = None,
) -> Searched:
    """Exchange two tasks at a time until no pair of one kind gains (``core/pair_search.hpp``).

    Parameters
    ----------
    kind : {ALL_PAIRS, BLOCKS, NEAR_PAIRS}
    indptr, targets, weights, loads
        Symmetric graph without diagonal; None means 1 each.
    pe : int32[n]
        The placement to start from; not changed.
    capacities : int64[k]
        Largest load per PE.
    reach : int
        Length of a block (BLOCKS), or largest distance of a pair in edges (NEAR_PAIRS).
    order : int32[n]
        Initial order of the queue of tasks (NEAR_PAIRS).
    linear_cost : LinearCost or None
        Linear assignment costs, in units of weight times distance with every edge counted once.
    labels, bit_costs, table
        See :func:`hopbytes.engine.refine_placement`.
    """
    call = Call.prepare(
        indptr, targets, weights, loads, labels=labels, bit_costs=bit_costs, table=table,
        linear_cost=linear_cost
    )
    counted, result = np.zeros(2, np.int64), pe.copy()
    turns = np.empty(0, np.int32) if order is None else order
    most = {ALL_PAIRS: len(pe), BLOCKS: reach, NEAR_PAIRS: len(pe)}[kind]
    call.run(
        lambda: _implementation.pair_search(
            call.graph, call.distances, call.linear_cost, call.control_arrays, kind, reach, turns, capacities,
            result, counted,
        ),
        len(targets) + len(pe) * min(most, len(pe)), deadline, spend,
    )
    return Searched(result, int(counted[0]), int(counted[1]))


def place_greedily(
    indptr: Int64,
    targets: Int32,
    weights: Int64 | None,
    room: Int64,
    *,
    linked: bool,
    labels: UInt64 | None = None,
    bit_costs: Int64 | None = None,
    table: Int64 | None = None,
    deadline: float | None = None,
) -> Int32:
    """Repeatedly place the task with the largest volume to those already placed (``core/constructions.hpp``).

    Parameters
    ----------
    room : int64[k]
        Number of tasks that each PE takes, at least n in total.
    linked : bool
        Place a task where it is cheapest; otherwise on the free PE nearest to all tasks placed so far.
    """
    call = Call.prepare(indptr, targets, weights, None, labels=labels, bit_costs=bit_costs, table=table)
    names, costs, rows = call.distances
    result = np.empty(len(indptr) - 1, np.int32)
    if labels is None or table is None:  # sums of distances to all placed tasks must not overflow either
        most = max(int(costs.max(initial=0)), int(rows.max(initial=0))) * max(len(result), len(room))
        less = max(0, most.bit_length() - MOST.bit_length())
        costs, rows = costs >> less, rows >> less
    call.run(
        lambda: _implementation.place_greedily(
            call.graph, (names, costs, rows), call.control_arrays, linked, room, result
        ),
        len(targets) + len(result) * (1 if table is None else len(room)), deadline, None,
    )
    return result
