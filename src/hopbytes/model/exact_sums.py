"""Exact sums of integers, such as the loads of PEs."""

from __future__ import annotations

import numpy as np

from hopbytes import kernels
from hopbytes._arrays import Int32, Int64


def group_sums(group: Int32, values: Int64 | None, count: int, threads: int = 1) -> Int64:
    """Return the exact sum of values per group.

    >>> group_sums(np.array([0, 2, 0], np.int32), np.array([2**60, 5, 1]), 3).tolist()
    [1152921504606846977, 0, 5]
    """
    group = np.ascontiguousarray(group, np.int32)
    if len(group) and not 0 <= int(group.min()) <= int(group.max()) < count:
        raise IndexError(f"groups {group.min()} to {group.max()}, expected 0 to {count - 1}")
    return kernels.group_sums(group, None if values is None else np.ascontiguousarray(values), count, threads)


def sum_of(values: Int64) -> int:
    """Return the exact sum of int64 values, which may exceed 63 bits; O(n), without a Python loop."""
    return (int((values >> 32).sum()) << 32) + int((values & 0xFFFFFFFF).sum())
