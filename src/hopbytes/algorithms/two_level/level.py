"""The nodes of an allocation, to which groups of tasks are mapped, and the graph between groups."""

from __future__ import annotations

from dataclasses import field
from typing import Any

import numpy as np

from hopbytes import kernels
from hopbytes._arrays import Int32, Int64
from hopbytes._frozen import frozen
from hopbytes.engine import PartitionSettings, RunControl, SearchProblem, VertexGroups, partition_many
from hopbytes.kernels import csr_from_arcs
from hopbytes.kernels.records import Distances
from hopbytes.model.allocation import Allocation
from hopbytes.model.comm_graph import CommGraph


@frozen(eq=False)
class Nodes:
    """The places 0..P-1: the nodes of an allocation in machine order, or its PEs if there is only one node.
    """

    where: Allocation
    of_pe: Int32  # int32[k]: Place of every PE
    start: Int64  # int64[P+1]: PEs of every place, ascending
    pes: Int64  # int64[k]
    _cache: dict[str, Any] = field(default_factory=dict, init=False, repr=False)

    @property
    def count(self) -> int:
        """Number of places."""
        return len(self.start) - 1

    @property
    def first(self) -> Int64:
        """The first PE of each place, int64[P], which represents it in distances."""
        return self.pes[self.start[:-1]]

    def capacities(self, per_pe: Int64) -> Int64:
        """Return int64[P], the sum of the capacities of the PEs of each place."""
        return np.add.reduceat(per_pe[self.pes], self.start[:-1])


def nodes_of(where: Allocation) -> Nodes:
    """Return the places of an allocation; O(k log k)."""
    if "nodes" not in where._cache:
        node = where.node_of_pe
        # Places are numbered in the order of their first PEs.
        _, seen, of_pe = np.unique(node, return_index=True, return_inverse=True)
        of_pe = np.argsort(np.argsort(seen))[of_pe]
        if int(of_pe.max()) == 0:
            of_pe = np.arange(where.k)
        counts = np.bincount(of_pe)
        start = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        pes = np.argsort(of_pe, kind="stable").astype(np.int64)
        where._cache["nodes"] = Nodes(where, of_pe.astype(np.int32), start, pes)
    nodes: Nodes = where._cache["nodes"]
    return nodes


def partition_to_nodes(
    graph: CommGraph, capacities: Int64, loads: Int64 | None, settings: PartitionSettings, control: RunControl
) -> Int32:
    """Partition the tasks into one group per place, within its capacity and with a small edge cut.

    If group sizes are exact, the partition into groups of consecutive tasks is a candidate, too, because many
    programs number their tasks with a partitioner that had more information than the pattern. Overfull groups
    are repaired by moves of the tasks with the least loss, in the order of loss (the single
    Fiduccia-Mattheyses pass of Deveci et al., 2015).
    """
    csr = graph.symmetric_positive()
    places = len(capacities)
    if places == 1 or graph.n == 0:
        return np.zeros(graph.n, np.int32)
    as_they_come = None
    if loads is None and int(capacities.sum()) == graph.n:
        as_they_come = np.repeat(np.arange(places, dtype=np.int32), capacities)
    parts, _ = partition_many(
        SearchProblem(csr, loads), VertexGroups.whole(graph.n, capacities, control.seed), settings,
        candidates=as_they_come, control=control,
    )
    return balance_fix(graph, parts, capacities, loads)


def balance_fix(graph: CommGraph, parts: Int32, capacities: Int64, loads: Int64 | None) -> Int32:
    """Move tasks out of overfull groups with the least increase of the edge cut; others only receive."""
    fixed: Int32 = np.ascontiguousarray(parts, np.int32).copy()
    places = len(capacities)
    equal = np.ones(65, np.int64)
    equal[0] = 0  # with equal distances between all places the cost is the edge cut
    kernels.repair(
        graph.symmetric_positive(), loads, fixed, capacities,
        Distances(np.arange(places, dtype=np.uint64), equal), np.zeros(1, np.int32),
    )
    return fixed


def quotient(graph: CommGraph, group: Int32, count: int) -> CommGraph:
    """Return the directed graph between groups: volumes and messages summed, no arcs within a group.

    O(n + m). If the graph has no numbers of messages, every arc counts as one message.
    """
    sources, targets = group[graph.sources()], group[graph.targets]
    apart = sources != targets
    volumes = None if graph.volumes is None else graph.volumes[apart]
    messages = np.ones(int(np.count_nonzero(apart)), np.int64)
    if graph.messages is not None:
        messages = graph.messages[apart]
    indptr, columns, volume, message = csr_from_arcs(
        count, sources[apart], targets[apart], volumes, messages
    )
    return CommGraph.of_own(indptr, columns, volume, message)
