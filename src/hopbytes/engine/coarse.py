"""Coarsening once for a whole mapping."""

from __future__ import annotations

import numpy as np

from hopbytes._arrays import Int32, Int64
from hopbytes.engine.call import Call
from hopbytes.engine.control import Spend
from hopbytes.kernels.base import compiled
from hopbytes.kernels.linear_cost import LinearCost

#: A coarsening has fewer levels than this, because every level has at most 19/20 of the vertices of the one
#: before.
_MOST_LEVELS = 1000


def coarsen_once(
    indptr: Int64,
    targets: Int32,
    weights: Int64 | None,
    loads: Int64 | None,
    max_block_weights: Int64,
    *,
    per_block: int,
    fewest: int,
    seed: int = 0,
    spend: Spend | None = None,
    linear_cost: LinearCost | None = None,
) -> list[Int32]:
    """Contract heavy edges between light vertices until few vertices are left (``core/coarsen.hpp``).

    Parameters
    ----------
    max_block_weights : int64[k]
        Maximum block weights; clusters are light enough to fill the blocks evenly.
    per_block, fewest : int
        Number of vertices to stop at: the larger of ``per_block * k`` and `fewest`.
    linear_cost : LinearCost or None
        Vertices with different forbidden blocks are never clustered together.

    Returns
    -------
    list of int32[...]
        For every level, the finest first, the coarse vertex of each of its vertices. Empty if the graph is
        already small enough.
    """
    n = len(indptr) - 1
    # Levels usually shrink by a factor of nearly three; if they shrink less, the coarsening ends earlier.
    maps, sizes = np.empty(4 * n, np.int32), np.empty(_MOST_LEVELS, np.int64)
    call = Call.prepare(indptr, targets, weights, loads, linear_cost=linear_cost)
    levels = compiled.coarsen_once(
        call.graph, call.linear_cost, call.control_arrays, max_block_weights, per_block, fewest,
        seed % 2**64, maps, sizes,
    )
    if spend is not None:
        spend(int(call.control_arrays[1][0]), True)
    ends = np.cumsum(np.concatenate([[n], sizes[: max(0, levels - 1)]]))
    return np.split(maps[: ends[-1]].copy(), ends[:-1]) if levels else []
