"""Subtrees of a regular tree: the number of children used per unit when the tasks need only some leaves."""

from __future__ import annotations

from math import prod

import numpy as np

from hopbytes._arrays import Int64


def shapes(arities: list[int], leaves: int, most: int) -> list[list[int]]:
    """Return the subtrees of the tree `arities` with at least `leaves` leaves, beginning with the whole tree.

    >>> shapes([2, 2, 10], 24, 8)
    [[2, 2, 10], [2, 2, 6]]
    >>> shapes([2, 3, 2], 8, 8)
    [[2, 3, 2], [2, 2, 2]]
    """
    if most <= 1:
        return [arities]
    found = [shape for shape in _least(arities, leaves) if _minimal(shape, leaves) and shape != arities]
    found.sort(key=lambda shape: (prod(shape), [-count for count in shape]))
    return [arities, *found[: most - 1]]


def _least(arities: list[int], leaves: int) -> list[list[int]]:
    """Return, for all numbers of inner children, the least sufficient numbers of outermost children."""
    if not arities:
        return [[]] if leaves <= 1 else []
    if len(arities) == 1:
        return [[max(1, leaves)]] if leaves <= arities[0] else []
    *outer, inner = arities
    return [
        [*shape, count]
        for count in range(1, inner + 1)
        for shape in _least(outer, -(-leaves // count))
    ]


def _minimal(shape: list[int], leaves: int) -> bool:
    """Return whether every level needs all of its children."""
    whole = prod(shape)
    return all(whole // count * (count - 1) < leaves for count in shape if count > 1)


def in_whole_tree(leaf: Int64, shape: list[int], arities: list[int]) -> Int64:
    """Return int64[n], the leaves of the whole tree that correspond to leaves of one of the :func:`shapes`.

    The first children of every unit are the ones in use.

    >>> in_whole_tree(np.arange(8), [2, 2, 2], [2, 3, 2]).tolist()
    [0, 1, 2, 3, 6, 7, 8, 9]
    """
    place, below, rest = np.zeros_like(leaf), 1, leaf
    for used, there in zip(reversed(shape), reversed(arities), strict=True):
        place = place + rest % used * below
        rest, below = rest // used, below * there
    return place
