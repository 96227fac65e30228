"""Coarsening once for a whole mapping."""

from __future__ import annotations

import numpy as np

from hopbytes._arrays import Int32, Int64
from hopbytes.engine.call import Call
from hopbytes.engine.control import Spend
from hopbytes.kernels.base import compiled
from hopbytes.kernels.linear_cost import LinearCost

#: More levels than a coarsening that shrinks by a twentieth at least can have.
_MOST_LEVELS = 1000


def coarsen_once(
    indptr: Int64,
    targets: Int32,
    weights: Int64 | None,
    loads: Int64 | None,
    caps: Int64,
    *,
    per_block: int,
    fewest: int,
    seed: int = 0,
    spend: Spend | None = None,
    linear_cost: LinearCost | None = None,
) -> list[Int32]:
    """Contract heavy edges between light vertices until few are left (``core/coarsen.hpp``).

    Parameters
    ----------
    caps : int64[k]
        Largest load per block; clusters are light enough to fill blocks evenly.
    per_block, fewest : int
        Vertices to stop at: the larger of ``per_block * k`` and `fewest`.
    unary : Unary or None
        Vertices with different forbidden blocks do not meet.

    Returns
    -------
    list of int32[...]
        For every level, the finest first, the coarse vertex of each of its vertices. Empty where the graph
        is small enough.
    """
    n = len(indptr) - 1
    # Levels shrink by a factor of nearly three; a coarsening that does not ends earlier.
    maps, sizes = np.empty(4 * n, np.int32), np.empty(_MOST_LEVELS, np.int64)
    call = Call.prepare(indptr, targets, weights, loads, linear_cost=linear_cost)
    levels = compiled.coarsen_once(
        call.graph, call.linear_cost, call.steering, caps, per_block, fewest, seed % 2**64, maps, sizes
    )
    if spend is not None:
        spend(int(call.steering[1][0]), True)
    ends = np.cumsum(np.concatenate([[n], sizes[: max(0, levels - 1)]]))
    return np.split(maps[: ends[-1]].copy(), ends[:-1]) if levels else []
