"""Trees: named levels with a number of children each, equal or not."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from hopbytes.errors import FormatError
from hopbytes.machines.base import Int32, Int64, Level, Machine, TreeDistance, machines

MAX_CORES = 2**24


@machines.register("tree")
@dataclass(frozen=True, slots=True)
class Tree(Machine):
    """A tree of named levels.

    Parameters
    ----------
    tiers : tuple of Level
        Outermost first.
    children : tuple, one entry per level
        Number of units of that level per unit of the level outside it: an integer, or one integer
        per outer unit when they differ (``node:[8,8,6]``).

    Raises
    ------
    FormatError
        No level, a count < 1, a list of the wrong length, distances that shrink outwards, more than
        2**24 cores or labels of more than 64 bits.

    Examples
    --------
    >>> from hopbytes.machines.tree import Tree
    >>> from hopbytes.machines.base import Level
    >>> Tree((Level("node", 10), Level("core", 1)), (2, 4)).spec()
    'node:2@10 core:4@1'
    """

    tiers: tuple[Level, ...]
    children: tuple[int | tuple[int, ...], ...]

    def __post_init__(self) -> None:
        if not self.tiers or len(self.tiers) != len(self.children):
            raise FormatError("machine", None, "a tree without levels, expected at least one like core:4")
        names = [level.name for level in self.tiers]
        for name in names:
            if names.count(name) > 1:
                raise FormatError("machine", None, f"level {name!r} twice, expected distinct names")
        for outer, inner in zip(self.tiers, self.tiers[1:], strict=False):
            if outer.distance < inner.distance:
                raise FormatError(
                    "machine", None,
                    f"distance {outer.distance} of {outer.name} is below {inner.distance} of {inner.name}, "
                    "expected distances that do not shrink outwards",
                )
        if self.tiers[-1].distance < 0:
            raise FormatError("machine", None, f"distance {self.tiers[-1].distance}, expected an integer >= 0")
        self._check_counts()

    def _check_counts(self) -> None:
        outer, bits = 1, 0
        for level, count in zip(self.tiers, self.children, strict=True):
            counts = count if isinstance(count, tuple) else (count,)
            if min(counts, default=0) < 1:
                raise FormatError("machine", None, f"{level.name}:{min(counts, default=0)}, expected a count >= 1")
            if isinstance(count, tuple) and len(count) != outer:
                raise FormatError(
                    "machine", None,
                    f"{level.name} lists {len(count)} counts, expected one for each of the {outer} units outside it",
                )
            outer = sum(count) if isinstance(count, tuple) else outer * count
            bits += (max(counts) - 1).bit_length()
            if outer > MAX_CORES:
                raise FormatError("machine", None, f"more than {MAX_CORES} units at level {level.name}")
        if bits > 64:
            raise FormatError("machine", None, f"{bits} bits of label, expected at most 64: use fewer levels")

    @property
    def n_cores(self) -> int:
        """Number of leaves."""
        return len(_paths(self)[-1])

    @property
    def levels(self) -> tuple[Level, ...]:
        """Named levels, outermost first."""
        return self.tiers

    def spec(self) -> str:
        """Text that parses to this machine."""
        return " ".join(
            _level_text(level, count) for level, count in zip(self.tiers, self.children, strict=True)
        )

    def ancestors(self, level: int) -> Int32:
        """Unit number at ``levels[level]`` of each core."""
        units = np.arange(len(_paths(self)[level]), dtype=np.int32)
        for inner in range(level + 1, len(self.tiers)):
            units = np.repeat(units, _counts(self, inner, len(units)))
        return units

    def distance(self) -> TreeDistance:
        """Bit-field labels and a cost per level."""
        return _lower(self)

    def split(self, cores: Int64) -> list[Int64]:
        """Children of the lowest unit that holds all `cores`; levels of equal distance count as one."""
        distance = self.distance()
        labels = distance.labels[cores]
        if len(cores) < 2:
            return [cores]
        widest = int(labels[0] ^ labels[-1]).bit_length()
        cost = distance.bit_costs[widest]
        # The narrowest bit whose level still costs as much: all those levels are cut at once.
        low = min(bit for bit in range(1, widest + 1) if distance.bit_costs[bit] == cost)
        heads = labels >> np.uint64(low - 1)
        cuts = np.flatnonzero(heads[1:] != heads[:-1]) + 1
        return list(np.split(cores, cuts))


def _level_text(level: Level, count: int | tuple[int, ...]) -> str:
    number = str(count) if isinstance(count, int) else "[" + ",".join(map(str, count)) + "]"
    extras = "".join(
        f":{key}={value:g}" for key, value in (("bw", level.bandwidth), ("lat", level.latency)) if value is not None
    )
    return f"{level.name}:{number}@{level.distance}{extras}"


def _counts(tree: Tree, level: int, outer: int) -> Int64:
    count = tree.children[level]
    return np.full(outer, count, np.int64) if isinstance(count, int) else np.asarray(count, np.int64)


@lru_cache(maxsize=16)
def _paths(tree: Tree) -> tuple[Int64, ...]:
    """Per level: child number (within its parent) of each unit."""
    paths, outer = [], 1
    for level in range(len(tree.tiers)):
        counts = _counts(tree, level, outer)
        starts = np.repeat(np.cumsum(counts) - counts, counts)
        paths.append(np.arange(int(counts.sum()), dtype=np.int64) - starts)
        outer = len(paths[-1])
    return tuple(paths)


@lru_cache(maxsize=16)
def _lower(tree: Tree) -> TreeDistance:
    labels = np.zeros(1, np.uint64)
    depth = len(tree.tiers)
    widths = []
    for level, children in enumerate(_paths(tree)):
        counts = _counts(tree, level, len(labels))
        width = int(counts.max() - 1).bit_length()
        labels = (np.repeat(labels, counts) << np.uint64(width)) | children.astype(np.uint64)
        widths.append(width)
    level_of_bit = np.zeros(65, np.uint8)
    bit = 0
    for number, width in enumerate(reversed(widths), start=1):  # 1 = innermost
        level_of_bit[bit + 1 : bit + width + 1] = number
        bit += width
    level_of_bit[bit + 1 :] = depth
    costs = np.array([0] + [level.distance for level in reversed(tree.tiers)], np.int64)
    for array in (labels, level_of_bit, costs):
        array.setflags(write=False)
    return TreeDistance(labels, level_of_bit, costs)
