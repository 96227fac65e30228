"""How much of the cost each level of cuts decides: as on meshes, or as a placement shows it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from hopbytes import kernels
from hopbytes._arrays import Int32
from hopbytes.algorithms.multisection.cut_level import Level
from hopbytes.model.comm_graph import CommGraph

#: A level surprises that decides so many times what was expected of it,
SURPRISE = 4.0
#: and at least this part of what the level does that decides most.
WORTH = 0.25


def shares_of_cost(cuts: Sequence[int], counts: Sequence[int], innermost: int = 0) -> list[float]:
    """Guess how much of the cost each level of cuts decides, before anything is cut.

    Parameters
    ----------
    seams : sequence of int
        Distance across the cuts of each level, outermost first.
    counts : sequence of int
        Groups that there are after the cuts of each level.
    innermost : int
        Distance of tasks that the last cut leaves together: 0 where they share a PE, that of the last cut
        itself where they never do, as with one task per PE, so that it decides nothing.

    Returns
    -------
    list of float
        One per level, relative to the level that decides most (1.0); 1.0 for all where no distance differs.

    Notes
    -----
    A cut decides the difference between its distance and the next inner one, times the volume between
    groups, taken to grow like the square root of their number as on two-dimensional meshes. A rule of our
    own: SharedMap (Schulz and Woydt, 2025) works as hard on every level. O(levels).

    Examples
    --------
    >>> shares_of_cost([100, 10], [4, 16])
    [1.0, 0.2222222222222222]
    >>> shares_of_cost([10, 1], [4, 16], innermost=1)
    [1.0, 0.0]
    """
    volumes = [float(np.sqrt(count)) for count in counts]
    return _relative(cuts, [*cuts[1:], innermost], volumes) or [1.0] * len(cuts)


def unexpected_shares(levels: list[Level], graph: CommGraph, pe: Int32) -> list[Level]:
    """Return the levels with the shares that a placement shows, if one of them is a surprise.

    Parameters
    ----------
    levels : list of Level
        With the shares that were expected.
    graph : CommGraph
    pe : int32[n]
        PE of every task in a placement that was made with them.

    Returns
    -------
    list of Level
        `levels` itself where no share is more than :data:`SURPRISE` times what was expected and more than
        :data:`WORTH`, or where the path from the root to a PE takes more than 64 bits; else copies with
        the shares of the placement.

    Notes
    -----
    Where few edges carry nearly all volume, outer cuts avoid them and cost next to nothing, while inner
    ones, of which little was expected and for which little was done, decide everything. Where nothing
    surprises, what was expected is as good, and the same for every placement. A rule of our own.
    O(n + m + k levels).
    """
    parted = _volume_by_level(levels, graph, pe)
    if parted is None:
        return levels
    # What is between the groups of a level was parted there or further out. No share, as of the last cut into
    # single tasks, is no guess.
    between = [
        volume if level.share > 0 else 0.0
        for level, volume in zip(levels, np.cumsum(parted, dtype=np.float64).tolist(), strict=True)
    ]
    shares = _relative([level.distance for level in levels], [level.inside for level in levels], between)
    expected = [max(SURPRISE * level.share, WORTH) for level in levels]
    if shares is None or all(share <= most for share, most in zip(shares, expected, strict=True)):
        return levels
    return [replace(level, share=share) for level, share in zip(levels, shares, strict=True)]


def _relative(outer: Sequence[int], inner: Sequence[int], volumes: Sequence[float]) -> list[float] | None:
    """Return what each level decides relative to the one that decides most, None if none decides anything."""
    weights = [max(0, a - b) * volume for a, b, volume in zip(outer, inner, volumes, strict=True)]
    most = max(weights, default=0.0)
    return [weight / most for weight in weights] if most > 0 else None


def _volume_by_level(levels: list[Level], graph: CommGraph, pe: Int32) -> list[int] | None:
    """int64 per level, outermost first: volume between tasks that it parts; None where 64 bits are too few.

    Both arcs of an edge count. The label of a PE is its path from the root, a bit field per level, as in
    :class:`hopbytes.machines.place_distances.TreeDistance`. O(n + m + k levels).
    """
    labels, level_of_bit, bits = np.zeros(len(levels[0].child_of_pe), np.uint64), np.zeros(65, np.uint8), 0
    for number, level in enumerate(reversed(levels), start=1):
        place = level.child_of_pe - level.start[level.parent[level.child_of_pe]]
        width = int(place.max()).bit_length()
        if bits + width > 64:
            return None
        labels |= place.astype(np.uint64) << np.uint64(bits)
        level_of_bit[bits + 1 : bits + width + 1] = number
        bits += width
    csr = graph.symmetric_positive()
    volumes: list[int] = kernels.comm_cost_by_level(csr, pe, labels, level_of_bit, len(levels)).tolist()
    return volumes[:0:-1]
