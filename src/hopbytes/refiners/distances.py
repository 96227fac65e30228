"""Distances of an allocation as the arguments compiled refinement takes."""

from __future__ import annotations

from typing import TypedDict

import numpy as np
from numpy.typing import NDArray

from hopbytes.allocation import Allocation
from hopbytes.machines.base import TableDistance


class KernelDistances(TypedDict, total=False):
    """Either labels and bit costs, or a table."""

    labels: NDArray[np.uint64]
    bit_costs: NDArray[np.int64]
    table: NDArray[np.int64]


def kernel_distances(where: Allocation) -> KernelDistances:
    """Lower distances for refinement.

    Asymmetric tables become ``D + D transposed``: on a symmetric graph that orders placements as the
    sum over both directions does.
    """
    distance = where.distance
    if isinstance(distance, TableDistance):
        table = distance.table
        if not np.array_equal(table, table.T):
            table = table + table.T
        return {"table": np.ascontiguousarray(table).reshape(-1)}
    return {"labels": distance.labels, "bit_costs": distance.bit_costs}
