"""Partitioning of groups of vertices into blocks with maximum weights."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from hopbytes._arrays import Int32, Int64, UInt64
from hopbytes.engine.call import Call
from hopbytes.engine.control import Spend, call_size
from hopbytes.engine.settings import PartitionSettings
from hopbytes.kernels.base import compiled
from hopbytes.kernels.linear_cost import LinearCost


def partition_many(
    indptr: Int64,
    targets: Int32,
    weights: Int64 | None,
    loads: Int64 | None,
    group: Int32,
    block_start: Int64,
    max_block_weights: Int64,
    seeds: UInt64,
    settings: PartitionSettings,
    *,
    candidates: Int32 | None = None,
    threads: int = 1,
    deadline: float | None = None,
    watch: Callable[[int], None] | None = None,
    spend: Spend | None = None,
    control: Int32 | None = None,
    linear_cost: LinearCost | None = None,
) -> tuple[Int32, Int64]:
    """Partition every group of vertices into its own blocks.

    Parameters
    ----------
    indptr, targets, weights, loads
        Symmetric graph without diagonal and without zero weights; None means 1 each.
    group : int32[n]
        Group of each vertex, 0..g-1. Edges between groups are ignored.
    block_start : int64[g+1]
        The maximum block weights of group i are ``max_block_weights[block_start[i]:block_start[i+1]]``.
    max_block_weights : int64[...]
        Maximum block weights; respected whenever moves and swaps of single vertices can achieve it.
    seeds : uint64[g]
    candidates : int32[c, n] or None
        Partitions from other sources that compete; negative where a group has none.
    watch : callable or None
        Called repeatedly with the number of finished groups.
    spend : callable or None
        Called at the end with the number of scanned edges.
    control : int32[2] or None
        Control flag and progress counter to share with other calls: all return soon after the flag becomes 1.
    linear_cost : LinearCost or None
        Linear assignment costs, in units of weight where each edge counts once.

    Returns
    -------
    child : int32[n]
        Block of each vertex within its group.
    cut : int64[g]
        Weight between blocks of each group, every edge once.
    """
    call = Call.prepare(indptr, targets, weights, loads, linear_cost=linear_cost, control=control)
    child = np.zeros(len(indptr) - 1, np.int32)
    cut = np.zeros(len(block_start) - 1, np.int64)
    given = np.empty(0, np.int32) if candidates is None else np.ascontiguousarray(candidates).reshape(-1)
    call.run(
        lambda: compiled.partition_many(
            call.graph, call.linear_cost, call.control_arrays, group, block_start, max_block_weights, seeds,
            given,
            settings.array(threads), child, cut,
        ),
        call_size(indptr, targets, max_block_weights, settings.repeats), deadline, spend, watch,
    )
    # the cut of rounded weights: compute the exact one
    if weights is not None and call.graph[2] is not weights:
        cut[:] = 0
        rows = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
        counts = (rows < targets) & (group[rows] == group[targets]) & (child[rows] != child[targets])
        np.add.at(cut, group[rows[counts]], weights[counts])
    return child, cut
