"""Distances of an allocation as the arguments compiled refinement takes."""

from __future__ import annotations

from typing import TypedDict

import numpy as np
from numpy.typing import NDArray

from hopbytes.allocation import Allocation
from hopbytes.engine import MOST
from hopbytes.graph import CommGraph
from hopbytes.machines.base import TableDistance
from hopbytes.mappers.base import Int32
from hopbytes.objectives.comm_cost import CommCost


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
            halves = int(table.max()) > 2**61  # the sum of both directions would not fit
            table = (table >> 1) + (table.T >> 1) if halves else table + table.T
        return {"table": np.ascontiguousarray(table).reshape(-1)}
    return {"labels": distance.labels, "bit_costs": distance.bit_costs}


def cheaper(graph: CommGraph, where: Allocation, before: Int32, after: Int32) -> Int32:
    """Return `after` unless it costs more.

    Compiled searches compare exactly, except where volumes and distances are so large that they were
    rounded (:func:`hopbytes.engine.moderate`): only then the costs are computed here.
    """
    distance = where.distance
    furthest = int((distance.table if isinstance(distance, TableDistance) else distance.costs).max())
    if graph.total_volume * furthest * 4 <= MOST:  # both directions stored, both distances added
        return after
    cost = CommCost()
    return after if cost.value(graph, where, after) <= cost.value(graph, where, before) else before
