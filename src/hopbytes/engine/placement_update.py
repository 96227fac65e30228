"""A mapping of a changing graph that is brought up to date batch by batch (``core/changing``)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from hopbytes._arrays import Int32, Int64, UInt8, UInt64
from hopbytes.engine.distances import prepare
from hopbytes.kernels.base import compiled
from hopbytes.kernels.changing import ArcRows, grown
from hopbytes.kernels.records import Distances

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
    distances: tuple[UInt64, Int64, Int64]

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
        tasks = (self.pe, self.home, self.load, self.next, self.previous, self.outer, self.mark)
        pes = (
            self.first, self.held, self.pe_load, self.most, self.least, self.weight_to, self.cap, self.usable,
            self.counter,
        )
        met, agrees, forced, moved, source = compiled.changing_update(
            rows.arrays(), tasks, pes, self.distances, np.array(settings, np.int64), tuple(changes[:4]),
            tuple(changes[4:]),
        )
        return Update(met, agrees, forced, np.array(moved, np.int32), np.array(source, np.int32))
