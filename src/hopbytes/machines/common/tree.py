"""Trees: named levels with a number of children each, equal or not."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from hopbytes._arrays import Bool, Int32, Int64, own
from hopbytes._frozen import frozen
from hopbytes.errors import FormatError, unknown_name
from hopbytes.machines.base import Machine, machines
from hopbytes.machines.common.level_names import nodes_missing
from hopbytes.machines.place_distances import TreeDistance
from hopbytes.machines.topology import MAX_CAPACITY, Level
from hopbytes.util.computed_once import computed_once

MAX_CORES = 2**24
MAX_LEVELS = 64
MAX_DISTANCE = 2**62
LEVEL_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,62}")


@machines.register("tree")
@frozen
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
        No level or more than 64, a bad name or number, a count < 1, a list of the wrong length,
        distances that shrink outwards, more than 2**24 cores or labels of more than 64 bits.

    Examples
    --------
    >>> from hopbytes.machines.common.tree import Tree
    >>> from hopbytes.machines.topology import Level
    >>> Tree((Level("node", 10), Level("core", 1)), (2, 4)).spec()
    'node:2@10 core:4@1'
    """

    tiers: tuple[Level, ...]
    children: tuple[int | tuple[int, ...], ...]

    def __post_init__(self) -> None:
        if not self.tiers or len(self.tiers) != len(self.children):
            raise _bad("a tree without levels, expected at least one like core:4")
        if len(self.tiers) > MAX_LEVELS:
            raise _bad(f"{len(self.tiers)} levels, expected at most {MAX_LEVELS}")
        names = [level.name for level in self.tiers]
        for level in self.tiers:
            _check_level(level)
            if names.count(level.name) > 1:
                raise _bad(f"level {level.name!r} twice, expected distinct names")
        for outer, inner in zip(self.tiers, self.tiers[1:], strict=False):
            if outer.distance < inner.distance:
                raise _bad(
                    f"distance {outer.distance} of {outer.name} is below {inner.distance} of {inner.name}, "
                    "expected distances that do not shrink outwards"
                )
        self._check_counts()

    def _check_counts(self) -> None:
        outer, bits = 1, 0
        for level, count in zip(self.tiers, self.children, strict=True):
            counts = count if isinstance(count, tuple) else (count,)
            if min(counts, default=0) < 1:
                raise _bad(f"{level.name}:{min(counts, default=0)}, expected a count >= 1")
            if isinstance(count, tuple) and len(count) != outer:
                units = f"{outer} unit{'s' * (outer > 1)} outside it"
                hint = f": {len(count)} unequal nodes are 'node:{len(count)} core:[…]'" if outer == 1 else ""
                raise _bad(
                    f"{level.name} lists {len(count)} counts, expected one for each of the {units}{hint}"
                )
            outer = sum(count) if isinstance(count, tuple) else outer * count
            bits += (max(counts) - 1).bit_length()
            if outer > MAX_CORES:
                raise _bad(f"more than {MAX_CORES} units at level {level.name}, the most supported")
        if bits > 64:
            raise _bad(f"{bits} bits of label, expected at most 64: use fewer levels")

    @property
    def n_cores(self) -> int:
        """Number of leaves."""
        return _units(self)[-1]

    @property
    def levels(self) -> tuple[Level, ...]:
        """Named levels, outermost first."""
        return self.tiers

    def spec(self) -> str:
        """Text that parses to this machine."""
        return " ".join(
            _level_text(level, count) for level, count in zip(self.tiers, self.children, strict=True)
        )

    def notices(self, used: Bool | None = None) -> tuple[str, ...]:
        """Sentence about nodes, where the names of the levels suggest nodes but none is called so."""
        return nodes_missing(self.tiers, self.n_cores)

    def ancestors(self, level: int) -> Int32:
        """Unit number at ``levels[level]`` of each core."""
        units = np.arange(_units(self)[level], dtype=np.int32)
        for inner in range(level + 1, len(self.tiers)):
            units = np.repeat(units, _counts(self, inner, len(units)))
        return units

    def distance(self) -> TreeDistance:
        """Bit-field labels and a cost per level."""
        return _lower(self)

    def with_distances(self, distances: Mapping[str, int]) -> Tree:
        """Return the tree with other distances of the levels named; UnsupportedError for unknown levels."""
        names = [level.name for level in self.tiers]
        for name in distances:
            if name not in names:
                raise unknown_name("level", name, names)
        tiers = (replace(level, distance=distances.get(level.name, level.distance)) for level in self.tiers)
        return Tree(tuple(tiers), self.children)

    def split(self, cores: Int64) -> list[Int64]:
        """Children of the lowest unit that holds all `cores`; levels of equal distance count as one."""
        distance = self.distance()
        labels = distance.labels[cores]
        if len(cores) < 2:
            return [cores]
        widest = int(labels[0] ^ labels[-1]).bit_length()
        low = _lowest_bit_of_equal_cost(distance.bit_costs, widest)
        heads = labels >> np.uint64(low - 1)
        cuts = np.flatnonzero(heads[1:] != heads[:-1]) + 1
        return list(np.split(cores, cuts))

    def groups(self, cores: Int64) -> list[Int32]:
        """One grouping per distinct distance; numbers ascend with the cores. O(k x levels), by the labels."""
        distance = self.distance()
        labels = distance.labels[cores]
        found: list[Int32] = []
        groups = 1
        bit = int(labels[0] ^ labels[-1]).bit_length() if len(labels) else 0
        while bit:
            low = _lowest_bit_of_equal_cost(distance.bit_costs, bit)
            heads = labels >> np.uint64(low - 1)
            grouping = np.zeros(len(labels), np.int32)
            np.cumsum(heads[1:] != heads[:-1], out=grouping[1:])
            if grouping[-1] + 1 > groups:
                groups = int(grouping[-1]) + 1
                found.append(grouping)
            bit = low - 1
        return found or [np.zeros(len(labels), np.int32)]


def _bad(what: str) -> FormatError:
    return FormatError("machine", None, what)


def _check_level(level: Level) -> None:
    if not LEVEL_NAME.fullmatch(level.name):
        raise _bad(f"level name {shorten(level.name)}, expected letters, digits, _ and -, at most 63 of them")
    if not 0 <= level.distance <= MAX_DISTANCE:
        raise _bad(f"distance {level.distance} of {level.name}, expected an integer from 0 to 2**62")
    if level.bandwidth is not None and not 0 < level.bandwidth < math.inf:
        raise _bad(f"bw={level.bandwidth} of {level.name}, expected bytes per second > 0")
    if level.latency is not None and not 0 <= level.latency < math.inf:
        raise _bad(f"lat={level.latency} of {level.name}, expected seconds >= 0")
    if any(not 1 <= size <= MAX_CAPACITY for size in level.capacity):
        raise _bad(f"cap={level.capacity} of {level.name}, expected integers from 1 to {MAX_CAPACITY}")


def shorten(text: str) -> str:
    """Quote a text the user typed so that it fits one line of a message."""
    return repr(text if len(text) <= 40 else text[:37] + "...")


def _lowest_bit_of_equal_cost(bit_costs: Int64, bit: int) -> int:
    """Return the lowest bit of the same cost as `bit`: levels of equal distance are cut at once."""
    return min(low for low in range(1, bit + 1) if bit_costs[low] == bit_costs[bit])


def _level_text(level: Level, count: int | tuple[int, ...]) -> str:
    number = str(count) if isinstance(count, int) else "[" + ",".join(map(str, count)) + "]"
    keys = (("bw", level.bandwidth), ("lat", level.latency))
    extras = "".join(f":{key}={_number_text(value)}" for key, value in keys if value is not None)
    if level.capacity:
        several = len(level.capacity) > 1
        extras += ":cap=" + "[" * several + ",".join(map(str, level.capacity)) + "]" * several
    return f"{level.name}:{number}@{level.distance}{extras}"


def _number_text(value: float) -> str:
    short = f"{value:g}"
    return short if float(short) == value else repr(float(value))


def _units(tree: Tree) -> list[int]:
    """Per level: number of units in the whole machine."""
    units, outer = [], 1
    for count in tree.children:
        outer = outer * count if isinstance(count, int) else sum(count)
        units.append(outer)
    return units


def _counts(tree: Tree, level: int, outer: int) -> Int64:
    count = tree.children[level]
    return np.full(outer, count, np.int64) if isinstance(count, int) else np.asarray(count, np.int64)


@computed_once(16)
def _lower(tree: Tree) -> TreeDistance:
    labels = np.zeros(1, np.uint64)
    depth = len(tree.tiers)
    widths = []
    for level in range(depth):
        counts = _counts(tree, level, len(labels))
        width = int(counts.max() - 1).bit_length()
        firsts = np.repeat(np.cumsum(counts) - counts, counts)
        child = np.arange(len(firsts), dtype=np.int64) - firsts  # number within its parent
        labels = (np.repeat(labels, counts) << np.uint64(width)) | child.astype(np.uint64)
        widths.append(width)
    level_of_bit = np.zeros(65, np.uint8)
    bit = 0
    for number, width in enumerate(reversed(widths), start=1):  # 1 = innermost
        level_of_bit[bit + 1 : bit + width + 1] = number
        bit += width
    level_of_bit[bit + 1 :] = depth
    costs = np.array([0] + [level.distance for level in reversed(tree.tiers)], np.int64)
    return TreeDistance(own(labels), own(level_of_bit), own(costs))
