"""The compiled search kernels (partitioning, refinement) with typed signatures, kept interruptible.

These are heuristics: they have no definition to compare with, so they have no twin in
:mod:`hopbytes.reference`; tests check their properties instead.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import astuple, dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from hopbytes import _core
from hopbytes.kernels import checked_sum, optional

Int64 = NDArray[np.int64]
Int32 = NDArray[np.int32]
UInt64 = NDArray[np.uint64]
Result = TypeVar("Result")

_compiled: Any = _core

#: What Python writes into the control word that compiled code polls.
GO_ON, HURRY = 0, 1

#: Below this many tasks, arcs and blocks together a call lasts milliseconds: not worth a thread.
SMALL = 4_000

#: What sums over all arcs of weight x distance may reach in compiled code: gains double it, flows run
#: both ways through an edge, and 2^60 stands for "endless" there.
MOST = 2**59


@dataclass(frozen=True, slots=True)
class SearchSettings:
    """Localised FM: see ``core/local_search.hpp``.

    Parameters
    ----------
    rounds : int
        Passes over the boundary; a pass without gain ends it.
    patience : int
        Moves without a new best after which one search stops.
    seeds : int
        Boundary vertices one search starts from: fewer is slower and better.
    flow_rounds : int
        Passes of minimum cuts between pairs of blocks (``core/flow.hpp``); 0 turns them off.
    flow_width : int
        Load freed on each side of a seam, in units of the room the blocks have left.
    venture_percent : int
        How far blocks may be overfull for a while, on the way to a better partition; 0 never.
    """

    rounds: int = 10
    patience: int = 40
    seeds: int = 25
    flow_rounds: int = 0
    flow_width: int = 16
    venture_percent: int = 0


@dataclass(frozen=True, slots=True)
class PartitionSettings:
    """How hard to try one partition: see ``core/multilevel.hpp`` and ``core/partition.hpp``.

    Parameters
    ----------
    runs : int
        Independent runs from different coarsenings, side by side; the best is kept. 0: one, and only for
        groups without a candidate.
    combines : int
        Recombinations of the best run with the others; beyond those, V-cycles.
    tries : int
        Partitions of the middle graph per run.
    middle : int
        Vertices of the middle graph.
    coarsest : int
        Vertices per block of the smallest graph.
    growths : int
        Grown bisections per initial bisection.
    middle_combines : int
        Recombinations of the tries on the middle graph.
    """

    runs: int = 1
    combines: int = 0
    tries: int = 4
    middle: int = 1500
    coarsest: int = 60
    growths: int = 4
    middle_combines: int = 1
    search: SearchSettings = SearchSettings()

    def array(self, threads: int) -> Int64:
        """Flatten for the compiled side."""
        own = (self.runs, self.combines, threads, self.tries, self.middle, self.coarsest, self.growths)
        return np.array([*own, self.middle_combines, *astuple(self.search)], np.int64)


def moderate(
    weights: Int64 | None, arcs: int, distances: Int64 | None = None
) -> tuple[Int64 | None, Int64 | None]:
    """Scale weights and distances down where sums of their products could exceed :data:`MOST`.

    Below that, which is nearly always, the arrays themselves come back. Above it both lose low bits:
    distances first, down to 20 significant ones, then weights, which stay positive. Searching on rounded
    numbers is fine; what was found must then be judged on the true ones.

    Examples
    --------
    >>> moderate(np.array([2**60, 1]), 2)
    (array([288230376151711744,                  1]), None)
    """
    total = arcs if weights is None else checked_sum(weights)
    furthest = 1 if distances is None or not len(distances) else int(distances.max())
    shift = max(0, (total * furthest).bit_length() - MOST.bit_length() + 1)
    if distances is not None and shift:
        less = min(shift, max(0, furthest.bit_length() - 20))
        distances, shift = distances >> less, shift - less
    if weights is not None and shift:
        weights = np.maximum(weights >> shift, 1)
    return weights, distances


def interruptible(
    work: Callable[[], Result],
    control: Int32,
    deadline: float | None,
    size: int,
    watch: Callable[[int], None] | None = None,
) -> Result:
    """Run compiled `work` while the main thread stays free for Ctrl-C and watches the deadline.

    Compiled code cannot be interrupted from Python, so it runs in a thread of its own; on Ctrl-C or
    at the deadline the control word tells it to come home, which takes milliseconds. Meanwhile `watch`
    is told a few times a second what ``control[1]`` counts.
    """
    if deadline is not None and time.monotonic() >= deadline:
        control[0] = HURRY
    if size < SMALL:
        return work()
    outcome: list[Result] = []
    failure: list[BaseException] = []
    # Not Thread.join: once interrupted, it takes the running thread for finished.
    home = threading.Event()

    def run() -> None:
        try:
            outcome.append(work())
        except BaseException as error:
            failure.append(error)
        finally:
            home.set()

    thread = threading.Thread(target=run, name="hopbytes-kernel")
    thread.start()
    try:
        while not home.is_set():
            left = 0.2 if deadline is None or control[0] == HURRY else deadline - time.monotonic()
            home.wait(min(max(left, 0.0), 0.2))
            if watch is not None:
                watch(int(control[1]))
            if deadline is not None and time.monotonic() >= deadline:
                control[0] = HURRY
    finally:
        control[0] = HURRY
        home.wait()
        thread.join()
    if failure:
        raise failure[0]
    return outcome[0]


def _size(indptr: Int64, targets: Int32, caps: Int64) -> int:
    return len(indptr) + len(targets) + len(caps)


def partition_many(
    indptr: Int64,
    targets: Int32,
    weights: Int64 | None,
    loads: Int64 | None,
    group: Int32,
    cap_start: Int64,
    caps: Int64,
    seeds: UInt64,
    settings: PartitionSettings,
    *,
    candidates: Int32 | None = None,
    threads: int = 1,
    deadline: float | None = None,
    watch: Callable[[int], None] | None = None,
) -> tuple[Int32, Int64]:
    """Cut every group of vertices into its own blocks.

    Parameters
    ----------
    indptr, targets, weights, loads
        Symmetric graph without diagonal and without zero weights; None means 1 each.
    group : int32[n]
        Group of each vertex, 0..g-1. Edges between groups play no part.
    cap_start : int64[g+1]
        The blocks of group i have caps ``caps[cap_start[i]:cap_start[i+1]]``.
    caps : int64[...]
        Largest load per block; met whenever moves and swaps of single vertices can meet it.
    seeds : uint64[g]
    candidates : int32[c, n] or None
        Partitions from elsewhere that compete; negative where a group has none.
    watch : callable or None
        Told now and then how many groups are done.

    Returns
    -------
    child : int32[n]
        Block of each vertex within its group.
    cut : int64[g]
        Weight between blocks of each group, every edge once.
    """
    control = np.zeros(2, np.int32)
    child = np.zeros(len(indptr) - 1, np.int32)
    cut = np.zeros(len(cap_start) - 1, np.int64)
    given = np.empty(0, np.int32) if candidates is None else np.ascontiguousarray(candidates).reshape(-1)
    seen, _ = moderate(weights, len(targets))
    interruptible(
        lambda: _compiled.partition_many(
            indptr, targets, optional(seen), optional(loads), group, cap_start, caps, seeds, given,
            settings.array(threads), control, child, cut,
        ),
        control, deadline, _size(indptr, targets, caps), watch,
    )
    if weights is not None and seen is not weights:
        cut[:] = 0
        rows = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
        counts = (rows < targets) & (group[rows] == group[targets]) & (child[rows] != child[targets])
        np.add.at(cut, group[rows[counts]], weights[counts])
    return child, cut


def refine_placement(
    indptr: Int64,
    targets: Int32,
    weights: Int64 | None,
    loads: Int64 | None,
    pe: Int32,
    caps: Int64,
    *,
    labels: UInt64 | None = None,
    bit_costs: Int64 | None = None,
    table: Int64 | None = None,
    seed: int = 0,
    cycles: int = 0,
    chains: int = 1,
    coarsest: int = 40,
    search: SearchSettings = SearchSettings(),
    threads: int = 1,
    deadline: float | None = None,
) -> tuple[Int32, int]:
    """Lower the communication cost of a placement by moves of single tasks or of clusters.

    Parameters
    ----------
    pe : int32[n]
        The placement to start from; not changed.
    caps : int64[k]
        Largest load per PE.
    labels, bit_costs
        Distances of a tree (see :class:`hopbytes.machines.base.TreeDistance`), or
    table : int64[k*k]
        symmetric distances row by row.
    cycles : int
        V-cycles (coarsen inside PEs, refine on every level); 0 refines the given graph only.
    chains : int
        Independent sequences of cycles, side by side; the cheapest result is kept.

    Returns
    -------
    int32[n], int
        A placement that costs no more (after rounding by :func:`moderate`), and the number of moves
        that were tried.
    """
    control = np.zeros(1, np.int32)
    result = pe.copy()
    seen, near = moderate(weights, len(targets), bit_costs if table is None else table)
    moves = interruptible(
        lambda: _compiled.refine_placement(
            indptr, targets, optional(seen), optional(loads),
            np.empty(0, np.uint64) if labels is None else labels,
            np.zeros(65, np.int64) if table is not None or near is None else near,
            optional(None if table is None else near), caps, seed % 2**64,
            np.array([cycles, coarsest, *astuple(search), chains, threads], np.int64), control, result,
        ),
        control, deadline, _size(indptr, targets, caps),
    )
    return result, int(moves)


def swap_refine(
    indptr: Int64,
    targets: Int32,
    weights: Int64 | None,
    loads: Int64 | None,
    pe: Int32,
    caps: Int64,
    *,
    exact: bool,
    labels: UInt64 | None = None,
    bit_costs: Int64 | None = None,
    table: Int64 | None = None,
    seed: int = 0,
    all_pairs_up_to: int = 1024,
    nearest: int = 16,
    deadline: float | None = None,
) -> tuple[Int32, int]:
    """Lower the communication cost by exchanges of two tasks.

    Parameters are those of :func:`refine_placement`; with `exact` only counts matter, which
    exchanges keep by themselves.

    Returns
    -------
    int32[n], int
        A placement that costs no more, and how many exchanges were evaluated.
    """
    control = np.zeros(1, np.int32)
    result = pe.copy()
    room = np.full(len(caps), len(indptr), np.int64) if exact else caps
    seen, near = moderate(weights, len(targets), bit_costs if table is None else table)
    _, evaluations = interruptible(
        lambda: _compiled.swap_refine(
            indptr, targets, optional(seen), optional(loads),
            np.empty(0, np.uint64) if labels is None else labels,
            np.zeros(65, np.int64) if table is not None or near is None else near,
            optional(None if table is None else near), room, seed % 2**64,
            np.array([all_pairs_up_to, nearest], np.int64), control, result,
        ),
        control, deadline, _size(indptr, targets, caps),
    )
    return result, int(evaluations)
