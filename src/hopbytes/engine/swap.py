"""Lowering the communication cost by exchanges of two tasks."""

from __future__ import annotations

import numpy as np

from hopbytes.engine.control import Spend, call_size, interruptible, moderate_unary
from hopbytes.engine.distances import prepare
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
    nearest: int = 16,
    deadline: float | None = None,
    spend: Spend | None = None,
    unary: Unary | None = None,
) -> tuple[Int32, int]:
    """Lower the communication cost by exchanges of two tasks.

    Parameters are those of :func:`refine_placement`; with `exact` only counts matter, which
    exchanges keep by themselves.

    Returns
    -------
    int32[n], int
        A placement that costs no more, and how many exchanges were evaluated.
    """
    control = np.zeros(1, np.int32)
    spent = np.zeros(1, np.int64)
    result = pe.copy()
    room = np.full(len(caps), len(indptr), np.int64) if exact else caps
    seen, distances, scale = prepare(weights, len(targets), labels, bit_costs, table)
    unary = moderate_unary(unary, weights, len(targets), scale)
    _, evaluations = interruptible(
        lambda: compiled.swap_refine(
            indptr, targets, optional(seen), optional(loads), *distances, room, seed % 2**64,
            np.array([all_pairs_up_to, nearest], np.int64), control, spent, *as_arrays(unary), result,
        ),
        control, deadline, call_size(indptr, targets, caps), None, spent, spend,
    )
    return result, int(evaluations)
