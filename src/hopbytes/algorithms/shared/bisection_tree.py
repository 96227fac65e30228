"""Binary trees that represent the cuts of recursive bisection as a machine."""

from __future__ import annotations

import numpy as np

from hopbytes._arrays import Int32, Int64
from hopbytes.machines.base import Level
from hopbytes.machines.kinds.tree import Tree
from hopbytes.model.allocation import Allocation


def halved(groupings: list[Int32]) -> Allocation:
    """Return a binary tree whose leaves are the PEs in the order of the last grouping.

    >>> halved([np.arange(5, dtype=np.int32)]).machine.spec()
    'cut3:2@3 cut2:2@2 cut1:[1,1,1,2]@1'
    """
    starts = np.zeros(1, np.int64)
    ends = np.array([len(groupings[-1])], np.int64)
    counts: list[int | tuple[int, ...]] = []
    while int((ends - starts).max()) > 1:
        middles = _middles(groupings, starts, ends)
        cut = middles > starts
        counts.append(2 if bool(cut.all()) else tuple((1 + cut).tolist()))
        starts = np.sort(np.concatenate([starts, middles[cut]]))
        ends = np.append(starts[1:], len(groupings[-1]))
    depth = len(counts)
    levels = tuple(Level(f"cut{depth - i}", depth - i) for i in range(depth))
    return Allocation.whole(Tree(levels, tuple(counts)) if depth else Tree((Level("cut", 1),), (1,)))


def _middles(groupings: list[Int32], starts: Int64, ends: Int64) -> Int64:
    """Return where each range of PEs is divided; for a single PE this is its start."""
    middles: Int64 = starts.copy()
    undecided = ends - starts > 1
    for grouping in groupings:
        first, last = grouping[starts], grouping[ends - 1]
        splits = undecided & (first != last)
        half = first[splits] + (last[splits] - first[splits] + 1) // 2
        middles[splits] = np.searchsorted(grouping, half)
        undecided &= ~splits
    return middles
