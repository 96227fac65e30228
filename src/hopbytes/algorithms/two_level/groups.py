"""The nodes of an allocation, to which groups of tasks are mapped, and the graph between groups."""

from __future__ import annotations

from dataclasses import field
from typing import Any

import numpy as np

from hopbytes import kernels
from hopbytes._arrays import Int32, Int64
from hopbytes._frozen import frozen
from hopbytes.algorithms.base import Bounds, Effort
from hopbytes.engine.control import RunControl
from hopbytes.engine.partition import partition_many
from hopbytes.engine.problem import PartitionSettings, SearchProblem, SearchSettings, VertexGroups
from hopbytes.kernels import csr_from_arcs
from hopbytes.kernels.records import Distances
from hopbytes.model.allocation import Allocation
from hopbytes.model.capacities import group_sums
from hopbytes.model.comm_graph import CommGraph
from hopbytes.util.random_numbers import derived_seeds


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
    """Partition the tasks into one group per place, within its capacity and with a small edge cut."""
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
    """Return the directed graph between groups: volumes and messages summed, no arcs within a group."""
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


def place_inside(graph: CommGraph, nodes: Nodes, place: Int32, bounds: Bounds, effort: Effort) -> Int32:
    """Return int32[n], the PE of every task on its given node."""
    where, settings, control = nodes.where, settings_of(1, 4), effort.run_control()
    per_pe, loads = room_of(graph, bounds)
    problem = SearchProblem(graph.symmetric_positive(), loads)
    unit = place.astype(np.int32)  # the current unit of each task, at first its node
    parents = nodes.of_pe  # the current unit of each PE
    for depth, grouping in enumerate(where.groups()):
        # The intersections of parents and groups; those of a parent have consecutive numbers.
        pairs = parents.astype(np.int64) * (int(grouping.max()) + 1) + grouping
        children: Int32 = np.unique(pairs, return_inverse=True)[1].astype(np.int32)
        if int(children.max()) == int(parents.max()):
            continue
        count = int(children.max()) + 1
        parent_of = np.empty(count, np.int64)
        parent_of[children] = parents
        start = np.concatenate([[0], np.cumsum(np.bincount(parent_of))]).astype(np.int64)
        caps = group_sums(children, per_pe, count)
        seeds = derived_seeds((control.seed % 2**64, depth), len(start) - 1)
        child, _ = partition_many(
            problem, VertexGroups(unit, start, caps, seeds), settings, control=control
        )
        unit, parents = (start[unit] + child).astype(np.int32), children
    pe_of = np.empty(where.k, np.int32)
    pe_of[parents] = np.arange(where.k, dtype=np.int32)
    pe: Int32 = pe_of[unit]
    return pe


@frozen(eq=False)
class Grouped:
    """Tasks in groups, with at most one group per node."""

    nodes: Nodes
    group: Int32  # int32[n]: Group of every task, 0..G-1.
    graph: CommGraph  # directed arcs between groups
    sizes: Int64  # int64[G]: Number of tasks (or load) of every group, and capacity of every place
    capacities: Int64  # int64[P]
    #: int32[G]: Initial place of every group; for groups made by a partition it is the number of the group
    start: Int32


def groups_of_mapping(graph: CommGraph, where: Allocation, pe: Int32, bounds: Bounds) -> Grouped:
    """Return the tasks of each node of a mapping as a group; empty nodes have no group."""
    nodes, (per_pe, loads) = nodes_of(where), room_of(graph, bounds)
    used, group = np.unique(nodes.of_pe[pe], return_inverse=True)
    capacities = nodes.capacities(per_pe)
    return _grouped(graph, nodes, group.astype(np.int32), capacities, loads, used.astype(np.int32))


def _grouped(
    graph: CommGraph, nodes: Nodes, group: Int32, capacities: Int64, loads: Int64 | None, start: Int32
) -> Grouped:
    sizes = group_sums(group, loads, len(start))
    return Grouped(nodes, group, quotient(graph, group, len(start)), sizes, capacities, start)


def move_groups(
    graph: CommGraph, grouped: Grouped, pe: Int32, place: Int32, bounds: Bounds, effort: Effort
) -> Int32:
    """Return the mapping after every group has moved from its place to ``place[group]``."""
    if np.array_equal(place, grouped.start):
        return pe
    nodes = grouped.nodes
    old, new = grouped.start[grouped.group], place[grouped.group]
    kinds = _kinds(nodes, room_of(graph, bounds)[0])
    within = np.empty(nodes.where.k, np.int64)
    within[nodes.pes] = np.arange(nodes.where.k) - np.repeat(nodes.start[:-1], np.diff(nodes.start))
    alike = kinds[old] == kinds[new]
    moved: Int32 = pe.copy()
    moved[alike] = nodes.pes[nodes.start[new[alike]] + within[pe[alike]]]
    if not alike.all():
        moved[~alike] = place_inside(graph, nodes, new.astype(np.int32), bounds, effort)[~alike]
    return moved


def _kinds(nodes: Nodes, per_pe: Int64) -> Int64:
    """Return int64[P], a number per node, equal for nodes with the same groups and capacities of PEs."""
    groupings = np.stack([*nodes.where.groups(), *([per_pe] if len(per_pe) else [])]).astype(np.int64)
    known: dict[bytes, int] = {}
    kinds = np.empty(nodes.count, np.int64)
    for place in range(nodes.count):
        own = groupings[:, nodes.pes[nodes.start[place] : nodes.start[place + 1]]]
        own[:-1] -= own[:-1, :1].copy()  # numbers of groups are consecutive across nodes
        kinds[place] = known.setdefault(own.tobytes(), len(known))
    return kinds


def room_of(graph: CommGraph, bounds: Bounds) -> tuple[Int64, Int64 | None]:
    """Return int64[k], what each PE may hold, and the loads int64[n] that count; None: tasks are counted."""
    if bounds.exact and bounds.count is not None:
        return bounds.count, None
    return bounds.load, graph.loads


def settings_of(repetitions: int, initial_partitions: int, region_growings: int = 4) -> PartitionSettings:
    """Return the settings of the partition into groups."""
    return PartitionSettings(
        repetitions=repetitions, initial_partitions=initial_partitions, region_growings=region_growings,
        recombinations=max(0, repetitions - 1),
        search=SearchSettings(flow_rounds=1),
    )


def record_work(effort: Effort, grouped: CommGraph, evaluations: int, **amounts: int) -> None:
    """Record evaluated exchanges; each counts as the average number of arcs of two tasks."""
    effort.count(swaps_evaluated=evaluations, **amounts)
    effort.spend(evaluations * max(1, 4 * grouped.m // max(1, grouped.n)), whole=not effort.out_of_time)


def cut(
    graph: CommGraph, where: Allocation, bounds: Bounds, effort: Effort, settings: PartitionSettings
) -> Grouped:
    """Partition the tasks into groups, one per node, within the capacity of the node."""
    nodes, (per_pe, loads) = nodes_of(where), room_of(graph, bounds)
    capacities = nodes.capacities(per_pe)
    group = partition_to_nodes(graph, capacities, loads, settings, effort.run_control())
    return _grouped(graph, nodes, group, capacities, loads, np.arange(nodes.count, dtype=np.int32))


def finish(graph: CommGraph, grouped: Grouped, place: Int32, bounds: Bounds, effort: Effort) -> Int32:
    """Map the tasks of every group to the PEs of its node."""
    return place_inside(graph, grouped.nodes, place[grouped.group].astype(np.int32), bounds, effort)
