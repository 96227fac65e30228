"""Lowering the communication cost by exchanges of two tasks."""

from __future__ import annotations

import numpy as np

from hopbytes.engine.control import Spend, call_size, interruptible, moderate_unary
from hopbytes.engine.distances import prepare
from hopbytes.engine.slots import Searched
from hopbytes.kernels.base import Int32, Int64, UInt64, compiled, optional
from hopbytes.unary import Unary, as_arrays


def swap_refine(
    indptr: Int64,
    targets: Int32,
    weights: Int64 | None,
    loads: Int64 | None,
    pe: Int32,
    caps: Int64,
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
    shakes: int = 0,
    threads: int = 1,
    deadline: float | None = None,
    spend: Spend | None = None,
    unary: Unary | None = None,
) -> Searched:
    """Lower the communication cost by exchanges of two tasks.

    Parameters are those of :func:`refine_placement`; with `exact` only counts matter, which
    exchanges keep by themselves. For the others see :class:`hopbytes.refiners.swap.Swap`.

    Returns
    -------
    Searched
        A placement that costs no more, and how many exchanges were evaluated and made.
    """
    control = np.zeros(1, np.int32)
    spent, counted = np.zeros(1, np.int64), np.zeros(2, np.int64)
    size = call_size(indptr, targets, caps) * (1 + chains * steps + shakes)
    result = pe.copy()
    room = np.full(len(caps), len(indptr), np.int64) if exact else caps
    seen, distances, scale = prepare(weights, len(targets), labels, bit_costs, table)
    unary = moderate_unary(unary, weights, len(targets), scale)
    interruptible(
        lambda: compiled.swap_refine(
            indptr, targets, optional(seen), optional(loads), *distances, room, seed % 2**64,
            np.array([all_pairs_up_to, reach, chains, steps, shakes, threads], np.int64), control, spent,
            *as_arrays(unary), result, counted,
        ),
        control, deadline, size, None, spent, spend,
    )
    return Searched(result, int(counted[0]), int(counted[1]))
