"""A graph under change, and its mapping that is brought up to date batch by batch (``core/changing``)."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import NamedTuple

import numpy as np

from hopbytes._arrays import Array, Int32, Int64, UInt8
from hopbytes.engine.problem import DistanceArrays, prepare
from hopbytes.kernels.base import compiled, kernel
from hopbytes.kernels.records import Csr, Distances

#: Entries of `pool` before the heads of the chains of free space, and all of its entries.
_FREE, _POOL = 2, 40
_LEAST = 4


@dataclass(slots=True, eq=False)
class ArcRows:
    """The rows of a symmetric graph, in arrays that kernels change and that grow by doubling."""

    start: Int64  # int64[rows]: First arc of each row
    count: Int32  # int32[rows]: Number of arcs of each row, and of those that fit without moving it
    space: Int32  # int32[rows]
    #: int32[...]: Of each arc: the other task, the position of the opposite arc in its row, and the weight
    target: Int32
    opposite: Int32  # int32[...]
    weight: Int64  # int64[...]
    pool: Int64  # int64[40]: Used entries, scanned arcs, and the first free space of every size

    @classmethod
    def of(cls, csr: Csr) -> ArcRows:
        counts = np.diff(csr.indptr)
        doublings = np.ceil(np.log2(np.maximum(counts, 1) / _LEAST)).clip(0).astype(np.int64)
        space = np.where(counts > 0, _LEAST << doublings, 0)
        start = np.concatenate([[0], np.cumsum(space)])[:-1].astype(np.int64)
        used = int(space.sum())
        target, opposite = np.zeros(used + _LEAST, np.int32), np.zeros(used + _LEAST, np.int32)
        weight = np.zeros(used + _LEAST, np.int64)
        place = np.arange(len(csr.targets)) + np.repeat(start - csr.indptr[:-1], counts)
        # In the order of (target, row), each arc is opposite to the one at its position in stored order.
        reverse = np.argsort(csr.targets, kind="stable")
        target[place] = csr.targets
        weight[place] = 1 if csr.weights is None else csr.weights
        opposite[place] = reverse - csr.indptr[csr.targets]
        pool = np.full(_POOL, -1, np.int64)
        pool[:_FREE] = used, 0
        return cls(start, counts.astype(np.int32), space.astype(np.int32), target, opposite, weight, pool)

    @property
    def scanned(self) -> int:
        """Number of arcs that all changes so far have scanned or moved."""
        return int(self.pool[1])

    def arrays(self) -> tuple[Int64, Int32, Int32, Int32, Int32, Int64, Int64]:
        return self.start, self.count, self.space, self.target, self.opposite, self.weight, self.pool

    def grow(self, rows: int) -> None:
        """Have space for that many rows; O(1) per row on average."""
        self.start, self.count = grown(self.start, rows), grown(self.count, rows)
        self.space = grown(self.space, rows)

    def set_pairs(self, u: Int32, v: Int32, weights: Int64) -> Int64:
        """Set the weights of pairs, one after the other, 0 for none; return the weights before."""
        old, done = np.zeros(len(u), np.int64), 0
        while True:
            done = int(kernel.changing_pairs(self.arrays(), u, v, weights, old, done))
            if done == len(u):
                return old
            # At most both rows of the pair move, each to twice its space.
            wanted = int(self.pool[0]) + 4 * int(self.space[u[done]] + self.space[v[done]]) + 4 * _LEAST
            self.target, self.opposite = grown(self.target, wanted), grown(self.opposite, wanted)
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


#: Entries of `counter` (core/changing/placement.hpp).
COST, SHIFT, STAMP, WORK, DISPLACED = range(5)
_NONE: Int32 = np.empty(0, np.int32)
_NONE64: Int64 = np.empty(0, np.int64)
_NO_ROOM = -(2**62)


class LocalSettings(NamedTuple):
    """Settings of the search around the tasks that a batch touches."""

    price: int = 0  # cost of a task that leaves the PE it had before the batch
    most_displaced: int = 2**62  # largest number of such tasks; moves without an alternative may exceed it
    fruitless: int = 40  # moves without a new best after which one search stops
    seeds: int = 6  # number of tasks from which one search starts
    rounds: int = 6  # how many times tasks near moved ones are searched again
    work: int = 0  # scanned edges after which no search begins
    keep_one: bool = True  # no PE gives away its last task


class Changes(NamedTuple):
    """What a batch changed, in the numbers of the state; pairs of arcs were set in the rows before."""

    u: Int32 = _NONE  # int32[b]: Pairs in the order in which they were set, with the weights before and after
    v: Int32 = _NONE  # int32[b]
    old: Int64 = _NONE64  # int64[b]
    now: Int64 = _NONE64  # int64[b]
    #: int32[...]: Tasks that left, tasks with a new load, these loads, and tasks that came (which are in
    #: `loaded` too)
    vanished: Int32 = _NONE
    loaded: Int32 = _NONE  # int32[...]
    load: Int64 = _NONE64  # int64[...]
    arrived: Int32 = _NONE  # int32[...]
    lost: Int32 = _NONE  # int32[...]: PEs that may be used no more, and again
    restored: Int32 = _NONE  # int32[...]
    sent: Int32 = _NONE  # int32[...]: Tasks that move to given PEs
    sent_to: Int32 = _NONE  # int32[...]
    caps_changed: bool = False  # the array `cap` changed, so the room of every PE is computed anew


class Update(NamedTuple):
    """What an update did."""

    met: bool  # every PE keeps its bound
    agrees: bool  # J, followed move by move, is J computed from what changed
    forced: int  # tasks that had to leave their PEs
    #: int32[...]: Tasks with another PE than before, ascending, and that PE (-1 for a task that came)
    moved: Int32
    source: Int32  # int32[...]


@dataclass(slots=True, eq=False)
class PlacementState:
    """Arrays of a mapping under change, for tasks, for PEs and counters; see ``core/changing/placement.hpp``.
    """

    pe: Int32  # int32[rows]: PE of each task, -1 for an absent one
    home: Int32
    load: Int64  # int64[rows]: Load of each task
    next: Int32
    previous: Int32
    outer: Int32
    mark: Int64
    first: Int32
    held: Int64  # int64[k]: Number of tasks of each PE
    pe_load: Int64  # int64[k]: Load of each PE
    most: Int64
    least: Int64
    weight_to: Int64
    cap: Int64  # int64[k]: Largest load of each PE, less ``counter[SHIFT]``
    usable: UInt8  # uint8[k]: Whether tasks may be on the PE
    counter: Int64  # int64[5]
    distances: DistanceArrays

    @classmethod
    def of(cls, rows: ArcRows, pe: Int32, load: Int64, usable: UInt8, distances: Distances) -> PlacementState:
        """Return the state of a mapping; J and the rooms of PEs are to be set by the caller. O(n + m + k)."""
        n, k = len(pe), len(usable)
        u, v, _ = rows.arcs_of(np.arange(n))
        outer = np.bincount(u[pe[u] != pe[v]], minlength=n).astype(np.int32)
        chain = 2 * pe.astype(np.int64) + (outer > 0)
        order = np.argsort(chain, kind="stable").astype(np.int32)
        follows = np.append(chain[order][1:] == chain[order][:-1], False)
        after, before = np.full(n, -1, np.int32), np.full(n, -1, np.int32)
        after[order[:-1][follows[:-1]]] = order[1:][follows[:-1]]
        before[order[1:][follows[:-1]]] = order[:-1][follows[:-1]]
        first = np.full(2 * k, -1, np.int32)
        heads = order[before[order] < 0]
        first[chain[heads]] = heads
        leaves = 1 << (k - 1).bit_length()
        pe_load = np.zeros(k, np.int64)
        np.add.at(pe_load, pe, load)
        trees = np.full(2 * leaves, _NO_ROOM, np.int64), np.full(2 * leaves, -_NO_ROOM, np.int64)
        return cls(
            pe.copy(), pe.copy(), load.copy(), after, before, outer, np.zeros(n, np.int64), first,
            np.bincount(pe, minlength=k).astype(np.int64), pe_load, *trees, np.zeros(k, np.int64),
            np.zeros(k, np.int64), usable, np.zeros(5, np.int64), prepare(None, 1, distances).arrays,
        )  # fmt: skip

    def grow(self, rows: int) -> None:
        """Have space for that many tasks; new ones are absent. O(1) per task on average."""
        self.pe, self.home = grown(self.pe, rows, -1), grown(self.home, rows, -1)
        self.load, self.mark = grown(self.load, rows), grown(self.mark, rows)
        self.next, self.previous = grown(self.next, rows, -1), grown(self.previous, rows, -1)
        self.outer = grown(self.outer, rows)

    def update(self, rows: ArcRows, changes: Changes, settings: LocalSettings) -> Update:
        """Bring the mapping up to date; the search is deterministic and scans edges near the changes only."""
        arrays = [getattr(self, field.name) for field in fields(self)[:-1]]
        met, agrees, forced, moved, source = compiled.changing_update(
            rows.arrays(), arrays, self.distances, settings, changes
        )
        return Update(met, agrees, forced, np.array(moved, np.int32), np.array(source, np.int32))
