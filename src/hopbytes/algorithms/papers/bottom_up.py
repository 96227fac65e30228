"""Bottom-up construction: groups of tasks for the innermost units, groups of groups for the next, …"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from hopbytes._arrays import Int32, Int64
from hopbytes.algorithms.base import Bounds, Effort, Mapper, mappers
from hopbytes.algorithms.shared.quotient_graph import quotient_csr
from hopbytes.algorithms.shared.sequential_assignment import fill_in_order, room_for
from hopbytes.engine import PartitionSettings, SearchProblem, VertexGroups, partition_many
from hopbytes.kernels.records import Csr
from hopbytes.model.allocation import Allocation
from hopbytes.model.capacities import group_sums
from hopbytes.model.comm_graph import CommGraph


@mappers.register("bottom_up")
@dataclass(frozen=True, slots=True)
class BottomUp(Mapper):
    """Cut the tasks into groups as large as innermost units, then the groups into larger ones, outwards.

    Parameters
    ----------
    initial_partitions : int
        Partitions of the coarse graph per level.

    Notes
    -----
    Schulz and Träff (2017). Each partition is one cut of everything into very many parts, which makes
    this the slowest of the constructions. Where units differ in size, groups may not fit them exactly;
    tasks then fill the PEs in the order of the groups.
    """

    initial_partitions: int = 4

    def map(self, graph: CommGraph, where: Allocation, bounds: Bounds, effort: Effort) -> Int32:
        """Return int32[n], the PE of every task."""
        if graph.n == 0 or where.k == 1:
            return np.zeros(graph.n, np.int32)
        room = room_for(graph, bounds)
        csr, size = graph.symmetric_positive(), np.ones(graph.n, np.int64)
        unit = np.arange(graph.n, dtype=np.int32)  # of each task, on the level reached
        keys = [unit]
        groupings = where.groups()
        order = np.argsort(groupings[-1])
        for grouping in reversed(groupings):
            caps = group_sums(grouping, room, int(grouping.max()) + 1)
            if len(caps) == len(size):  # one task per PE: single tasks are the groups
                continue
            group = self._cut(csr, size, caps, len(groupings) - len(keys), effort)
            csr = quotient_csr(csr, group, len(caps))
            size = group_sums(group, size, len(caps))
            unit = group[unit]
            keys.append(unit)
        inside = Bounds(bounds.load[order], room[order], exact=True)
        return order.astype(np.int32)[fill_in_order(graph, inside, np.lexsort(keys))]

    def _cut(self, csr: Csr, size: Int64, caps: Int64, depth: int, effort: Effort) -> Int32:
        """Cut the units of one level into groups that hold at most `caps` tasks each."""
        group, _ = partition_many(
            SearchProblem(csr, None if int(size.max()) == 1 else size),
            VertexGroups.whole(len(size), caps, effort.seed + depth),
            PartitionSettings(initial_partitions=self.initial_partitions),
            control=replace(effort.run_control(), spend=None),
        )
        return group
