"""Smaller trees inside an even one: how many children of every unit are used when tasks need fewer leaves."""

from __future__ import annotations

from math import prod

import numpy as np

from hopbytes._arrays import Int64


def shapes(arities: list[int], leaves: int, most: int) -> list[list[int]]:
    """Return trees with at least `leaves` leaves inside one with children `arities`, the whole one first.

    Parameters
    ----------
    arities : list of int
        Children per unit of every level, outermost first.
    leaves : int
        At most the product of `arities`.
    most : int
        Longest list returned, >= 1.

    Returns
    -------
    list of list of int
        The whole tree, then those from which no child of any level can be taken away, those with fewest
        leaves first, of these the ones that use more children outside.

    Notes
    -----
    O(product of all arities but the outermost), which is at most the number of leaves.

    Examples
    --------
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
    """Return for all numbers of inner children the least numbers of outermost ones that suffice."""
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
    """Tell whether no level can do with one child less."""
    whole = prod(shape)
    return all(whole // count * (count - 1) < leaves for count in shape if count > 1)


def in_whole_tree(leaf: Int64, shape: list[int], arities: list[int]) -> Int64:
    """Leaf of the whole tree, int64[n], that a leaf of one of the :func:`shapes` is.

    The first children of every unit are the ones in use.

    Examples
    --------
    >>> in_whole_tree(np.arange(8), [2, 2, 2], [2, 3, 2]).tolist()
    [0, 1, 2, 3, 6, 7, 8, 9]
    """
    place, below, rest = np.zeros_like(leaf), 1, leaf
    for used, there in zip(reversed(shape), reversed(arities), strict=True):
        place = place + rest % used * below
        rest, below = rest // used, below * there
    return place
