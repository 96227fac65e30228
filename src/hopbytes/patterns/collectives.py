"""What collective operations of many groups put on the wire, as arcs."""

from __future__ import annotations

import numpy as np

from hopbytes._arrays import Int64
from hopbytes.patterns.base import Arcs, every

ALGORITHMS = ("ring", "tree")


def all_reduce(groups: Int64, volume: int, times: int, algorithm: str) -> list[Arcs]:
    """All-reduce inside every group (a row of int64[g, size]) of `volume` bytes per member.

    ``ring``: each member sends 2 (size - 1) pieces of volume / size to the next one (reduce-scatter, then
    all-gather). ``tree``: a binary tree in the order of the row; each edge carries all of it up and down.
    """
    size = groups.shape[1]
    if size == 1:
        return []
    if algorithm == "ring":
        steps = 2 * (size - 1)
        total = times * steps * volume // size
        return [every(groups.ravel(), np.roll(groups, -1, axis=1).ravel(), total, times * steps)]
    child = np.arange(1, size)
    below, above = groups[:, child].ravel(), groups[:, (child - 1) // 2].ravel()
    return [every(below, above, times * volume, times), every(above, below, times * volume, times)]


def all_to_all(groups: Int64, volume: int, times: int) -> list[Arcs]:
    """All-to-all inside every group: `volume` bytes from each member in all, its own share included."""
    size = groups.shape[1]
    if size == 1:
        return []
    sources = np.repeat(groups, size, axis=1).ravel()
    return [every(sources, np.tile(groups, (1, size)).ravel(), times * volume // size, times)]


def round_the_ring(groups: Int64, volume: int, times: int) -> list[Arcs]:
    """Every member hands `volume` bytes to the next, `times` times."""
    if groups.shape[1] == 1:
        return []
    return [every(groups.ravel(), np.roll(groups, -1, axis=1).ravel(), times * volume, times)]


def along_the_line(groups: Int64, volume: int, times: int) -> list[Arcs]:
    """Every member sends `volume` bytes to the next and gets as much back; the ends are not joined."""
    first, second = groups[:, :-1].ravel(), groups[:, 1:].ravel()
    return [every(first, second, times * volume, times), every(second, first, times * volume, times)]
