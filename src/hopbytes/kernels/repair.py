"""Repair of mappings that exceed the capacity of PEs."""

from __future__ import annotations

import numpy as np

from hopbytes._arrays import Int32, Int64
from hopbytes.kernels.base import compiled, optional
from hopbytes.kernels.linear_cost import LinearCost, as_arrays
from hopbytes.kernels.records import Csr, Distances


def repair(
    csr: Csr, loads: Int64 | None, pe: Int32, capacities: Int64, distances: Distances, flag: Int32, *,
    fill_empty: bool = False,
    linear_cost: LinearCost | None = None,
) -> tuple[int, int, int, int]:
    """Move tasks, in place, until no PE exceeds its capacity, as far as moves and swaps can achieve it."""
    indptr, targets, weights = csr
    labels, bit_costs, table = distances
    shared = (indptr, targets, optional(weights), optional(loads), pe, capacities, fill_empty)
    if table is not None:
        scanned = np.empty(0, np.uint64) if labels is None else labels
        found = compiled.repair_table(
            *shared, scanned, table, flag, as_arrays(linear_cost)
        )
    else:
        found = compiled.repair_tree(
            *shared, labels, bit_costs, flag, as_arrays(linear_cost)
        )
    moves, swaps, change, compared = found
    return int(moves), int(swaps), int(change), int(compared)


def list_schedule(loads: Int64, capacities: Int64, pe: Int32) -> None:
    """Fill `pe` by list scheduling: heaviest tasks first, each to the PE with the smallest relative load."""
    compiled.list_schedule(loads, capacities, pe)
