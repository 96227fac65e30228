"""Placements nobody had to think about, to compare with: in order, and at random."""

from __future__ import annotations

import numpy as np

from hopbytes.graph import CommGraph
from hopbytes.machines.base import Int32, Int64
from hopbytes.mapping import Mapping


def in_order(graph: CommGraph, mapping: Mapping) -> Int32:
    """int32[n]: tasks 0, 1, 2 ... fill the PEs one after the other, as a launcher does by default.

    Every PE gets as many tasks as in `mapping`. Only in the partition problem with loads, where equal
    counts would be no fair split, the PEs get contiguous blocks of about equal load instead: a task
    goes to the PE in whose share of the total the middle of its own load falls. O(n log k).
    """
    k = mapping.where.k
    if graph.loads is None or graph.total_load == 0 or not _is_partition(mapping):
        return np.repeat(np.arange(k, dtype=np.int32), mapping.tasks_per_pe())
    ends = _shares(graph.total_load, k)
    middle = np.cumsum(graph.loads) - graph.loads + graph.loads // 2
    return np.minimum(np.searchsorted(ends, middle, side="right"), k - 1).astype(np.int32)


def at_random(mapping: Mapping, seed: int) -> Int32:
    """int32[n]: the PEs of `mapping` dealt to the tasks at random, so counts per PE stay. O(n)."""
    return mapping.pe[np.random.default_rng(seed).permutation(mapping.n)]


def _is_partition(mapping: Mapping) -> bool:
    """Tell whether tasks are work to be shared out, not one process per slot."""
    problem = mapping.info.get("problem")
    return problem == "partition" if problem else mapping.n > mapping.where.k


def _shares(total: int, k: int) -> Int64:
    """int64[k]: end of each PE's share of `total`, floor(total * (p + 1) / k) without overflow."""
    pe = np.arange(1, k + 1, dtype=np.int64)
    return total // k * pe + total % k * pe // k
