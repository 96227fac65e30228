"""Baseline: a random mapping with the given numbers of tasks per PE."""

from __future__ import annotations

from hopbytes._arrays import Int32
from hopbytes._frozen import frozen
from hopbytes.algorithms.base import Bounds, Effort, Mapper, mappers
from hopbytes.algorithms.shared.sequential_assignment import fill_in_order, random_order
from hopbytes.model.allocation import Allocation
from hopbytes.model.comm_graph import CommGraph


@mappers.register("random")
@frozen
class Random(Mapper):
    """Assign tasks in random order like `identity`: uniform among the mappings with the same counts.

    The order comes from a hash of seed and task number and not from the generator of a library, so it does
    not depend on library versions. O(n log n).
    """

    def map(self, graph: CommGraph, where: Allocation, bounds: Bounds, effort: Effort) -> Int32:
        """Return blocks of a shuffled task list."""
        return fill_in_order(graph, bounds, random_order(graph.n, effort.seed))
