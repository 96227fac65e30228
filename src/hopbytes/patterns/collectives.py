"""Arcs of collective operations in many groups at once."""

from __future__ import annotations

import numpy as np

from hopbytes._arrays import Int64
from hopbytes.patterns.base import Arcs, uniform_arcs

ALGORITHMS = ("ring", "tree")


def all_reduce(groups: Int64, volume: int, times: int, algorithm: str) -> list[Arcs]:
    """Return the arcs of an all-reduce of `volume` bytes inside every group, a row of int64[g, size].

    ``ring``: each member sends 2 (size - 1) pieces of volume / size to the next one (reduce-scatter, then
    all-gather). ``tree``: a binary tree in the order of the row; each edge carries `volume` both ways.
    """
    size = groups.shape[1]
    if size == 1:
        return []
    if algorithm == "ring":
        steps = 2 * (size - 1)
        total = times * steps * volume // size
        return [uniform_arcs(groups.ravel(), np.roll(groups, -1, axis=1).ravel(), total, times * steps)]
    child = np.arange(1, size)
    below, above = groups[:, child].ravel(), groups[:, (child - 1) // 2].ravel()
    total = times * volume
    return [uniform_arcs(below, above, total, times), uniform_arcs(above, below, total, times)]


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
