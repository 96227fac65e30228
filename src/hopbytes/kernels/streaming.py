"""Mapping of a graph that arrives in blocks of vertices: the arrays of all blocks, the calls per block."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hopbytes._arrays import Float64, Int32, Int64, UInt64
from hopbytes.kernels.base import kernel
from hopbytes.kernels.records import Counter, Csr


class Block(NamedTuple):
    """The rows of consecutive vertices of a graph."""

    first: int  # the first vertex
    indptr: Int64  # int64[rows+1]: Row pointers, from 0
    targets: Int32  # int32[arcs]: Neighbours, which are vertices of the whole graph
    weights: Int64 | None = None  # int64[arcs] or None: None means 1 each
    loads: Int64 | None = None  # int64[rows] or None: None means 1 each

    @property
    def rows(self) -> int:
        return len(self.indptr) - 1

    @property
    def csr(self) -> Csr:
        return Csr(self.indptr, self.targets, self.weights)


class TreeOfPes(NamedTuple):
    """A tree over k PEs at one depth; nodes are numbered level by level from the root, which is 0."""

    #: int32[nodes+1]: The children of node x are ``first_child[x]`` to ``first_child[x+1] - 1``
    first_child: Int32
    path: Int32  # int32[depth*k]: The node at depth d + 1 that holds PE p is ``path[d*k + p]``
    pe_of_leaf: Int32  # int32[k]: PE of each leaf, from the first leaf on
    #: int64[2*nodes]: Largest load of each node, then the largest number of its vertices without load
    caps: Int64
    gains: Int64  # int64[depth]: Distance that two vertices save which are together from that depth on

    @property
    def k(self) -> int:
        return len(self.pe_of_leaf)

    @property
    def nodes(self) -> int:
        return len(self.first_child) - 1


class MappingState(NamedTuple):
    """What is known after some blocks; kernels change these arrays."""

    pe: Int32  # int32[n]: PE of every vertex, -1 before it came
    load: Int64  # int64[2*nodes]: Load of each node, then the number of its vertices without load
    tasks: Int64  # int64[k]: Number of vertices of each PE
    empty: Int64  # int64[nodes]: Number of PEs below each node that have no vertex
    counter: Int64  # int64[len(Counter)]

    @classmethod
    def start(cls, n: int, tree: TreeOfPes) -> MappingState:
        """Return the state before the first block; no PE may stay empty if there are enough vertices."""
        empty = np.zeros(tree.nodes, np.int64)
        empty[0] = tree.k
        empty += np.bincount(tree.path, minlength=tree.nodes)
        counter = np.zeros(len(Counter), np.int64)
        counter[Counter.REMAINING], counter[Counter.FILL_ALL] = n, n >= tree.k
        pe = np.full(n, -1, np.int32)
        return cls(pe, np.zeros(2 * tree.nodes, np.int64), np.zeros(tree.k, np.int64), empty, counter)


def check_block(block: Block, n: int, sums: UInt64) -> int:
    """Add the fingerprint of a block to `sums`, uint64[4]; return its first arc to no vertex, -1 if none."""
    return int(kernel.stream_check(block, n, sums))


def assign_block(block: Block, tree: TreeOfPes, state: MappingState, penalty: Float64) -> None:
    """Place every vertex of a block by its way down the tree; `penalty` is float64[2*nodes]."""
    kernel.stream_assign(block, tree, state, penalty)


def refine_block(block: Block, tree: TreeOfPes, state: MappingState) -> None:
    """Move vertices of a block to PEs of neighbours where that lowers J, or ends an overload."""
    kernel.stream_refine(block, tree, state)


class SketchArrays(NamedTuple):
    """Clusters of vertices and the weights between them, summed in a hash table; kernels change them."""

    #: int32[n]: Cluster of every vertex, a number from 0 to n-1; at first every vertex is one of its own
    cluster: Int32
    weight: Int64  # int64[n]: Load of every cluster
    #: uint64[size]: Pairs of clusters, the larger number in the upper 32 bits, and the weight between them;
    #: key 0 is a free entry. `size` is a power of two, of which three quarters are used.
    key: UInt64
    value: Int64  # int64[size]
    pairs: Int64  # int64[1]: Number of entries


def cluster_block(block: Block, sketch: SketchArrays, heaviest: int, row: int) -> int:
    """Add vertices of a block from `row` on to a sketch; return the row at which its table was full.

    That is ``block.rows`` if all fitted. Clusters of several vertices have at most load `heaviest`. The
    vertices choose clusters as in size-constrained label propagation (Meyerhenke, Sanders, Schulz, 2014).
    """
    return int(kernel.stream_cluster(block, sketch, heaviest, row))


def add_pairs(sketch: SketchArrays, a: Int32, b: Int32, weights: Int64) -> None:
    """Add weights between clusters `a` and `b` to the table, in which there must be room for them."""
    kernel.stream_pairs(sketch, a, b, weights)
