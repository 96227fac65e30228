"""Loads and imbalance of PEs, by which every mapping is checked."""

from __future__ import annotations

import numpy as np

from hopbytes._arrays import Int32, Int64
from hopbytes.model.allocation import Allocation
from hopbytes.model.capacities import group_sums
from hopbytes.model.comm_graph import CommGraph


def imbalance_of(graph: CommGraph, where: Allocation, pe: Int32, threads: int = 1) -> float:
    """Return the imbalance of `pe` (int32[n]), 0.03 for 3 %: see :func:`relative_excess`; O(n + k)."""
    return relative_excess(group_sums(pe, graph.loads, where.k, threads), graph.total_load, where.capacity)


def relative_excess(loads: Int64, total: int, capacity: Int64 | None) -> float:
    """Return by how much the most loaded PE exceeds its share of the total load; 0.03 for 3 % more."""
    if capacity is None:
        fullest, own, whole = int(np.argmax(loads)), 1, len(loads)
    else:
        relative = np.divide(loads, capacity, out=np.zeros(len(loads)), where=capacity > 0)
        fullest = int(np.argmax(relative))
        own, whole = int(capacity[fullest]), int(capacity.sum())
    # A single division follows integer arithmetic: (103 - 100) / 100 is 0.03, whereas 1.03 - 1 rounds above.
    return ratio(int(loads[fullest]) * whole - total * own, total * own)


def ratio(part: int, whole: int) -> float:
    """Return part / whole, or 0 if `whole` is 0."""
    return part / whole if whole else 0.0
