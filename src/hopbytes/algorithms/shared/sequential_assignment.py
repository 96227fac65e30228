"""Assignment of tasks to PEs in a given order, which baselines and ordering mappers share."""

from __future__ import annotations

import numpy as np

from hopbytes._arrays import Int32, Int64
from hopbytes.algorithms.base import Bounds
from hopbytes.model.capacities import shares_in_order
from hopbytes.model.comm_graph import CommGraph
from hopbytes.util.random_numbers import GAMMA, mixed_words


def random_order(n: int, seed: int) -> Int64:
    """Return a random permutation of 0..n-1 (int64), the same on all systems for the same seed."""
    with np.errstate(over="ignore"):
        start = mixed_words(np.array([seed], np.uint64))
        keys = mixed_words(start + np.arange(1, n + 1, dtype=np.uint64) * np.uint64(GAMMA))
    return np.argsort(keys, kind="stable").astype(np.int64)


def fill_in_order(graph: CommGraph, bounds: Bounds, order: Int64 | None = None) -> Int32:
    """Assign tasks to one PE after another in the given `order` (int64[n]; None: as they are)."""
    if bounds.exact and bounds.count is not None:
        counts = bounds.count
    elif graph.n:
        loads = graph.loads if graph.loads is None or order is None else graph.loads[order]
        counts = shares_in_order(loads, graph.n, bounds.load.tolist())
    else:
        return np.empty(0, np.int32)
    in_turn = np.repeat(np.arange(len(counts), dtype=np.int32), counts)
    if order is None:
        return in_turn
    pe = np.empty(graph.n, np.int32)
    pe[order] = in_turn
    return pe


def room_for(graph: CommGraph, bounds: Bounds) -> Int64:
    """Return int64[k], the number of tasks per PE with sum n, for mappers that assign one task at a time.

    These are the exact counts if there are any. Under a bound on loads they are proportional to the maximum
    loads of the PEs, as if all tasks had the same load.
    """
    if bounds.exact and bounds.count is not None:
        return bounds.count
    return shares_in_order(None, graph.n, bounds.load.tolist())


def fill_along(graph: CommGraph, bounds: Bounds, pes: Int64, order: Int64) -> Int32:
    """Assign tasks in the given `order` to the PEs in the order of `pes` (int64[k], a permutation)."""
    pe = np.empty(graph.n, np.int32)
    pe[order] = np.repeat(pes, room_for(graph, bounds)[pes])
    return pe
