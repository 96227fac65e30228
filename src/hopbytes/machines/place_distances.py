"""Distances between places as kernels take them: the label of every place in a tree, or a table."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from hopbytes._arrays import Int64, UInt8, UInt64, own
from hopbytes._frozen import frozen
from hopbytes.machines.network.node_distances import NetworkDistance


@frozen(eq=False, owns=("labels", "level_of_bit", "costs"))
class TreeDistance:
    """Distances of k places in a tree, as kernels take them.

    The label of a place is the path of child numbers from the root, one bit field per level, the
    innermost level in the lowest bits. The highest bit in which two labels differ names the
    outermost level at which the places part, so one xor, one bit count and one table look-up give
    the distance.
    """

    labels: UInt64  # uint64[k]: Ascending, so every subtree is a contiguous range of places
    #: uint8[65]: Level for every width of the xor: 0 for equal labels, 1 for the innermost level, ...
    level_of_bit: UInt8
    costs: Int64  # int64[levels + 1]: Distance per level; ``costs[0] = 0``

    @property
    def largest(self) -> int:
        """Largest distance of two places: labels ascend, first and last part at the outermost level."""
        return int(self.bit_costs[int(self.labels[0] ^ self.labels[-1]).bit_length()])

    @property
    def bit_costs(self) -> Int64:
        """int64[65]: distance for every width of the xor of two labels."""
        return self.costs[self.level_of_bit]

    def between(self, a: int, b: int) -> int:
        """Distance of two places."""
        return int(self.costs[self.level_of_bit[(int(self.labels[a]) ^ int(self.labels[b])).bit_length()]])

    def select(self, places: Int64) -> TreeDistance:
        """Distances among some of the places (ascending numbers)."""
        if len(places) == len(self.labels):
            return self
        return TreeDistance(own(self.labels[places]), self.level_of_bit, self.costs)

    def matrix(self) -> Int64:
        """int64[k, k] of all distances; for small k and tests, O(k^2) memory."""
        places = np.arange(len(self.labels))
        return self.apart(places[:, None], places[None, :])

    def apart(self, a: Int64, b: Int64) -> Int64:
        """Distances of pairs of places, broadcast against each other."""
        differing = self.labels[a] ^ self.labels[b]
        levels = np.zeros(differing.shape, np.uint8)
        for level in range(1, len(self.costs)):  # innermost first: the outermost that differs wins
            bits = np.flatnonzero(self.level_of_bit == level)
            if len(bits):
                levels[differing >= np.uint64(1 << (int(bits[0]) - 1))] = level
        return self.costs[levels]


@frozen(eq=False, owns=("table",))
class TableDistance:
    """Distances of k places as a dense int64[k, k] table (kept small: see the machine that makes it)."""

    table: Int64

    @property
    def largest(self) -> int:
        """Largest distance between two places."""
        return int(self.table.max())

    def between(self, a: int, b: int) -> int:
        """Distance of two places."""
        return int(self.table[a, b])

    def select(self, places: Int64) -> TableDistance:
        """Distances among some of the places (ascending numbers)."""
        if len(places) == len(self.table):
            return self
        return TableDistance(own(np.ascontiguousarray(self.table[np.ix_(places, places)])))

    def matrix(self) -> Int64:
        """int64[k, k] of all distances."""
        return self.table

    def apart(self, a: Int64, b: Int64) -> Int64:
        """Distances of pairs of places, broadcast against each other."""
        return self.table[a, b]


Distance: TypeAlias = "TreeDistance | TableDistance | NetworkDistance"
