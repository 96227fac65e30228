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
    """Settings of the search around the tasks that a batch touches.

    Parameters
    ----------
    price : int
        Cost of a task that leaves the PE it had before the batch.
    most_displaced : int
        Largest number of such tasks; moves without an alternative may exceed it.
    fruitless : int
        Moves without a new best after which one search stops.
    seeds : int
        Number of tasks from which one search starts.
    rounds : int
        How many times tasks near moved ones are searched again.
    work : int
        Scanned edges after which no search begins.
    keep_one : bool
        No PE gives away its last task.
    """

    price: int = 0
    most_displaced: int = 2**62
    fruitless: int = 40
    seeds: int = 6
    rounds: int = 6
    work: int = 0
    keep_one: bool = True


class Changes(NamedTuple):
    """What a batch changed, in the numbers of the state; pairs of arcs were set in the rows before.

    Parameters
    ----------
    u, v, old, now : int32[b], int32[b], int64[b], int64[b]
        Pairs in the order in which they were set, with the weights before and after.
    vanished, loaded, load, arrived : int32[...], int32[...], int64[...], int32[...]
        Tasks that left, tasks with a new load, these loads, and tasks that came (which are in `loaded` too).
    lost, restored : int32[...]
        PEs that may be used no more, and again.
    sent, sent_to : int32[...]
        Tasks that move to given PEs.
    caps_changed : bool
        The array `cap` changed, so the room of every PE is computed anew.
    """

    u: Int32 = _NONE
    v: Int32 = _NONE
    old: Int64 = _NONE64
    now: Int64 = _NONE64
    vanished: Int32 = _NONE
    loaded: Int32 = _NONE
    load: Int64 = _NONE64
    arrived: Int32 = _NONE
    lost: Int32 = _NONE
    restored: Int32 = _NONE
    sent: Int32 = _NONE
    sent_to: Int32 = _NONE
    caps_changed: bool = False


class Update(NamedTuple):
    """What an update did.

    Parameters
    ----------
    met : bool
        Every PE keeps its bound.
    agrees : bool
        J, followed move by move, is J computed from what changed.
    forced : int
        Tasks that had to leave their PEs.
    moved, source : int32[...]
        Tasks with another PE than before, ascending, and that PE (-1 for a task that came).
    """

    met: bool
    agrees: bool
    forced: int
    moved: Int32
    source: Int32


@dataclass(slots=True, eq=False)
class PlacementState:
    """Arrays of a mapping under change, for tasks, for PEs and counters; see ``core/changing/placement.hpp``.

    Parameters
    ----------
    pe : int32[rows]
        PE of each task, -1 for an absent one.
    load : int64[rows]
        Load of each task.
    pe_load : int64[k]
        Load of each PE.
    held : int64[k]
        Number of tasks of each PE.
    cap : int64[k]
        Largest load of each PE, less ``counter[SHIFT]``.
    usable : uint8[k]
        Whether tasks may be on the PE.
    counter : int64[5]
    """

    pe: Int32
    home: Int32
    load: Int64
    next: Int32
    previous: Int32
    outer: Int32
    mark: Int64
    first: Int32
    held: Int64
    pe_load: Int64
    most: Int64
    least: Int64
    weight_to: Int64
    cap: Int64
    usable: UInt8
    counter: Int64
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
