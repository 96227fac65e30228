"""The tree over the PEs of an allocation down which vertices go, with bounds and penalties."""

from __future__ import annotations

import numpy as np

from hopbytes._arrays import Float64, Int64
from hopbytes.algorithms.multisection.hierarchy_levels import cut_distances
from hopbytes.kernels.streaming import TreeOfPes
from hopbytes.model.allocation import Allocation

#: Derivative of load^1.5, the cost of load in the score of Fennel.
FENNEL_FACTOR = 1.5


def tree_of(where: Allocation, load_caps: Int64, zero_load_caps: Int64) -> TreeOfPes:
    """Return the tree of an allocation, in which every node may hold what its PEs may hold together.

    >>> import hopbytes as hb
    >>> tree = tree_of(hb.allocate("node:2@10 core:2@1"), np.full(4, 5), np.full(4, 9))
    >>> tree.first_child.tolist(), tree.path.tolist(), tree.caps[:3].tolist(), tree.gains.tolist()
    ([1, 3, 5, 7, 7, 7, 7, 7], [1, 1, 2, 2, 3, 4, 5, 6], [20, 10, 10], [9, 1])
    """
    groupings, k = where.groups(), where.k
    if not groupings:  # a single PE
        groupings = [np.zeros(k, np.int32)]
    cuts = [*cut_distances(where, groupings), 0]
    nodes_of = [np.zeros(k, np.int64)]
    first_child, begin, count = [], 0, 1
    for grouping in groupings:
        children = int(grouping.max()) + 1
        parent = np.empty(children, np.int64)
        parent[grouping] = nodes_of[-1] - begin
        # Children are numbered by parent; groupings promise that only within a parent.
        number = np.empty(children, np.int64)
        number[np.argsort(parent, kind="stable")] = np.arange(children)
        begin += count
        first_child.append(begin + np.searchsorted(np.sort(parent), np.arange(count)))
        nodes_of.append(begin + number[grouping])
        count = children
    nodes = begin + count
    first_child.append(np.full(count + 1, nodes))
    pe_of_leaf = np.empty(k, np.int32)
    pe_of_leaf[nodes_of[-1] - begin] = np.arange(k, dtype=np.int32)
    caps = np.zeros(2 * nodes, np.int64)
    for level in nodes_of:
        np.add.at(caps, level, load_caps)
        np.add.at(caps, nodes + level, zero_load_caps)
    return TreeOfPes(
        np.concatenate(first_child).astype(np.int32), np.concatenate(nodes_of[1:]).astype(np.int32),
        pe_of_leaf, caps, np.maximum(-np.diff(np.array(cuts, np.int64)), 0),
    )


def penalties(tree: TreeOfPes, total_load: int, total_weight: float) -> Float64:
    """Return float64[2*nodes]: what each node costs a vertex of load 1, per square root of its load.

    With ideal load I of a node and weight w of edges per load the cost is ``1.5 w sqrt(load / I)``, so that
    a full node costs one and a half times what a vertex can save there. Vertices without load pay nothing.

    Source: Tsourakakis, Gkantsidis, Radunovic, Vojnovic, "FENNEL", WSDM 2014, with gamma = 1.5.
    """
    found = np.zeros(2 * tree.nodes)
    ideal = tree.caps[: tree.nodes] * (max(total_load, 1) / max(int(tree.caps[0]), 1))
    found[: tree.nodes] = FENNEL_FACTOR * (total_weight / max(total_load, 1)) / np.sqrt(np.maximum(ideal, 1))
    return found


def node_sums(tree: TreeOfPes, of_pe: Int64) -> Int64:
    """Return int64[nodes], the sum over the PEs below each node."""
    sums = np.zeros(tree.nodes, np.int64)
    sums[0] = of_pe.sum()
    np.add.at(sums, tree.path, np.tile(of_pe, len(tree.gains)))
    return sums
