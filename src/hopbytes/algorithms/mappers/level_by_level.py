"""Top-down construction: perfectly balanced partitions, from the outermost level of the machine inwards."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from hopbytes._arrays import Int32, Int64
from hopbytes._frozen import frozen
from hopbytes.algorithms.base import Bounds, Effort, Mapper, mappers
from hopbytes.algorithms.mappers.multisection import Multisection
from hopbytes.algorithms.shared.quotient_graph import quotient_csr
from hopbytes.algorithms.shared.sequential_assignment import fill_in_order, room_for
from hopbytes.engine.partition import partition_many
from hopbytes.engine.problem import PartitionSettings, SearchProblem, VertexGroups
from hopbytes.kernels.records import Csr
from hopbytes.machines.base import Level
from hopbytes.machines.tree import Tree
from hopbytes.model.allocation import Allocation
from hopbytes.model.capacities import group_sums
from hopbytes.model.comm_graph import CommGraph


@mappers.register("top_down")
@frozen
class TopDown(Mapper):
    """Partition the tasks once per level of the machine, outermost first, into perfectly balanced blocks.

    This is the algorithm Top-Down of Schulz and Träff (2017), provided for comparisons: the mapper
    ``multisection`` with one run per cut. O(levels x (n + m)) for meshes.
    """

    initial_partitions: int = 4  #: number of initial partitions of the coarsest graph per cut

    def map(self, graph: CommGraph, where: Allocation, bounds: Bounds, effort: Effort) -> Int32:
        return Multisection(initial_partitions=self.initial_partitions).map(graph, where, bounds, effort)


@mappers.register("bottom_up")
@frozen
class BottomUp(Mapper):
    """Partition the tasks into groups of the size of innermost units, then these into larger groups.

    The algorithm is that of Schulz and Träff (2017). Each level is one partition of the whole graph into very
    many blocks, so this is the slowest of their constructions. If units differ in size, groups may not fit
    them exactly; tasks then fill the PEs in the order of the groups.
    """

    initial_partitions: int = 4  #: number of initial partitions of the coarsest graph per level

    def map(self, graph: CommGraph, where: Allocation, bounds: Bounds, effort: Effort) -> Int32:
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


@mappers.register("dual_recursive_bipartitioning")
@frozen
class DualRecursiveBipartitioning(Mapper):
    """Bisect the machine, and the tasks accordingly, recursively until single PEs are left.

    The method is that of Pellegrini (1994) and of Hoefler and Snir (2011). A unit of the machine with many
    children is divided in the middle of their order. A bisection considers only the tasks of its part, not
    the PEs of neighbours in other parts. O(log k x (n + m)) for meshes.
    """

    initial_partitions: int = 4  #: number of initial partitions of the coarsest graph per bisection

    def map(self, graph: CommGraph, where: Allocation, bounds: Bounds, effort: Effort) -> Int32:
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


def halved(groupings: list[Int32]) -> Allocation:
    """Return a binary tree whose leaves are the PEs in the order of the last grouping."""
    starts = np.zeros(1, np.int64)
    ends = np.array([len(groupings[-1])], np.int64)
    counts: list[int | tuple[int, ...]] = []
    while int((ends - starts).max()) > 1:
        middles = _middles(groupings, starts, ends)
        cut = middles > starts
        counts.append(2 if bool(cut.all()) else tuple((1 + cut).tolist()))
        starts = np.sort(np.concatenate([starts, middles[cut]]))
        ends = np.append(starts[1:], len(groupings[-1]))
    depth = len(counts)
    levels = tuple(Level(f"cut{depth - i}", depth - i) for i in range(depth))
    return Allocation.whole(Tree(levels, tuple(counts)) if depth else Tree((Level("cut", 1),), (1,)))


def _middles(groupings: list[Int32], starts: Int64, ends: Int64) -> Int64:
    """Return where each range of PEs is divided; for a single PE this is its start."""
    middles: Int64 = starts.copy()
    undecided = ends - starts > 1
    for grouping in groupings:
        first, last = grouping[starts], grouping[ends - 1]
        splits = undecided & (first != last)
        half = first[splits] + (last[splits] - first[splits] + 1) // 2
        middles[splits] = np.searchsorted(grouping, half)
        undecided &= ~splits
    return middles
