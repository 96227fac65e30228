"""Müller-Merbach's construction: the task that talks most next, on the nearest free PE."""

from __future__ import annotations

from dataclasses import dataclass, replace

from hopbytes._arrays import Int32
from hopbytes.algorithms.base import Bounds, Effort, Mapper, mappers
from hopbytes.algorithms.shared.sequential_assignment import room_for
from hopbytes.engine import SearchProblem
from hopbytes.engine.slots import place_greedily
from hopbytes.machines.common.lowering import kernel_distances
from hopbytes.model.allocation import Allocation
from hopbytes.model.comm_graph import CommGraph


@mappers.register("mueller_merbach")
@dataclass(frozen=True, slots=True)
class MuellerMerbach(Mapper):
    """Place the task that talks most with those placed on the free PE nearest to all PEs in use.

    Notes
    -----
    Müller-Merbach (1970). The first task is the one with the largest volume, the first PE the most
    central one; choices of task and PE do not know of each other. Ties go to the smaller number. On a
    tree the nearest free PE is found from counts per subtree in O(levels) instead of from a sum for
    every PE, so a placement takes O((n + m) log n); on a table O(n x k).
    """

    def map(self, graph: CommGraph, where: Allocation, bounds: Bounds, effort: Effort) -> Int32:
        """Return int32[n], the PE of every task."""
        problem = SearchProblem(graph.symmetric_positive(), distances=kernel_distances(where))
        control = replace(effort.run_control(), spend=None)
        return place_greedily(problem, room_for(graph, bounds), linked=False, control=control)
