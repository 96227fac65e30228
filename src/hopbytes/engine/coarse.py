"""Coarsening of a graph once for all levels of a mapping."""

from __future__ import annotations

import numpy as np

from hopbytes._arrays import Int32, Int64
from hopbytes.engine.call import Call
from hopbytes.engine.control import DEFAULT_CONTROL, RunControl
from hopbytes.engine.search_problem import SearchProblem
from hopbytes.kernels.base import compiled

#: A coarsening has fewer levels than this, because every level has at most 19/20 of the vertices of the one
#: before.
_MOST_LEVELS = 1000


def coarsen_once(
    problem: SearchProblem,
    max_block_weights: Int64,
    *,
    per_block: int,
    fewest: int,
    control: RunControl = DEFAULT_CONTROL,
) -> list[Int32]:
    """Contract heavy edges between light vertices until few vertices are left."""
    n = problem.csr.n
    # Levels usually shrink by a factor of nearly three; if they shrink less, the coarsening ends earlier.
    maps, sizes = np.empty(4 * n, np.int32), np.empty(_MOST_LEVELS, np.int64)
    call = Call.prepare(problem, control)
    levels = compiled.coarsen_once(
        call.graph, call.linear_cost, call.control_arrays, max_block_weights, per_block, fewest,
        control.seed_word, maps, sizes,
    )
    if control.spend is not None:
        arcs, span = call.control_arrays[1].tolist()
        control.spend(arcs, True)
        if control.overlap is not None:
            control.overlap(arcs - span)
    ends = np.cumsum(np.concatenate([[n], sizes[: max(0, levels - 1)]]))
    return np.split(maps[: ends[-1]].copy(), ends[:-1]) if levels else []
