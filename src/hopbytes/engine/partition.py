"""Cutting groups of vertices into blocks with caps."""

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
    cap_start: Int64,
    caps: Int64,
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
    """Cut every group of vertices into its own blocks.

    Parameters
    ----------
    indptr, targets, weights, loads
        Symmetric graph without diagonal and without zero weights; None means 1 each.
    group : int32[n]
        Group of each vertex, 0..g-1. Edges between groups play no part.
    cap_start : int64[g+1]
        The blocks of group i have caps ``caps[cap_start[i]:cap_start[i+1]]``.
    caps : int64[...]
        Largest load per block; met whenever moves and swaps of single vertices can meet it.
    seeds : uint64[g]
    candidates : int32[c, n] or None
        Partitions from elsewhere that compete; negative where a group has none.
    watch : callable or None
        Told now and then how many groups are done.
    spend : callable or None
        Told at the end how many arcs were looked at.
    control : int32[2] or None
        Words to share with other calls: all come home soon after the first becomes 1.
    unary : Unary or None
        Costs per block of every vertex, in units of weight where each edge counts once.

    Returns
    -------
    child : int32[n]
        Block of each vertex within its group.
    cut : int64[g]
        Weight between blocks of each group, every edge once.
    """
    call = Call.prepare(indptr, targets, weights, loads, linear_cost=linear_cost, control=control)
    child = np.zeros(len(indptr) - 1, np.int32)
    cut = np.zeros(len(cap_start) - 1, np.int64)
    given = np.empty(0, np.int32) if candidates is None else np.ascontiguousarray(candidates).reshape(-1)
    call.run(
        lambda: compiled.partition_many(
            call.graph, call.linear_cost, call.steering, group, cap_start, caps, seeds, given,
            settings.array(threads), child, cut,
        ),
        call_size(indptr, targets, caps, settings.repeats), deadline, spend, watch,
    )
    if weights is not None and call.graph[2] is not weights:  # cut on rounded weights
        cut[:] = 0
        rows = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
        counts = (rows < targets) & (group[rows] == group[targets]) & (child[rows] != child[targets])
        np.add.at(cut, group[rows[counts]], weights[counts])
    return child, cut
