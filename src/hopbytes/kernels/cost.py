"""The communication cost of a mapping."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hopbytes.kernels.base import Int32, Int64, UInt64, implementation, optional

_kernel = implementation("cost")


def comm_cost_by_level(
    indptr: Int64,
    targets: Int32,
    volumes: Int64 | None,
    pe: Int32,
    labels: UInt64,
    level_of_bit: NDArray[np.uint8],
    levels: int,
) -> Int64:
    """Return int64[levels+1], the volume by the outermost level at which the PEs differ (0: same PE).

    Arcs of a task to itself are ignored. `labels` and `level_of_bit` are described at
    :class:`hopbytes.machines.place_distances.TreeDistance`.
    """
    out = np.zeros(levels + 1, np.int64)
    _kernel.volume_by_level(indptr, targets, optional(volumes), pe, labels, level_of_bit, out)
    return out


def comm_cost_table(
    indptr: Int64, targets: Int32, volumes: Int64 | None, pe: Int32, table: Int64
) -> int:
    """Return J = sum over arcs of volume x distance, where distances are a dense k x k table (row-major).

    Arcs of a task to itself count the diagonal entry of its PE, which is 0 in most tables.
    """
    return int(_kernel.comm_cost_table(indptr, targets, optional(volumes), pe, table))


def comm_cost_network(
    indptr: Int64, targets: Int32, volumes: Int64 | None, pe: Int32, labels: UInt64, packed: Int64
) -> int:
    """Return J on the nodes of a network.

    The arrays are described at :class:`hopbytes.machines.network.node_distances.LoweredNetwork`.
    """
    return int(_kernel.comm_cost_network(indptr, targets, optional(volumes), pe, labels, packed))
