"""Loads of PEs and how unevenly they are filled: what every mapping is checked by."""

from __future__ import annotations

import numpy as np

from hopbytes._arrays import Int32, Int64
from hopbytes.model.allocation import Allocation
from hopbytes.model.comm_graph import CommGraph


def load_per_pe(graph: CommGraph, k: int, pe: Int32) -> Int64:
    """int64[k]: sum of task loads on each PE, exact (no floating point in between)."""
    if graph.loads is None:
        return np.bincount(pe, minlength=k).astype(np.int64)
    loads = np.zeros(k, np.int64)
    np.add.at(loads, pe, graph.loads)
    return loads


def imbalance_of(graph: CommGraph, where: Allocation, pe: Int32) -> float:
    """Return the imbalance of `pe` (int32[n]), 0.03 for 3 %: see :func:`relative_excess`; O(n + k)."""
    return relative_excess(load_per_pe(graph, where.k, pe), graph.total_load, where.capacity)


def relative_excess(loads: Int64, total: int, capacity: Int64 | None) -> float:
    """Return by how much the fullest PE exceeds its share of the total load; 0.03 for 3 % more.

    `loads` and `capacity` are int64[k]; capacities are relative, None: all alike. Its share is
    ``total * capacity / sum of capacities``. O(k).
    """
    if capacity is None:
        fullest, own, whole = int(np.argmax(loads)), 1, len(loads)
    else:
        relative = np.divide(loads, capacity, out=np.zeros(len(loads)), where=capacity > 0)
        fullest = int(np.argmax(relative))
        own, whole = int(capacity[fullest]), int(capacity.sum())
    # In integers up to the one division: 103 of 100 is 0.03, while 1.03 - 1 would lie above it.
    return ratio(int(loads[fullest]) * whole - total * own, total * own)


def ratio(part: int, whole: int) -> float:
    """Return part / whole; 0 of nothing."""
    return part / whole if whole else 0.0
