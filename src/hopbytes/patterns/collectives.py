"""Arcs of collective operations in many groups at once."""

from __future__ import annotations

import numpy as np

from hopbytes._arrays import Int64
from hopbytes.patterns.base import Arcs, uniform_arcs

ALGORITHMS = ("ring", "tree", "double_tree", "two_level")


def all_reduce(groups: Int64, volume: int, times: int, algorithm: str, inner: int = 8) -> list[Arcs]:
    """Return the arcs of an all-reduce of `volume` bytes inside every group, a row of int64[g, size]."""
    size = groups.shape[1]
    if size == 1:
        return []
    if algorithm == "ring":
        return ring(groups, volume, times, steps=2 * (size - 1))
    if algorithm == "two_level":
        return _two_level(groups, volume, times, inner)
    if algorithm == "double_tree":
        return _double_tree(groups, volume, times)
    child = np.arange(1, size)
    below, above = groups[:, child].ravel(), groups[:, (child - 1) // 2].ravel()
    total = times * volume
    return [uniform_arcs(below, above, total, times), uniform_arcs(above, below, total, times)]


def ring(groups: Int64, volume: int, times: int, steps: int) -> list[Arcs]:
    """Return the arcs of `steps` pieces of volume / size to the next member of every group, `times` times.

    size - 1 steps are a reduce-scatter or an all-gather, twice as many an all-reduce.
    """
    size = groups.shape[1]
    if size == 1:
        return []
    total = times * steps * volume // size
    return [uniform_arcs(groups.ravel(), np.roll(groups, -1, axis=1).ravel(), total, times * steps)]


def shared(groups: Int64, volume: int, times: int) -> list[Arcs]:
    """Return the arcs of a ring reduce-scatter or all-gather of `volume` bytes, `times` times."""
    return ring(groups, volume, times, steps=groups.shape[1] - 1)


def all_to_all(groups: Int64, volume: int, times: int) -> list[Arcs]:
    """Return the arcs of an all-to-all inside every group: `volume` bytes per member, divided by `size`."""
    size = groups.shape[1]
    if size == 1:
        return []
    sources = np.repeat(groups, size, axis=1).ravel()
    return [uniform_arcs(sources, np.tile(groups, (1, size)).ravel(), times * volume // size, times)]


def ring_exchange(groups: Int64, volume: int, times: int) -> list[Arcs]:
    """Return arcs from every member to the next one of the ring: `volume` bytes, `times` times."""
    if groups.shape[1] == 1:
        return []
    return [uniform_arcs(groups.ravel(), np.roll(groups, -1, axis=1).ravel(), times * volume, times)]


def neighbour_exchange(groups: Int64, volume: int, times: int) -> list[Arcs]:
    """Return arcs in both directions between consecutive members, without those between last and first."""
    first, second = groups[:, :-1].ravel(), groups[:, 1:].ravel()
    total = times * volume
    return [uniform_arcs(first, second, total, times), uniform_arcs(second, first, total, times)]


def binary_tree(size: int) -> Int64:
    """int64[size]: parent of every member of a tree by the lowest bit of its number; -1 for member 0.

    A member whose lowest bit is b has the parent with bit b cleared and the next higher bit set, or, where
    there is no such member, only with bit b cleared. Members with odd numbers are leaves. Source: Sanders,
    Speck, Träff, "Two-tree algorithms for full bandwidth broadcast, reduction and scan", 2009.

    >>> binary_tree(8).tolist()
    [-1, 2, 4, 2, 0, 6, 4, 6]
    """
    member = np.arange(1, size, dtype=np.int64)
    bit = member & -member
    cleared = member - bit
    higher = cleared | 2 * bit
    return np.concatenate([[-1], np.where(higher < size, higher, cleared)]).astype(np.int64)


def double_tree(size: int) -> tuple[Int64, Int64]:
    """Return the parents in two binary trees; at most one member is an inner member of both.

    >>> [tree.tolist() for tree in double_tree(4)]
    [[-1, 2, 0, 2], [1, 3, 1, -1]]
    """
    first, member = binary_tree(size), np.arange(size, dtype=np.int64)
    image = size - 1 - member if size % 2 == 0 else (member + 1) % size
    second = np.empty(size, np.int64)
    second[image] = np.where(first < 0, -1, image[np.maximum(first, 0)])
    return first, second


def _double_tree(groups: Int64, volume: int, times: int) -> list[Arcs]:
    """Return the arcs of both trees: one carries half of the volume, the other the rest."""
    arcs = []
    halves = (volume // 2, volume - volume // 2)
    for parent, half in zip(double_tree(groups.shape[1]), halves, strict=True):
        child = np.flatnonzero(parent >= 0)
        below, above = groups[:, child].ravel(), groups[:, parent[child]].ravel()
        arcs += [uniform_arcs(*ends, times * half, times) for ends in ((below, above), (above, below))]
    return arcs


def _two_level(groups: Int64, volume: int, times: int, inner: int) -> list[Arcs]:
    """Return the arcs of rings inside parts of consecutive members, and of rings across the parts."""
    size = groups.shape[1]
    part = max(divisor for divisor in range(1, min(inner, size) + 1) if size % divisor == 0)
    inside = groups.reshape(-1, part)
    parts = ring(inside, volume, times, steps=2 * (part - 1))
    return parts + ring(across_parts(groups, part), volume // part, times, steps=2 * (size // part - 1))


def across_parts(groups: Int64, part: int) -> Int64:
    """Return groups of the members that have the same number in each part of `part` consecutive members."""
    size = groups.shape[1]
    across = groups.reshape(-1, size // part, part).transpose(0, 2, 1).reshape(-1, size // part)
    return np.ascontiguousarray(across)
