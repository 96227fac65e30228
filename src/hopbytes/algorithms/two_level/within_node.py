"""From the node of every task to its PE: multisection of the tasks of each node along its inner levels."""

from __future__ import annotations

import numpy as np

from hopbytes._arrays import Int32, Int64
from hopbytes.algorithms.two_level.level import Nodes
from hopbytes.engine import PartitionSettings, RunControl, SearchProblem, VertexGroups, partition_many
from hopbytes.model.capacities import group_sums
from hopbytes.model.comm_graph import CommGraph
from hopbytes.util.random_numbers import derived_seeds


def place_inside(
    graph: CommGraph, nodes: Nodes, place: Int32, per_pe: Int64, loads: Int64 | None,
    settings: PartitionSettings, control: RunControl,
) -> Int32:
    """Return int32[n], the PE of every task on its given node.

    All nodes are partitioned together in one compiled call per level inside them. O(levels x (n + m)).
    """
    where = nodes.where
    problem = SearchProblem(graph.symmetric_positive(), loads)
    unit = place.astype(np.int32)  # the current unit of each task, at first its node
    parents = nodes.of_pe  # the current unit of each PE
    for depth, grouping in enumerate(where.groups()):
        children = _finer(parents, grouping)
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


def _finer(parents: Int32, grouping: Int32) -> Int32:
    """Return the intersections of parents and groups as units; units of a parent have consecutive numbers."""
    pairs = parents.astype(np.int64) * (int(grouping.max()) + 1) + grouping
    units: Int32 = np.unique(pairs, return_inverse=True)[1].astype(np.int32)
    return units
