"""Top-down construction: perfectly balanced partitions, from the outermost level of the machine inwards."""

from __future__ import annotations

from hopbytes._arrays import Int32
from hopbytes._frozen import frozen
from hopbytes.algorithms.base import Bounds, Effort, Mapper, mappers
from hopbytes.algorithms.mappers.multisection import Multisection
from hopbytes.model.allocation import Allocation
from hopbytes.model.comm_graph import CommGraph


@mappers.register("top_down")
@frozen
class TopDown(Mapper):
    """Partition the tasks once per level of the machine, outermost first, into perfectly balanced blocks.

    Parameters
    ----------
    initial_partitions : int
        Number of initial partitions of the coarsest graph per cut.

    Notes
    -----
    This is the algorithm Top-Down of Schulz and Träff (2017), provided for comparisons: the mapper
    ``multisection`` with one run per cut. O(levels x (n + m)) for meshes.
    """

    initial_partitions: int = 4

    def map(self, graph: CommGraph, where: Allocation, bounds: Bounds, effort: Effort) -> Int32:
        """Return int32[n], the PE of every task."""
        return Multisection(initial_partitions=self.initial_partitions).map(graph, where, bounds, effort)
