"""Repair of placements that exceed the capacity of PEs."""

from __future__ import annotations

import numpy as np

from hopbytes._arrays import Int32, Int64, UInt64
from hopbytes.kernels.base import compiled, optional
from hopbytes.kernels.linear_cost import LinearCost, as_arrays


def repair(
    graph: tuple[Int64, Int32, Int64 | None], loads: Int64 | None, pe: Int32, capacities: Int64,
    labels: UInt64 | None, distances: Int64, control: Int32, *, fill_empty: bool = False,
    linear_cost: LinearCost | None = None,
) -> tuple[int, int, int]:
    """Move tasks, in place, until no PE exceeds its capacity, as far as moves and swaps can achieve it.

    Parameters
    ----------
    graph : (indptr, targets, weights)
        Symmetric, see :meth:`hopbytes.model.comm_graph.CommGraph.symmetric`.
    loads : int64[n] or None
        Only tasks with load are moved. None means 1 each.
    pe : int32[n]
        Changed in place.
    capacities : int64[k]
    labels, distances
        Labels and cost per bit (65) of a tree, None and the dense table (flattened), or labels and the packed
        network of :class:`hopbytes.machines.network.node_distances.LoweredNetwork`.
    control : int32[1]
        Polled; any value but 0 ends the call early, whether or not all capacities are respected.
    fill_empty : bool
        Instead give every empty PE a task; for loads of None and capacities of 1.
    linear_cost : LinearCost or None
        Linear assignment costs, in units where each pair of tasks counts once. Forbidden PEs are not used.

    Returns
    -------
    (moves, swaps, change)
        `change` of the sum over pairs of weight x distance, each pair once.
    """
    indptr, targets, weights = graph
    shared = (indptr, targets, optional(weights), optional(loads), pe, capacities, fill_empty)
    if labels is None or len(distances) > 65:
        scanned = np.empty(0, np.uint64) if labels is None else labels
        moves, swaps, change = compiled.repair_table(
            *shared, scanned, distances, control, as_arrays(linear_cost)
        )
    else:
        moves, swaps, change = compiled.repair_tree(
            *shared, labels, distances, control, as_arrays(linear_cost)
        )
    return int(moves), int(swaps), int(change)


def list_schedule(loads: Int64, capacities: Int64, pe: Int32) -> None:
    """List scheduling, in place: the heaviest tasks first, each on the PE with the smallest relative load."""
    compiled.list_schedule(loads, capacities, pe)
