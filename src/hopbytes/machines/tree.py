"""Trees: named levels with a number of children each, equal or not; names of levels as people type them."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from hopbytes._arrays import Bool, Int32, Int64, UInt64
from hopbytes._frozen import frozen, own
from hopbytes.errors import FormatError, nearest, unknown_name
from hopbytes.machines.base import MAX_CAPACITY, NODE_NAMES, Level, Machine, machines
from hopbytes.machines.distances import TreeDistance
from hopbytes.util.computed_once import computed_once

#: Number of units per unit of the level outside, or one number for each of those.
Count = int | tuple[int, ...]
MAX_CORES = 2**24
MAX_LEVELS = 64
MAX_DISTANCE = 2**62
LEVEL_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,62}")
#: Levels outside nodes: a tree that has one of them but no node was meant to have nodes.
OUTSIDE_NODES = ("island", "rack", "cabinet", "switch", "chassis", "blade", "enclosure")
#: Levels inside nodes, and words for them that people use, with the range of depths at which each is found:
#: NUMA domains hold packages on some machines, and lie inside an L3 cache on others.
_INSIDE = {
    "package": (2, 2), "socket": (2, 2), "chip": (2, 2), "die": (2, 2), "numa": (2, 3), "group": (2, 3),
    "cmg": (2, 3), "ccd": (2, 3), "ccx": (3, 3), "cluster": (3, 3), "tile": (3, 3), "module": (3, 3),
    "l5": (3, 3), "l4": (3, 3), "l3": (3, 3), "l2": (3, 3), "gpu": (2, 3), "l1": (3, 4), "core": (4, 4),
    "pu": (5, 5),
}  # fmt: skip
_DEPTHS = dict.fromkeys(("island", "rack", "cabinet"), (0, 0)) | dict.fromkeys(NODE_NAMES, (1, 1)) | _INSIDE
_NUMBERED = re.compile(r"level[0-9]+")


_NAMES = (*NODE_NAMES, *OUTSIDE_NODES, *_INSIDE)
_PLURALS = {f"{name}es" if name.endswith(("s", "ch")) else f"{name}s": name for name in _NAMES}
#: Every spelling that is understood, in lower case, with the name of its level.
WORDS = {name: name for name in _NAMES} | _PLURALS | {"numanode": "numa", "numanodes": "numa"}


def level_name(word: str) -> str:
    """Return the name of the level that a word means: a known name in any case, also in the plural.

    Unknown words are returned unchanged.
    """
    return WORDS.get(word.lower(), word) if isinstance(word, str) else word


def check_order(names: Sequence[str], tokens: Sequence[str]) -> None:
    """Refuse levels that are not written outermost first, with the order that was probably meant."""
    known = [(index, name) for index, name in enumerate(names) if name in _DEPTHS]
    for inner, name in sorted(known, key=lambda item: _DEPTHS[item[1]]):
        for _, outer in known[: known.index((inner, name))]:
            if _DEPTHS[name][1] < _DEPTHS[outer][0]:
                what = f"{name} stands inside {outer}: levels are written outermost first"
                raise bad(f"{what}, '{_ordered(names, tokens)}'")


def _ordered(names: Sequence[str], tokens: Sequence[str]) -> str:
    depths = [_DEPTHS[name][0] for name in names if name in _DEPTHS]
    if depths == sorted(depths, reverse=True):  # the whole text was written innermost first
        return " ".join(tokens[::-1])
    order = sorted(range(len(names)), key=lambda index: _DEPTHS.get(names[index], (1, 1)))
    return " ".join(tokens[index] for index in order)


def one_host(levels: Sequence[Level], cores: int) -> str | None:
    """Say that a tree without nodes is taken as one host; None when it has nodes."""
    if any(level.name in NODE_NAMES for level in levels):
        return None
    wanted = f"no level is called {', '.join(NODE_NAMES[:-1])} or {NODE_NAMES[-1]}"
    return f"{wanted}: the machine is taken as ONE host with all {cores} cores"


def nodes_missing(levels: Sequence[Level], cores: int) -> tuple[str, ...]:
    """Sentences about a tree that was probably meant to have nodes: its names are not those of a host."""
    notice = one_host(levels, cores)
    names = [level.name for level in levels]
    unknown = [name for name in names if name not in WORDS and not _NUMBERED.fullmatch(name)]
    of_nodes = (*NODE_NAMES, "nodes", "hosts", "servers")
    meant = [(name, level_name(near)) for name in unknown for near in nearest(name.lower(), of_nodes, 0.75)]
    if notice is None or not (meant or len(unknown) > 1 or any(name in OUTSIDE_NODES for name in names)):
        return ()
    return (notice + (f" (did you mean {meant[0][1]} by {meant[0][0]!r}?)" if meant else ""),)


def assumed(hierarchy: str | None, distance: str | None, levels: Sequence[Level]) -> tuple[str, ...]:
    """Say what the papers' notation leaves open, when no distances were given with it.

    >>> print(assumed("4:2", None, [Level("level2", 10), Level("level1", 1)])[0])   # doctest: +ELLIPSIS
    `hierarchy='4:2'`: distances 1:10 (`distance` gives others); ... (nodes: `machine='node:2@10 core:4@1'`)
    """
    if hierarchy is None or distance is not None:
        return ()
    distances = ":".join(str(level.distance) for level in reversed(levels))
    counts = [word.strip() for word in reversed(hierarchy.split(":"))]
    names = {1: ["node"], 2: ["node", "core"], 3: ["node", "package", "core"]}.get(len(levels), [])
    spec = " ".join(
        f"{name}:{count}@{level.distance}" for name, count, level in zip(names, counts, levels, strict=False)
    )
    named = f" (nodes: `machine='{spec}'`)" if names else " (`machine` names the level of nodes)"
    return (
        f"`hierarchy={hierarchy!r}`: distances {distances} (`distance` gives others); its levels have no "
        f"names, so the machine is taken as ONE host{named}",
    )


@machines.register("tree")
@frozen
class Tree(Machine):
    """A tree of named levels.

    >>> Tree((Level("node", 10), Level("core", 1)), (2, 4)).spec()
    'node:2@10 core:4@1'
    """

    tiers: tuple[Level, ...]  # outermost first
    #: per level, the number of units per unit of the level outside it: an integer, or one integer per outer
    #: unit when they differ (``node:[8,8,6]``)
    children: tuple[Count, ...]

    def __post_init__(self) -> None:
        if not self.tiers or len(self.tiers) != len(self.children):
            raise bad("a tree without levels, expected at least one like core:4")
        if len(self.tiers) > MAX_LEVELS:
            raise bad(f"{len(self.tiers)} levels, expected at most {MAX_LEVELS}")
        names = [level.name for level in self.tiers]
        for level in self.tiers:
            _check_level(level)
            if names.count(level.name) > 1:
                raise bad(f"level {level.name!r} twice, expected distinct names")
        for outer, inner in zip(self.tiers, self.tiers[1:], strict=False):
            if outer.distance < inner.distance:
                what = f"distance {outer.distance} of {outer.name} is below {inner.distance} of {inner.name}"
                raise bad(f"{what}, expected distances that do not shrink outwards")
        self._check_counts()

    def _check_counts(self) -> None:
        outer, bits = 1, 0
        for level, count in zip(self.tiers, self.children, strict=True):
            counts = count if isinstance(count, tuple) else (count,)
            if min(counts, default=0) < 1:
                raise bad(f"{level.name}:{min(counts, default=0)}, expected a count >= 1")
            if isinstance(count, tuple) and len(count) != outer:
                units = f"{outer} unit{'s' * (outer > 1)} outside it"
                hint = f": {len(count)} unequal nodes are 'node:{len(count)} core:[…]'" if outer == 1 else ""
                what = f"{level.name} lists {len(count)} counts"
                raise bad(f"{what}, expected one for each of the {units}{hint}")
            outer = sum(count) if isinstance(count, tuple) else outer * count
            bits += (max(counts) - 1).bit_length()
            if outer > MAX_CORES:
                raise bad(f"more than {MAX_CORES} units at level {level.name}, the most supported")
        if bits > 64:
            raise bad(f"{bits} bits of label, expected at most 64: use fewer levels")

    @property
    def topology(self) -> Tree:
        return self

    @property
    def n_cores(self) -> int:
        return _units(self)[-1]

    @property
    def levels(self) -> tuple[Level, ...]:
        return self.tiers

    @property
    def regular(self) -> list[int] | None:
        """The children per unit of every level, outermost first; None if units of a level differ."""
        counts = [count for count in self.children if isinstance(count, int)]
        return counts if len(counts) == len(self.children) else None

    def spec(self) -> str:
        return " ".join(
            _level_text(level, count) for level, count in zip(self.tiers, self.children, strict=True)
        )

    def notices(self, used: Bool | None = None) -> tuple[str, ...]:
        return nodes_missing(self.tiers, self.n_cores)

    def ancestors(self, level: int) -> Int32:
        units = np.arange(_units(self)[level], dtype=np.int32)
        for inner in range(level + 1, len(self.tiers)):
            units = np.repeat(units, _counts(self, inner, len(units)))
        return units

    @computed_once(16)
    def distance(self) -> TreeDistance:
        labels = np.zeros(1, np.uint64)
        widths = []
        for level in range(len(self.tiers)):
            counts = _counts(self, level, len(labels))
            width = int(counts.max() - 1).bit_length()
            firsts = np.repeat(np.cumsum(counts) - counts, counts)
            child = np.arange(len(firsts), dtype=np.int64) - firsts  # number within its parent
            labels = (np.repeat(labels, counts) << np.uint64(width)) | child.astype(np.uint64)
            widths.append(width)
        return _of_labels(self, labels, widths)

    def distance_of(self, cores: Int64) -> TreeDistance:
        counts = self.regular
        if len(cores) == self.n_cores or counts is None:
            return self.distance().select(cores)
        labels, rest, bit = np.zeros(len(cores), np.uint64), cores, 0
        for count in reversed(counts):
            rest, child = np.divmod(rest, count)
            labels |= child.astype(np.uint64) << np.uint64(bit)
            bit += (count - 1).bit_length()
        return _of_labels(self, labels, [(count - 1).bit_length() for count in counts])

    def with_distances(self, distances: Mapping[str, int]) -> Tree:
        check_levels(distances, [level.name for level in self.tiers])
        tiers = (replace(level, distance=distances.get(level.name, level.distance)) for level in self.tiers)
        return Tree(tuple(tiers), self.children)

    def split(self, cores: Int64) -> list[Int64]:
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


def count_of(counts: Sequence[int]) -> Count:
    """Return one number for counts that are all equal."""
    return counts[0] if len(set(counts)) == 1 else tuple(counts)


def check_levels(names: Iterable[str], known: Sequence[str]) -> None:
    """Refuse names of levels that a machine does not have."""
    for name in names:
        if name not in known:
            raise unknown_name("level", name, known)


def bad(what: str) -> FormatError:
    """Return the error about a spec."""
    return FormatError("machine", None, what)


def _check_level(level: Level) -> None:
    if not LEVEL_NAME.fullmatch(level.name):
        raise bad(f"level name {shorten(level.name)}, expected letters, digits, _ and -, at most 63 of them")
    if not 0 <= level.distance <= MAX_DISTANCE:
        raise bad(f"distance {level.distance} of {level.name}, expected an integer from 0 to 2**62")
    if level.bandwidth is not None and not 0 < level.bandwidth < math.inf:
        raise bad(f"bw={level.bandwidth} of {level.name}, expected bytes per second > 0")
    if level.latency is not None and not 0 <= level.latency < math.inf:
        raise bad(f"lat={level.latency} of {level.name}, expected seconds >= 0")
    if level.oversubscription is not None and not 1 <= level.oversubscription <= MAX_CAPACITY:
        over = f"over={level.oversubscription} of {level.name}"
        raise bad(f"{over}, expected a number from 1 to {MAX_CAPACITY}")
    if any(not 1 <= size <= MAX_CAPACITY for size in level.capacity):
        raise bad(f"cap={level.capacity} of {level.name}, expected integers from 1 to {MAX_CAPACITY}")


def shorten(text: str) -> str:
    """Quote a text the user typed so that it fits one line of a message."""
    return repr(text if len(text) <= 40 else text[:37] + "...")


def _lowest_bit_of_equal_cost(bit_costs: Int64, bit: int) -> int:
    """Return the lowest bit of the same cost as `bit`: levels of equal distance are cut at once."""
    return min(low for low in range(1, bit + 1) if bit_costs[low] == bit_costs[bit])


def _level_text(level: Level, count: Count) -> str:
    number = str(count) if isinstance(count, int) else "[" + ",".join(map(str, count)) + "]"
    keys = (("bw", level.bandwidth), ("lat", level.latency), ("over", level.oversubscription))
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


def _of_labels(tree: Tree, labels: UInt64, widths: Sequence[int]) -> TreeDistance:
    """Return distances by labels; `widths` are the bits of every level in them, outermost first."""
    level_of_bit = np.full(65, len(widths), np.uint8)
    level_of_bit[0] = 0
    bit = 0
    for number, width in enumerate(reversed(widths), start=1):  # 1 = innermost
        level_of_bit[bit + 1 : bit + width + 1] = number
        bit += width
    costs = np.array([0] + [level.distance for level in reversed(tree.tiers)], np.int64)
    return TreeDistance(own(labels), own(level_of_bit), own(costs))
