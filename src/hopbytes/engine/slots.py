"""One task per slot: searches over fixed sets of pairs, and greedy constructions.

Unlike other searches, the results of these algorithms are fully defined, and they have a reference
implementation in ``tests/reference/slots_reference.py``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hopbytes._arrays import Int32, Int64
from hopbytes.engine.call import Call
from hopbytes.engine.control import DEFAULT_CONTROL, MOST, RunControl
from hopbytes.engine.search_problem import SearchProblem
from hopbytes.kernels.base import implementation
from hopbytes.kernels.records import ALL_PAIRS, BLOCKS, NEAR_PAIRS

__all__ = ["ALL_PAIRS", "BLOCKS", "NEAR_PAIRS", "Searched", "pair_search", "place_greedily"]

_implementation = implementation("slots")


class Searched(NamedTuple):
    """A mapping, and the numbers of exchanges evaluated and made."""

    pe: Int32
    evaluations: int
    swaps: int


def pair_search(
    kind: int,
    problem: SearchProblem,
    pe: Int32,
    capacities: Int64,
    *,
    reach: int = 0,
    order: Int32 | None = None,
    control: RunControl = DEFAULT_CONTROL,
) -> Searched:
    """Exchange two tasks at a time until no pair of one kind has a gain (``assignment/pair_search.hpp``)."""
    call = Call.prepare(problem, control)
    counted, result = np.zeros(2, np.int64), pe.copy()
    turns = np.empty(0, np.int32) if order is None else order
    most = {ALL_PAIRS: len(pe), BLOCKS: reach, NEAR_PAIRS: len(pe)}[kind]
    call.run(
        lambda: _implementation.pair_search(
            call.graph, call.distances, call.linear_cost, call.control_arrays, kind, reach, turns, capacities,
            result, counted,
        ),
        len(problem.csr.targets) + len(pe) * min(most, len(pe)),
    )
    return Searched(result, int(counted[0]), int(counted[1]))


def place_greedily(
    problem: SearchProblem, room: Int64, *, linked: bool, control: RunControl = DEFAULT_CONTROL
) -> Int32:
    """Repeatedly assign the task with the largest volume to assigned tasks (``constructions.hpp``)."""
    call = Call.prepare(problem, control)
    names, costs, rows = call.distances
    result = np.empty(problem.csr.n, np.int32)
    labels, _, table = problem.distances
    if labels is None or table is None:  # sums of distances to all assigned tasks must not overflow either
        most = max(int(costs.max(initial=0)), int(rows.max(initial=0))) * max(len(result), len(room))
        less = max(0, most.bit_length() - MOST.bit_length())
        costs, rows = costs >> less, rows >> less
    call.run(
        lambda: _implementation.place_greedily(
            call.graph, (names, costs, rows), call.control_arrays, linked, room, result
        ),
        len(problem.csr.targets) + len(result) * (1 if table is None else len(room)),
    )
    return result
