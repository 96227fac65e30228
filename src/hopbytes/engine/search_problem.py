"""Problems of compiled searches: a graph that is mapped, and groups of vertices that are partitioned."""

from __future__ import annotations

import numpy as np

from hopbytes._arrays import Int32, Int64, UInt64
from hopbytes._frozen import frozen
from hopbytes.kernels.linear_cost import LinearCost
from hopbytes.kernels.records import NO_DISTANCES, Csr, Distances


@frozen(eq=False)
class SearchProblem:
    """A graph whose vertices are mapped to PEs or blocks, and the costs of such a mapping."""

    csr: Csr  # symmetric graph without diagonal and without zero weights
    loads: Int64 | None = None  # int64[n] or None: Load of every vertex; None means 1 each
    #: distances between PEs; partitions use none, because they minimise the weight between blocks
    distances: Distances = NO_DISTANCES
    #: linear assignment costs in units of weight x distance (units of weight if there are no distances),
    #: where each edge counts once
    linear_cost: LinearCost | None = None


@frozen(eq=False)
class VertexGroups:
    """Groups of vertices, each of which is partitioned into its own blocks."""

    group: Int32  # int32[n]: Group of each vertex, 0..g-1. Edges between groups are ignored.
    #: int64[g+1]: The maximum block weights of group i are
    #: ``max_block_weights[block_start[i]:block_start[i+1]]``
    block_start: Int64
    #: int64[...]: Maximum block weights; respected whenever moves and swaps of single vertices can achieve it
    max_block_weights: Int64
    seeds: UInt64  # uint64[g]: Seed of the partition of each group

    @classmethod
    def whole(cls, n: int, max_block_weights: Int64, seed: int) -> VertexGroups:
        """Return all n vertices as one group.

        >>> VertexGroups.whole(3, np.array([2, 1]), seed=7).block_start
        array([0, 2])
        """
        start = np.array([0, len(max_block_weights)], np.int64)
        return cls(np.zeros(n, np.int32), start, max_block_weights, np.array([seed % 2**64], np.uint64))
