"""Random patterns with a hidden hierarchy."""

from __future__ import annotations

import random

import numpy as np

from hopbytes._arrays import Int64
from hopbytes._frozen import frozen
from hopbytes.model.comm_graph import CommGraph
from hopbytes.patterns import base
from hopbytes.patterns.base import (
    Arcs,
    Pattern,
    build_graph,
    check_arcs,
    dimensions,
    invalid_parameter,
    patterns,
)

MOST_LEVELS = 8


@patterns.register("hierarchical")
@frozen
class Hierarchical(Pattern):
    """Random volumes with a hierarchy: the closer two tasks are in a hidden tree, the larger their volume.

    The matrices are like those of Jeannot and Mercier (Euro-Par 2010, section 5.1): dense and symmetric. All
    random numbers come from Python's Mersenne Twister, whose ``random()`` is the same in every version.

    >>> from hopbytes.patterns.base import pattern
    >>> pattern("hierarchical:2x2:bytes=100:spread=0:shuffle=no").volumes.tolist()
    [100, 10, 10, 100, 10, 10, 10, 10, 100, 10, 10, 100]
    """

    #: children per level of the hidden tree, outermost first: ``4x2x4`` are 4 groups of 2 groups of 4
    dims: str = "4x4"
    bytes: int = 1_000_000  #: smallest volume between two tasks of an innermost group
    #: factor by which the smallest volume decreases with every outer level, but never below 1 byte
    factor: int = 10
    #: volumes are uniformly distributed between the smallest one of their level and `spread` per cent more
    spread: int = 50
    #: number the tasks at random, so that the numbers contain no information about the tree
    shuffle: bool = True
    seed: int = 0  #: seed of the random numbers

    def graph(self) -> CommGraph:
        sizes = dimensions(self, self.dims, most=MOST_LEVELS)
        if self.factor < 1:
            raise invalid_parameter(self, f"factor={self.factor}, expected an integer >= 1")
        n = int(np.prod(sizes))
        check_arcs(self, n * n)
        source = random.Random(self.seed)
        first, second = np.triu_indices(n, 1)
        # The smallest volume of a pair, by the outermost level at which it differs.
        least = [max(1, self.bytes // self.factor**up) for up in range(len(sizes))][::-1]
        low = np.array(least, np.int64)[_level(first, second, sizes)]
        if int(low.max(initial=0)) > base.MAX_VOLUME // (100 + self.spread):
            what = f"bytes={self.bytes} with spread={self.spread}, expected volumes up to {base.MAX_VOLUME}"
            raise invalid_parameter(self, what)
        parts = np.array([source.random() for _ in range(len(first))])
        volumes = low + np.floor(parts * (low * self.spread // 100 + 1)).astype(np.int64)
        if self.shuffle:
            number = np.argsort([source.random() for _ in range(n)], kind="stable")
            first, second = number[first], number[second]
        both = (np.concatenate([first, second]), np.concatenate([second, first]))
        twice = np.concatenate([volumes, volumes])
        return build_graph(self, n, [Arcs(*both, twice, np.ones(len(twice), np.int64))])

def _level(first: Int64, second: Int64, sizes: tuple[int, ...]) -> Int64:
    """Return the outermost level at which the two tasks of each pair differ."""
    level = np.full(len(first), len(sizes) - 1)
    below = 1
    for depth in reversed(range(len(sizes))):
        level[first // below != second // below] = depth
        below *= sizes[depth]
    return level
