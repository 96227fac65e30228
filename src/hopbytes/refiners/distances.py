"""What refiners share: distances as compiled code takes them, and the choice of the cheaper placement."""

from __future__ import annotations

from hopbytes.allocation import Allocation
from hopbytes.engine import MOST
from hopbytes.graph import CommGraph
from hopbytes.machines.lowering import kernel_distances
from hopbytes.mappers.base import Int32
from hopbytes.objectives.comm_cost import CommCost

__all__ = ["cheaper", "kernel_distances"]


def cheaper(graph: CommGraph, where: Allocation, before: Int32, after: Int32) -> Int32:
    """Return `after` unless it costs more.

    Compiled searches compare exactly, except where volumes and distances are so large that they were
    rounded (:func:`hopbytes.engine.moderate`): only then the costs are computed here.
    """
    distance = where.distance
    if graph.total_volume * distance.largest * 4 <= MOST:  # both directions stored, both distances added
        return after
    cost = CommCost()
    return after if cost.value(graph, where, after) <= cost.value(graph, where, before) else before
