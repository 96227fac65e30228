"""Refinement of a placement by exchanges of two tasks."""

from __future__ import annotations

import numpy as np

from hopbytes._arrays import Int32, Int64, UInt64
from hopbytes.engine.call import Call
from hopbytes.engine.control import Spend, call_size
from hopbytes.engine.slots import Searched
from hopbytes.kernels.base import compiled
from hopbytes.kernels.linear_cost import LinearCost


def swap_refine(
    indptr: Int64,
    targets: Int32,
    weights: Int64 | None,
    loads: Int64 | None,
    pe: Int32,
    capacities: Int64,
    *,
    exact: bool,
    labels: UInt64 | None = None,
    bit_costs: Int64 | None = None,
    table: Int64 | None = None,
    seed: int = 0,
    all_pairs_up_to: int = 1024,
    reach: int = 64,
    chains: int = 0,
    steps: int = 0,
    perturbation_work: int = 0,
    threads: int = 1,
    deadline: float | None = None,
    spend: Spend | None = None,
    linear_cost: LinearCost | None = None,
) -> Searched:
    """Lower the communication cost by exchanges of two tasks.

    Parameters are those of :func:`refine_placement`. With `exact` only the number of tasks per PE matters,
    which exchanges preserve. For the others see :class:`hopbytes.algorithms.refiners.swap.Swap`.

    Returns
    -------
    Searched
        A placement that costs no more, and the numbers of exchanges evaluated and made.
    """
    call = Call.prepare(
        indptr, targets, weights, loads, labels=labels, bit_costs=bit_costs, table=table,
        linear_cost=linear_cost
    )
    counted, result = np.zeros(2, np.int64), pe.copy()
    room = np.full(len(capacities), len(indptr), np.int64) if exact else capacities
    options = np.array([all_pairs_up_to, reach, chains, steps, perturbation_work, threads], np.int64)
    call.run(
        lambda: compiled.swap_refine(
            call.graph, call.distances, call.linear_cost, call.control_arrays, room, seed % 2**64, options,
            result,
            counted,
        ),
        call_size(indptr, targets, capacities) * (1 + chains * steps + perturbation_work), deadline, spend,
    )
    return Searched(result, int(counted[0]), int(counted[1]))
