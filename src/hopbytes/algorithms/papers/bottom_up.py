"""Bottom-up construction: it groups tasks for the innermost units, then groups these groups by level."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from hopbytes._arrays import Int32, Int64
from hopbytes._frozen import frozen
from hopbytes.algorithms.base import Bounds, Effort, Mapper, mappers
from hopbytes.algorithms.shared.quotient_graph import quotient_csr
from hopbytes.algorithms.shared.sequential_assignment import fill_in_order, room_for
from hopbytes.engine import PartitionSettings, SearchProblem, VertexGroups, partition_many
from hopbytes.kernels.records import Csr
from hopbytes.model.allocation import Allocation
from hopbytes.model.capacities import group_sums
from hopbytes.model.comm_graph import CommGraph


@mappers.register("bottom_up")
@frozen
class BottomUp(Mapper):
    """Partition the tasks into groups of the size of innermost units, then these into larger groups.

    Parameters
    ----------
    initial_partitions : int
        Number of initial partitions of the coarsest graph per level.

    Notes
    -----
    The algorithm is that of Schulz and Träff (2017). Each level is one partition of the whole graph into very
    many blocks, so this is the slowest of their constructions. If units differ in size, groups may not fit
    them exactly; tasks then fill the PEs in the order of the groups.
    """

    initial_partitions: int = 4

    def map(self, graph: CommGraph, where: Allocation, bounds: Bounds, effort: Effort) -> Int32:
        """Return int32[n], the PE of every task."""
        if graph.n == 0 or where.k == 1:
            return np.zeros(graph.n, np.int32)
        room = room_for(graph, bounds)
        csr, size = graph.symmetric_positive(), np.ones(graph.n, np.int64)
        unit = np.arange(graph.n, dtype=np.int32)  # the unit of each task on the current level
        keys = [unit]
        groupings = where.groups()
        order = np.argsort(groupings[-1])
        for grouping in reversed(groupings):
            caps = group_sums(grouping, room, int(grouping.max()) + 1)
            if len(caps) == len(size):  # with one task per PE the innermost groups are single tasks
                continue
            group = self._cut(csr, size, caps, len(groupings) - len(keys), effort)
            csr = quotient_csr(csr, group, len(caps))
            size = group_sums(group, size, len(caps))
            unit = group[unit]
            keys.append(unit)
        inside = Bounds(bounds.load[order], room[order], exact=True)
        return order.astype(np.int32)[fill_in_order(graph, inside, np.lexsort(keys))]

    def _cut(self, csr: Csr, size: Int64, caps: Int64, depth: int, effort: Effort) -> Int32:
        """Partition the groups of one level into larger groups of at most `caps` tasks each."""
        group, _ = partition_many(
            SearchProblem(csr, None if int(size.max()) == 1 else size),
            VertexGroups.whole(len(size), caps, effort.seed + depth),
            PartitionSettings(initial_partitions=self.initial_partitions),
            control=replace(effort.run_control(), spend=None),
        )
        return group
