"""Problems of compiled searches: a graph that is mapped, and groups of vertices that are partitioned."""

from __future__ import annotations

import numpy as np

from hopbytes._arrays import Int32, Int64, UInt64
from hopbytes._frozen import frozen
from hopbytes.kernels.linear_cost import LinearCost
from hopbytes.kernels.records import NO_DISTANCES, Csr, Distances


@frozen(eq=False)
class SearchProblem:
    """A graph whose vertices are mapped to PEs or blocks, and the costs of such a mapping.

    Parameters
    ----------
    csr : Csr
        Symmetric graph without diagonal and without zero weights.
    loads : int64[n] or None
        Load of every vertex; None means 1 each.
    distances : Distances
        Distances between PEs; partitions use none, because they minimise the weight between blocks.
    linear_cost : LinearCost or None
        Linear assignment costs in units of weight x distance (units of weight if there are no distances),
        where each edge counts once.
    """

    csr: Csr
    loads: Int64 | None = None
    distances: Distances = NO_DISTANCES
    linear_cost: LinearCost | None = None


@frozen(eq=False)
class VertexGroups:
    """Groups of vertices, each of which is partitioned into its own blocks.

    Parameters
    ----------
    group : int32[n]
        Group of each vertex, 0..g-1. Edges between groups are ignored.
    block_start : int64[g+1]
        The maximum block weights of group i are ``max_block_weights[block_start[i]:block_start[i+1]]``.
    max_block_weights : int64[...]
        Maximum block weights; respected whenever moves and swaps of single vertices can achieve it.
    seeds : uint64[g]
        Seed of the partition of each group.
    """

    group: Int32
    block_start: Int64
    max_block_weights: Int64
    seeds: UInt64

    @classmethod
    def whole(cls, n: int, max_block_weights: Int64, seed: int) -> VertexGroups:
        """Return all n vertices as one group.

        Examples
        --------
        >>> VertexGroups.whole(3, np.array([2, 1]), seed=7).block_start
        array([0, 2])
        """
        start = np.array([0, len(max_block_weights)], np.int64)
        return cls(np.zeros(n, np.int32), start, max_block_weights, np.array([seed % 2**64], np.uint64))
