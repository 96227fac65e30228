"""A symmetric graph under change: rows of arcs that are set in time proportional to what changes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hopbytes._arrays import Array, Int32, Int64
from hopbytes.kernels.base import kernel
from hopbytes.kernels.records import Csr

#: Entries of `pool` before the heads of the chains of free space, and all of its entries.
_FREE, _POOL = 2, 40
_LEAST = 4


@dataclass(slots=True, eq=False)
class ArcRows:
    """The rows of a symmetric graph, in arrays that kernels change and that grow by doubling.

    >>> rows = ArcRows.of(Csr(np.array([0, 1, 2]), np.array([1, 0], np.int32), np.array([7, 7])))
    >>> rows.set_pairs(np.array([0], np.int32), np.array([1], np.int32), np.array([9])).tolist()
    [7]
    >>> [column.tolist() for column in rows.arcs_of(np.array([1]))]
    [[1], [0], [9]]
    """

    start: Int64  # int64[rows]: First arc of each row
    count: Int32  # int32[rows]: Number of arcs of each row, and of those that fit without moving it
    room: Int32  # int32[rows]
    #: int32[...]: Of each arc: the other task, the position of the opposite arc in its row, and the weight
    target: Int32
    mate: Int32  # int32[...]
    weight: Int64  # int64[...]
    pool: Int64  # int64[40]: Used entries, scanned arcs, and the first free space of every size

    @classmethod
    def of(cls, csr: Csr) -> ArcRows:
        """Return the rows of a graph. O(n + m)."""
        counts = np.diff(csr.indptr)
        doublings = np.ceil(np.log2(np.maximum(counts, 1) / _LEAST)).clip(0).astype(np.int64)
        room = np.where(counts > 0, _LEAST << doublings, 0)
        start = np.concatenate([[0], np.cumsum(room)])[:-1].astype(np.int64)
        used = int(room.sum())
        target, mate = np.zeros(used + _LEAST, np.int32), np.zeros(used + _LEAST, np.int32)
        weight = np.zeros(used + _LEAST, np.int64)
        place = np.arange(len(csr.targets)) + np.repeat(start - csr.indptr[:-1], counts)
        # In the order of (target, row), each arc is opposite to the one at its position in stored order.
        opposite = np.argsort(csr.targets, kind="stable")
        target[place] = csr.targets
        weight[place] = 1 if csr.weights is None else csr.weights
        mate[place] = opposite - csr.indptr[csr.targets]
        pool = np.full(_POOL, -1, np.int64)
        pool[:_FREE] = used, 0
        return cls(start, counts.astype(np.int32), room.astype(np.int32), target, mate, weight, pool)

    @property
    def scanned(self) -> int:
        """Number of arcs that all changes so far have scanned or moved."""
        return int(self.pool[1])

    def arrays(self) -> tuple[Int64, Int32, Int32, Int32, Int32, Int64, Int64]:
        """Return the arguments of kernels."""
        return self.start, self.count, self.room, self.target, self.mate, self.weight, self.pool

    def grow(self, rows: int) -> None:
        """Have space for that many rows; O(1) per row on average."""
        self.start, self.count = grown(self.start, rows), grown(self.count, rows)
        self.room = grown(self.room, rows)

    def set_pairs(self, u: Int32, v: Int32, weights: Int64) -> Int64:
        """Set the weights of pairs, one after the other, 0 for none; return the weights before."""
        old, done = np.zeros(len(u), np.int64), 0
        while True:
            done = int(kernel.changing_pairs(self.arrays(), u, v, weights, old, done))
            if done == len(u):
                return old
            # At most both rows of the pair move, each to twice its space.
            wanted = int(self.pool[0]) + 4 * int(self.room[u[done]] + self.room[v[done]]) + 4 * _LEAST
            self.target, self.mate = grown(self.target, wanted), grown(self.mate, wanted)
            self.weight = grown(self.weight, wanted)

    def arcs_of(self, tasks: Int64) -> tuple[Int32, Int32, Int64]:
        """Return (task, other task, weight) of the arcs of some tasks. O(tasks + arcs)."""
        counts = self.count[tasks].astype(np.int64)
        first = np.cumsum(counts) - counts
        place = np.arange(int(counts.sum())) + np.repeat(self.start[tasks] - first, counts)
        return np.repeat(tasks, counts).astype(np.int32), self.target[place], self.weight[place]

    def csr(self, tasks: Int64) -> Csr:
        """Return the graph among some tasks (ascending), which hold all arcs of theirs. O(rows + arcs)."""
        number = np.full(len(self.start), -1, np.int32)
        number[tasks] = np.arange(len(tasks), dtype=np.int32)
        u, v, w = self.arcs_of(tasks)
        order = np.lexsort((v, u))
        indptr = np.concatenate([[0], np.cumsum(self.count[tasks])]).astype(np.int64)
        return Csr(indptr, number[v[order]], w[order])


def grown(array: Array, size: int, fill: int = 0) -> Array:
    """Return an array with at least `size` entries, and twice as many as before if it has to grow."""
    if size <= len(array):
        return array
    larger = np.full(max(size, 2 * len(array)), fill, array.dtype)
    larger[: len(array)] = array
    return larger
