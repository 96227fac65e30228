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
    """Move tasks, in place, until no PE exceeds its capacity, as far as moves and swaps can achieve it.

    Parameters
    ----------
    csr : Csr
        Symmetric graph, see :meth:`hopbytes.model.comm_graph.CommGraph.symmetric`.
    loads : int64[n] or None
        Only tasks with load are moved. None means 1 each.
    pe : int32[n]
        PE of every task; the array is changed in place.
    capacities : int64[k]
    distances : Distances
        A tree, a dense table, or a network.
    flag : int32[1]
        Control flag, which is polled; any value but 0 ends the call early, even if capacities are exceeded.
    fill_empty : bool
        Give every empty PE a task instead; this requires `loads` of None and capacities of 1.
    linear_cost : LinearCost or None
        Linear assignment costs, in units where each pair of tasks counts once. Forbidden PEs are not used.

    Returns
    -------
    (moves, swaps, change, compared)
        Numbers of moves and of swaps, the change of the sum over pairs of weight x distance, where each pair
        counts once, and the number of PEs that were considered as targets or donors.
    """
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
