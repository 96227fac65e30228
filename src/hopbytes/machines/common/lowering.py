"""Distances of an allocation as the arguments that compiled searches take."""

from __future__ import annotations

import numpy as np

from hopbytes.kernels.records import Distances
from hopbytes.machines.network.node_distances import NetworkDistance
from hopbytes.machines.place_distances import TableDistance
from hopbytes.model.allocation import Allocation


def kernel_distances(where: Allocation) -> Distances:
    """Lower distances for a search.

    Asymmetric tables become ``D + D transposed``: on a symmetric graph that orders placements as the
    sum over both directions does. The distance of a place to itself becomes 0: searches look at tasks in
    different places only.
    """
    distance = where.distance
    if isinstance(distance, TableDistance):
        table = distance.table
        if not np.array_equal(table, table.T):
            halves = int(table.max()) > 2**61  # the sum of both directions would not fit
            table = (table >> 1) + (table.T >> 1) if halves else table + table.T
        if np.diagonal(table).any():
            table = table.copy()
            np.fill_diagonal(table, 0)
        return Distances(table=np.ascontiguousarray(table).reshape(-1))
    if isinstance(distance, NetworkDistance):
        labels, packed = distance.lowered()
        return Distances(labels, table=packed)
    return Distances(distance.labels, distance.bit_costs)
