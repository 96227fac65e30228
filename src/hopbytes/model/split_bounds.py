"""Maximum loads for a split of the hierarchy: integer caps that later splits and the leaves can meet."""

from __future__ import annotations

import math

import numpy as np

from hopbytes._arrays import Int64


def child_bounds(load: int, shares: Int64, leaf_bounds: Int64, levels_left: int) -> Int64:
    """Return caps for one split under which every later split and every leaf can meet its own cap.

    The slack between the load and what the leaves can hold is shared evenly, as a factor, among the
    levels that are still to be cut: with S the sum of leaf caps below, c the load and d levels left,
    a child with share b of B gets ``(S / c) ** (1 / d) * c * b / B``, rounded down, at most what its
    leaves hold, and never below its even part ``ceil(c * b / B)``.

    O(children) plus one integer root for each distinct child. After the adaptive imbalance of
    SharedMap (Schulz and Woydt, 2025) with integer leaf caps in place of real ones.

    800 unit tasks on 2 x 4 PEs of at most 110 each: at most 419 go to either half.

    >>> child_bounds(800, np.array([4, 4]), np.array([440, 440]), levels_left=2)
    array([419, 419])
    """
    if load == 0:
        return leaf_bounds.astype(np.int64)
    whole = sum(int(share) for share in shares)
    room = sum(int(cap) for cap in leaf_bounds)
    known: dict[tuple[int, int], int] = {}
    caps = np.empty(len(shares), np.int64)
    for child, pair in enumerate(zip(shares.tolist(), leaf_bounds.tolist(), strict=True)):
        if pair not in known:
            share, below = pair
            even = -(-load * share // whole)
            power = room * load ** (levels_left - 1) * share**levels_left // whole**levels_left
            generous = integer_root(power, levels_left)
            known[pair] = max(even, min(generous, below))
        caps[child] = known[pair]
    return caps


def sure_loads(leaves: Int64, leaf_bounds: Int64, heaviest: int) -> Int64:
    """Return loads that fit the leaves of each child, whatever tasks they are made of.

    Put each task on the first PE that has room for it. If a task of load s fits nowhere, every PE holds at
    least its cap - s + 1, so that all of it makes more than the caps together less (p - 1) (s - 1). The
    same holds for every split on the way: what is sure for a child is sure for its children together.

    >>> sure_loads(np.array([4, 4]), np.array([440, 440]), 1), sure_loads(np.array([4]), np.array([440]), 11)
    (array([440, 440]), array([410]))
    """
    if heaviest <= 1:
        return leaf_bounds.astype(np.int64)
    pairs = zip(leaves.tolist(), leaf_bounds.tolist(), strict=True)
    return np.array([max(0, cap - (pes - 1) * (heaviest - 1)) for pes, cap in pairs], np.int64)


def integer_root(value: int, degree: int) -> int:
    """Return the largest r with ``r ** degree <= value``, for integers >= 0 of any size.

    >>> integer_root(176_000, 2), integer_root(26, 3), integer_root(27, 3)
    (419, 2, 3)
    """
    if degree == 1 or value < 2:
        return value
    if degree == 2:
        return math.isqrt(value)
    # Newton from above: the first guess is a power of two that is surely not too small.
    root = 1 << -(-value.bit_length() // degree)
    while True:
        better = ((degree - 1) * root + value // root ** (degree - 1)) // degree
        if better >= root:
            return root
        root = better
