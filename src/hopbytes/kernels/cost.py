"""The communication cost of a mapping, and sums over the tasks of each PE."""

from __future__ import annotations

import numpy as np

from hopbytes._arrays import Int32, Int64, UInt8, UInt64
from hopbytes.kernels.base import implementation, optional
from hopbytes.kernels.records import Csr

_kernel = implementation("cost")


def comm_cost_by_level(
    arcs: Csr,
    pe: Int32,
    labels: UInt64,
    level_of_bit: UInt8,
    levels: int,
    threads: int = 1,
) -> Int64:
    """Return int64[levels+1], the volume by the outermost level at which the PEs differ (0: same PE).

    Arcs of a task to itself are ignored. `labels` and `level_of_bit` are described at
    :class:`hopbytes.machines.distances.TreeDistance`.
    """
    out = np.zeros(levels + 1, np.int64)
    indptr, targets, weights = arcs
    _kernel.volume_by_level(indptr, targets, optional(weights), pe, labels, level_of_bit, threads, out)
    return out


def comm_cost_table(arcs: Csr, pe: Int32, table: Int64, threads: int = 1) -> int:
    """Return J = sum over arcs of volume x distance, where distances are a dense k x k table (row-major).

    Arcs of a task to itself count the diagonal entry of its PE, which is 0 in most tables.
    """
    indptr, targets, weights = arcs
    return int(_kernel.comm_cost_table(indptr, targets, optional(weights), pe, table, threads))


def comm_cost_network(arcs: Csr, pe: Int32, labels: UInt64, packed: Int64, threads: int = 1) -> int:
    """Return J on the nodes of a network.

    The arrays are described at :class:`hopbytes.machines.distances.LoweredNetwork`.
    """
    indptr, targets, weights = arcs
    return int(_kernel.comm_cost_network(indptr, targets, optional(weights), pe, labels, packed, threads))


def group_sums(group: Int32, values: Int64 | None, count: int, threads: int = 1) -> Int64:
    """Return int64[count], the exact sum of `values` (None: 1 each) per group of 0..count-1; O(n + count).

    Sums must fit 63 bits.
    """
    sums = np.zeros(count, np.int64)
    _kernel.group_sums(group, optional(values), threads, sums)
    return sums
