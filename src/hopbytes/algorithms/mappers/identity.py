"""Baseline: tasks in the order of their numbers."""

from __future__ import annotations

from hopbytes._arrays import Int32
from hopbytes._frozen import frozen
from hopbytes.algorithms.base import Bounds, Effort, Mapper, mappers
from hopbytes.algorithms.shared.sequential_assignment import fill_in_order
from hopbytes.model.allocation import Allocation
from hopbytes.model.comm_graph import CommGraph


@mappers.register("identity")
@frozen
class Identity(Mapper):
    """Assign tasks in their own order; each PE gets its count of tasks or its share of the load.

    Most launchers do this by default (block by node, then core). O(n).
    """

    def map(self, graph: CommGraph, where: Allocation, bounds: Bounds, effort: Effort) -> Int32:
        """Return contiguous blocks of tasks."""
        return fill_in_order(graph, bounds)
