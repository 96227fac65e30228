"""A sketch of a graph that arrives in blocks: clusters and the weights between them, in bounded memory."""

from __future__ import annotations

import numpy as np

from hopbytes import kernels
from hopbytes._arrays import Int32, Int64
from hopbytes.kernels.streaming import Block, SketchArrays, add_pairs, cluster_block
from hopbytes.model.comm_graph import CommGraph

#: A contraction should leave at most this share of the pairs. Fewer would mean larger clusters than needed.
SHARE_LEFT = 0.75
#: A sweep that leaves more than this share of the pairs ends the contraction with clusters of one size.
FRUITLESS = 0.95
SMALLEST_TABLE = 1 << 10


class Sketch:
    """Clusters of vertices, and the weights between clusters.

    Memory O(n + buffer): 12 bytes per vertex, and while it is contracted three tables and rows of pairs.
    """

    def __init__(self, n: int, loads: Int64 | None, buffer: int, heaviest: int, limit: int) -> None:
        self.heaviest, self.limit, self.contractions, self.dropped = heaviest, limit, 0, 0
        weight = np.ones(n, np.int64) if loads is None else loads.copy()
        self._arrays = _with_table(np.arange(n, dtype=np.int32), weight, buffer)
        self._most = len(self._arrays.key) // 4 * 3

    @property
    def pairs(self) -> int:
        """Number of pairs of clusters with an edge between them."""
        return int(self._arrays.pairs[0])

    def add(self, block: Block) -> None:
        """Add the vertices of a block, contracting the sketch whenever its table is full."""
        row = 0
        while (row := cluster_block(block, self._arrays, self.heaviest, row)) < block.rows:
            degree = int(block.indptr[row + 1] - block.indptr[row])
            if degree > self._most // 5:  # a hub needs a larger table, whatever the buffer is
                self._enlarge(8 * degree)
            else:
                self.contract()

    def contract(self) -> None:
        """Merge clusters until a quarter of the table is free; drop the lightest where that fails."""
        self.contractions += 1
        goal = int(SHARE_LEFT * self._most)
        while self.pairs > goal:
            before = self.pairs
            self._sweep()
            if self.pairs > FRUITLESS * before:
                if self.heaviest >= self.limit:
                    break
                self.heaviest = min(2 * self.heaviest, self.limit)
        if self.pairs > goal:
            self._drop_lightest(goal)

    def graph(self) -> tuple[CommGraph, Int32]:
        """Return the graph of the clusters, and int32[n], the cluster of every vertex."""
        arrays = self._arrays
        used = np.zeros(len(arrays.cluster), bool)
        used[arrays.cluster] = True
        names = np.flatnonzero(used)
        number = np.cumsum(used, dtype=np.int32) - np.int32(1)
        a, b, weights = self._listed()
        loads = arrays.weight[names]
        graph = CommGraph.from_edges(
            number[a], number[b], weights, n=len(names), undirected=True,
            loads=None if int(loads.min(initial=1)) == int(loads.max(initial=1)) == 1 else loads,
        )
        return graph, number[arrays.cluster]

    def release(self) -> None:
        """Forget the clusters and pairs; the counts stay."""
        self._arrays = _with_table(np.empty(0, np.int32), np.empty(0, np.int64), 0)

    def _listed(self) -> tuple[Int32, Int32, Int64]:
        """Return the pairs, in ascending order, and their weights."""
        key, value = self._arrays.key, self._arrays.value
        at = np.flatnonzero(key)
        at = at[np.argsort(key[at])]
        a = (key[at] >> np.uint64(32)).astype(np.int32)
        return a, (key[at] & np.uint64(0xFFFFFFFF)).astype(np.int32), value[at]

    def _sweep(self) -> None:
        """Let every cluster join the one with the heaviest connection, once."""
        a, b, weights = self._listed()
        names, numbers = np.unique(np.concatenate([a, b]), return_inverse=True)
        sources = numbers.astype(np.int32)
        targets = np.concatenate([sources[len(a) :], sources[: len(a)]])
        indptr, columns, volumes, _ = kernels.csr_from_arcs(
            len(names), sources, targets, np.concatenate([weights, weights]), None
        )
        loads = self._arrays.weight[names]
        # Twice the room: a row needs as much as it has arcs, even if all its pairs are in the table already.
        merged = _with_table(np.arange(len(names), dtype=np.int32), loads.copy(), 2 * self._most)
        cluster_block(Block(0, indptr, columns, volumes, loads), merged, self.heaviest, 0)
        self._rename(names, names[merged.cluster].astype(np.int32))
        new_a, new_b, new_weights = _pairs_of(merged)
        self._refill(names[new_a].astype(np.int32), names[new_b].astype(np.int32), new_weights)

    def _rename(self, names: Int64, into: Int32) -> None:
        """Replace clusters by those that they joined, and sum their loads."""
        cluster, weight = self._arrays.cluster, self._arrays.weight
        new = np.arange(len(cluster), dtype=np.int32)
        new[names] = into
        loads = weight[names]
        weight[names] = 0
        np.add.at(weight, into, loads)
        np.take(new, cluster, out=cluster)

    def _refill(self, a: Int32, b: Int32, weights: Int64) -> None:
        self._arrays.key[:] = 0
        self._arrays.pairs[0] = 0
        add_pairs(self._arrays, a, b, weights)

    def _drop_lightest(self, goal: int) -> None:
        a, b, weights = self._listed()
        kept = np.sort(np.argsort(-weights, kind="stable")[:goal])
        self.dropped += len(weights) - len(kept)
        self._refill(a[kept], b[kept], weights[kept])

    def _enlarge(self, buffer: int) -> None:
        a, b, weights = self._listed()
        self._arrays = _with_table(self._arrays.cluster, self._arrays.weight, buffer)
        self._most = len(self._arrays.key) // 4 * 3
        add_pairs(self._arrays, a, b, weights)


def _with_table(cluster: Int32, weight: Int64, buffer: int) -> SketchArrays:
    """Return a sketch with an empty table, of a power of two with room for the buffer."""
    size = SMALLEST_TABLE
    while size // 4 * 3 < buffer:
        size *= 2
    return SketchArrays(
        cluster, weight, np.zeros(size, np.uint64), np.zeros(size, np.int64), np.zeros(1, np.int64)
    )


def _pairs_of(arrays: SketchArrays) -> tuple[Int64, Int64, Int64]:
    at = np.flatnonzero(arrays.key)
    keys = arrays.key[at]
    a, b = keys >> np.uint64(32), keys & np.uint64(2**32 - 1)
    return a.astype(np.int64), b.astype(np.int64), arrays.value[at]
