"""What partitions of meshes are judged by: copies of vertices at other PEs, and neighbours of PEs."""

from __future__ import annotations

import numpy as np

from hopbytes._arrays import Int32, Int64
from hopbytes._frozen import frozen
from hopbytes.model.comm_graph import CommGraph

#: Arcs that are looked at together; memory is a multiple of it.
ARCS_PER_PIECE = 1 << 22


@frozen
class BlockMetrics:
    """PEs with several tasks as blocks of a partition."""

    #: the sum over tasks of the number of other PEs that hold a task to which it sends: the values that one
    #: exchange of a mesh sends, the ghost cells. METIS calls it the total communication volume (totalv).
    comm_volume: int
    max_neighbours: int  # largest number of PEs with which a PE exchanges something
    mean_neighbours: float  # mean over the PEs that hold a task


def measure_blocks(graph: CommGraph, k: int, pe: Int32) -> BlockMetrics:
    """Return the metrics of the mapping `pe` (int32[n], values 0..k-1). O(n + m + c log c), c arcs cut."""
    volume, first = 0, 0
    pairs = np.empty(0, np.int64)
    while first < graph.n:
        limit = int(graph.indptr[first]) + ARCS_PER_PIECE
        last = max(first + 1, int(np.searchsorted(graph.indptr, limit, "right")) - 1)
        degrees = np.diff(graph.indptr[first : last + 1])
        sources = np.repeat(np.arange(first, last), degrees)
        ends: Int64 = pe[graph.targets[graph.indptr[first] : graph.indptr[last]]].astype(np.int64)
        cut = pe[sources] != ends
        sources, ends = sources[cut], ends[cut]
        volume += len(np.unique((sources - first) * k + ends))
        own = pe[sources].astype(np.int64)
        pairs = np.unique(np.concatenate([pairs, own * k + ends, ends * k + own]))
        first = last
    neighbours = np.bincount(pairs // k, minlength=k) if k else pairs
    used = len(np.unique(pe))
    return BlockMetrics(volume, int(neighbours.max(initial=0)), len(pairs) / used if used else 0.0)
