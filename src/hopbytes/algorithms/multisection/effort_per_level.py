"""The share of the cost that each level of cuts determines: an estimate, or measured in a mapping."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from hopbytes import kernels
from hopbytes._arrays import Int32
from hopbytes.algorithms.multisection.cut_level import Level
from hopbytes.model.comm_graph import CommGraph

#: A level counts as unexpected if its share of the cost exceeds the estimate by this factor
SURPRISE = 4.0
#: and is at least this fraction of the largest share of a level.
WORTH = 0.25


def shares_of_cost(cuts: Sequence[int], counts: Sequence[int], innermost: int = 0) -> list[float]:
    """Estimate the share of the cost that each level of cuts determines, before any cut is made.

    The share of a cut is the difference between its distance and the next inner one, times the volume
    between groups, which is assumed to grow like the square root of their number as on two-dimensional
    meshes. This estimate is not from the literature: SharedMap (Schulz and Woydt, 2025) spends equal effort
    on every level. O(levels).

    >>> shares_of_cost([100, 10], [4, 16])
    [1.0, 0.2222222222222222]
    >>> shares_of_cost([10, 1], [4, 16], innermost=1)
    [1.0, 0.0]
    """
    volumes = [float(np.sqrt(count)) for count in counts]
    return _relative(cuts, [*cuts[1:], innermost], volumes) or [1.0] * len(cuts)


def unexpected_shares(
    levels: list[Level], graph: CommGraph, pe: Int32, threads: int = 1
) -> list[Level]:
    """Return the levels with the shares measured in a mapping, if one of them is unexpected.

    If few edges carry nearly all volume, the outer cuts avoid these edges and cost next to nothing, while
    the inner cuts, whose estimated share and effort were small, determine the cost. If no share is
    unexpected, the estimates are kept, because they are equally good and the same for every mapping. The
    rule is not from the literature. O(n + m + k levels).
    """
    parted = _volume_by_level(levels, graph, pe, threads)
    if parted is None:
        return levels
    # Volume between the groups of a level was separated at this level or further out. A share of 0, as that
    # of the last cut into single tasks, is exact and not an estimate.
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
    """Return the share of each level relative to the largest one, None if all shares are 0."""
    weights = [max(0, a - b) * volume for a, b, volume in zip(outer, inner, volumes, strict=True)]
    most = max(weights, default=0.0)
    return [weight / most for weight in weights] if most > 0 else None


def _volume_by_level(
    levels: list[Level], graph: CommGraph, pe: Int32, threads: int
) -> list[int] | None:
    """Return the volume that each level separates, outermost first; None if labels need more than 64 bits.

    The arcs of the graph count as they are: their sum fits into 64 bits, while that of the symmetric graph,
    which is up to twice as large, may not. The label of a PE is its path from the root with one bit field per
    level, as in :class:`hopbytes.machines.distances.TreeDistance`. O(n + m + k levels).
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
    arcs = graph.arcs(graph.volumes)
    volumes = kernels.comm_cost_by_level(arcs, pe, labels, level_of_bit, len(levels), threads)
    parted: list[int] = volumes.tolist()
    return parted[:0:-1]
