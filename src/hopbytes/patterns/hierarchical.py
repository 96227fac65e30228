"""Random patterns with a hierarchy hidden in them."""

from __future__ import annotations

import random
from dataclasses import dataclass

import numpy as np

from hopbytes._arrays import Int64
from hopbytes.model.comm_graph import CommGraph
from hopbytes.patterns import base
from hopbytes.patterns.base import Arcs, Pattern, check_arcs, dimensions, made, patterns, refused

MOST_LEVELS = 8


@patterns.register("hierarchical")
@dataclass(frozen=True, slots=True)
class Hierarchical(Pattern):
    """Random volumes with a clear hierarchy: the closer two tasks are in a hidden tree, the more they talk.

    Parameters
    ----------
    dims : str
        Children per level of the hidden tree, outermost first: ``4x2x4`` are 4 groups of 2 groups of 4.
    bytes : int
        Least volume of two tasks of the innermost groups.
    factor : int
        How many times less that is with every level outwards (never less than 1 byte).
    spread : int
        Volumes are uniform between the least of their level and that plus `spread` per cent.
    shuffle : bool
        Tasks are numbered at random, so that nothing but the volumes tells the tree.
    seed : int

    Notes
    -----
    The kind of matrix of Jeannot and Mercier (Euro-Par 2010, section 5.1): dense and symmetric. All
    randomness comes from Python's Mersenne Twister, whose ``random()`` is the same in every version.

    Examples
    --------
    >>> from hopbytes.patterns.base import pattern
    >>> pattern("hierarchical:2x2:bytes=100:spread=0:shuffle=no").volumes.tolist()
    [100, 10, 10, 100, 10, 10, 10, 10, 100, 10, 10, 100]
    """

    dims: str = "4x4"
    bytes: int = 1_000_000
    factor: int = 10
    spread: int = 50
    shuffle: bool = True
    seed: int = 0

    def graph(self) -> CommGraph:
        """Return the pattern; O(tasks^2)."""
        sizes = dimensions(self, self.dims, most=MOST_LEVELS)
        if self.factor < 1:
            raise refused(self, f"factor={self.factor}, expected an integer >= 1")
        n = int(np.prod(sizes))
        check_arcs(self, n * n)
        source = random.Random(self.seed)
        first, second = np.triu_indices(n, 1)
        low = self._least(sizes)[_level(first, second, sizes)]
        if int(low.max(initial=0)) > base.MAX_VOLUME // (100 + self.spread):
            raise refused(self, f"bytes={self.bytes} and spread={self.spread} are too large")
        parts = np.array([source.random() for _ in range(len(first))])
        volumes = low + np.floor(parts * (low * self.spread // 100 + 1)).astype(np.int64)
        if self.shuffle:
            number = np.argsort([source.random() for _ in range(n)], kind="stable")
            first, second = number[first], number[second]
        both = (np.concatenate([first, second]), np.concatenate([second, first]))
        twice = np.concatenate([volumes, volumes])
        return made(self, n, [Arcs(*both, twice, np.ones(len(twice), np.int64))])

    def _least(self, sizes: tuple[int, ...]) -> Int64:
        """Least volume of a pair by the level at which it parts, outermost first."""
        return np.array([max(1, self.bytes // self.factor**up) for up in range(len(sizes))][::-1], np.int64)


def _level(first: Int64, second: Int64, sizes: tuple[int, ...]) -> Int64:
    """Outermost level at which the two tasks of each pair part."""
    level = np.full(len(first), len(sizes) - 1)
    below = 1
    for depth in reversed(range(len(sizes))):
        level[first // below != second // below] = depth
        below *= sizes[depth]
    return level
