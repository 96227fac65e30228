"""Dual recursive bipartitioning: bisect the PEs, bisect the tasks accordingly, continue in both halves."""

from __future__ import annotations

import numpy as np

from hopbytes._arrays import Int32, Int64
from hopbytes._frozen import frozen
from hopbytes.algorithms.base import Bounds, Effort, Mapper, mappers
from hopbytes.algorithms.mappers.multisection import Multisection
from hopbytes.algorithms.shared.bisection_tree import halved
from hopbytes.model.allocation import Allocation
from hopbytes.model.comm_graph import CommGraph


@mappers.register("dual_recursive_bipartitioning")
@frozen
class DualRecursiveBipartitioning(Mapper):
    """Bisect the machine, and the tasks accordingly, recursively until single PEs are left.

    Parameters
    ----------
    initial_partitions : int
        Number of initial partitions of the coarsest graph per bisection.

    Notes
    -----
    The method is that of Pellegrini (1994) and of Hoefler and Snir (2011). A unit of the machine with many
    children is divided in the middle of their order. A bisection considers only the tasks of its part, not
    the PEs of neighbours in other parts. O(log k x (n + m)) for meshes.
    """

    initial_partitions: int = 4

    def map(self, graph: CommGraph, where: Allocation, bounds: Bounds, effort: Effort) -> Int32:
        """Return int32[n], the PE of every task."""
        groupings = where.groups()
        order = np.argsort(groupings[-1])
        tree = halved([grouping[order] for grouping in groupings])
        leaf = bisected(tree, order, graph, bounds, effort, self.initial_partitions)
        return order.astype(np.int32)[leaf]


def bisected(
    tree: Allocation, order: Int64, graph: CommGraph, bounds: Bounds, effort: Effort, initial_partitions: int
) -> Int32:
    """Divide the tasks along a bisection tree whose leaf i is PE ``order[i]``; return their leaves."""
    count = None if bounds.count is None else bounds.count[order]
    inside = Bounds(bounds.load[order], count, bounds.exact)
    return Multisection(initial_partitions=initial_partitions).map(graph, tree, inside, effort)
