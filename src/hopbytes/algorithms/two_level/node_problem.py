"""Conversion between mappings of tasks to PEs and mappings of groups to nodes."""

from __future__ import annotations

import numpy as np

from hopbytes._arrays import Int32, Int64
from hopbytes._frozen import frozen
from hopbytes.algorithms.two_level.level import Nodes, nodes_of, partition_to_nodes, quotient
from hopbytes.algorithms.two_level.within_node import place_inside
from hopbytes.engine import PartitionSettings, RunControl
from hopbytes.model.allocation import Allocation
from hopbytes.model.capacities import group_sums
from hopbytes.model.comm_graph import CommGraph


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


@frozen(eq=False)
class Capacity:
    """Capacity of the PEs: `per_pe` int64[k] in tasks (`loads` is None) or in units of `loads` int64[n]."""

    per_pe: Int64
    loads: Int64 | None


def cut_into_groups(
    graph: CommGraph, where: Allocation, share: Capacity, settings: PartitionSettings, control: RunControl
) -> Grouped:
    """Partition the tasks into one group per node, within the capacity of the node."""
    nodes = nodes_of(where)
    capacities = nodes.capacities(share.per_pe)
    group = partition_to_nodes(graph, capacities, share.loads, settings, control)
    return _grouped(graph, nodes, group, capacities, share.loads, np.arange(nodes.count, dtype=np.int32))


def groups_of_placement(graph: CommGraph, where: Allocation, pe: Int32, share: Capacity) -> Grouped:
    """Return the tasks of each node of a mapping as a group; empty nodes have no group."""
    nodes = nodes_of(where)
    used, group = np.unique(nodes.of_pe[pe], return_inverse=True)
    return _grouped(
        graph, nodes, group.astype(np.int32), nodes.capacities(share.per_pe), share.loads,
        used.astype(np.int32),
    )


def _grouped(
    graph: CommGraph, nodes: Nodes, group: Int32, capacities: Int64, loads: Int64 | None, start: Int32
) -> Grouped:
    sizes = group_sums(group, loads, len(start))
    return Grouped(nodes, group, quotient(graph, group, len(start)), sizes, capacities, start)


def move_groups(
    graph: CommGraph, grouped: Grouped, pe: Int32, place: Int32, share: Capacity, settings: PartitionSettings,
    control: RunControl,
) -> Int32:
    """Return the mapping after every group has moved from its place to ``place[group]``.

    If both nodes have the same structure, tasks keep the position of their PE in the node; otherwise the
    tasks of the group are mapped to the PEs of the new node from scratch.
    """
    nodes = grouped.nodes
    old, new = grouped.start[grouped.group], place[grouped.group]
    kinds = _kinds(nodes, share.per_pe)
    within = np.empty(nodes.where.k, np.int64)
    within[nodes.pes] = np.arange(nodes.where.k) - np.repeat(nodes.start[:-1], np.diff(nodes.start))
    alike = kinds[old] == kinds[new]
    moved: Int32 = pe.copy()
    moved[alike] = nodes.pes[nodes.start[new[alike]] + within[pe[alike]]]
    if not alike.all():
        anew = place_inside(
            graph, nodes, new.astype(np.int32), share.per_pe, share.loads, settings, control
        )
        moved[~alike] = anew[~alike]
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
