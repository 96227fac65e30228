"""``synthetic:``: nodes in the short notation of hwloc, ``pack:2 numa:2 core:8 pu:2``."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hopbytes._arrays import Int64
from hopbytes._frozen import frozen
from hopbytes.errors import FormatError, UnsupportedError
from hopbytes.machines.base import machines
from hopbytes.machines.node.node_tree import NodeTree, Part, node_tree
from hopbytes.machines.node_machine import NodeMachine
from hopbytes.machines.tree import shorten
from hopbytes.text.cpu_lists import MAX_PUS
from hopbytes.text.hostlist import expand_hosts

#: Names of types as hwloc spells them; a beginning that fits only one kind is enough.
TYPES = {
    "numanode": "numa", "node": "numa", "package": "package", "socket": "package", "die": "die",
    "core": "core", "pu": "pu", "group": "group",
}  # fmt: skip
GROUP = re.compile(r"group[0-9]{1,4}", re.ASCII)
CACHE = re.compile(r"l([1-5])([udi]?)(?:cache)?", re.ASCII)
#: Types that hwloc chooses for bare numbers, by how many there are.
BARE = {
    1: ("pu",),
    2: ("numa", "pu"),
    3: ("package", "numa", "pu"),
    4: ("package", "numa", "core", "pu"),
    5: ("package", "numa", "l2", "core", "pu"),
    6: ("package", "numa", "l2", "l1", "core", "pu"),
    7: ("package", "numa", "l3", "l2", "l1", "core", "pu"),
}
TOKEN = re.compile(
    r"(?P<memory>\[\s*(?P<mtype>[A-Za-z]+)\s*(?:\([^()]*\)\s*)?\])"
    r"|(?:(?P<type>[A-Za-z][A-Za-z0-9]*):)?(?P<count>0[xX][0-9a-fA-F]{1,8}|[0-9]{1,9})"
    r"(?:\((?P<attributes>[^()]*)\))?",
    re.ASCII,
)
#: Attributes of the whole node, before all levels.
MACHINE = re.compile(r"\([^()]*\)")
LOOP = re.compile(r"([1-9][0-9]{0,8})\*([1-9][0-9]{0,8})", re.ASCII)


@machines.register("synthetic")
@frozen(eq=False)
class Synthetic(NodeMachine):
    """Nodes in hwloc's synthetic notation, ``synthetic:pack:2 numa:2 core:8 pu:2``, also for several hosts.

    Counts are children per parent, outermost first; ``[numa]`` attaches a memory node to the level before it;
    ``pu:2(indexes=…)`` says how the operating system numbers the PUs. ``@n[1-8]`` at the end makes eight, and
    ``synthetic:core:4@n[1-8],synthetic:core:8@n[9-16]`` unlike nodes.

    >>> Synthetic.parse("pack:2 l3:2 core:4 pu:1").topology.spec()
    'package:2@10 l3:2@3 core:4@1'
    """

    @classmethod
    def parse(cls, text: str) -> Synthetic:
        return cls.of_parts("synthetic", text, _description, read_synthetic)


def _description(part: str) -> tuple[str, list[str]]:
    description, at, names = part.partition("@")
    return description, expand_hosts(names, "machine") if at else []


@dataclass
class _Tier:
    kind: str
    count: int
    indexes: str = ""
    memory: int = 0  # memory nodes attached to each unit of this level


def read_synthetic(text: str) -> NodeTree:
    """Build the node that a synthetic description means.

    O(PUs x levels). Types without PUs inside ``pu`` are refused; a description without ``pu`` gets one per
    innermost unit, which hwloc would refuse.

    Source: hwloc 2.14 documentation, "Synthetic topologies"; results compared with its ``lstopo``.
    """
    tiers, memory = _tiers(text)
    total = math.prod(tier.count for tier in tiers)
    if total > MAX_PUS:
        raise _bad(f"{total} PUs, expected at most {MAX_PUS}")
    order = _indexes(tiers, total)
    parts = [Part("pu", number) for number in order.tolist()]
    for tier, inner in zip(tiers[-2::-1], tiers[:0:-1], strict=True):  # from the inside out
        starts = range(0, len(parts), inner.count)
        groups = [_in_order(parts[start : start + inner.count]) for start in starts]
        if tier.memory:
            groups = [(Part("numa", number, group),) for number, group in enumerate(groups)]
        memory += len(groups) * (tier.memory + (tier.kind == "numa"))
        parts = [Part(tier.kind, number, group) for number, group in enumerate(groups)]
    return node_tree(Part("machine", 0, _in_order(parts)), numa=memory or 1, where="synthetic")


def _in_order(parts: Sequence[Part]) -> tuple[Part, ...]:
    """Siblings by their lowest PU, as hwloc has them, whatever order the operating system's numbers make."""
    return tuple(sorted(parts, key=_lowest))


def _lowest(part: Part) -> int:
    while part.inside:
        part = part.inside[0]
    return part.os_index


def _bad(what: str) -> FormatError:
    return FormatError("synthetic", None, what)


def _tiers(text: str) -> tuple[list[_Tier], int]:
    """Return the levels, and the number of memory nodes of the whole node."""
    tiers: list[_Tier] = []
    memory = 0
    for index, word in enumerate(_words(text)):
        if index == 0 and MACHINE.fullmatch(word):
            continue
        found = TOKEN.fullmatch(word)
        if found is None:
            raise _bad(f"{shorten(word)}, expected TYPE:COUNT like core:8, or [numa]")
        if found["memory"]:
            if _kind(found["mtype"]) != "numa":
                raise _bad(f"{shorten(word)}, expected [numa]")
            if tiers:
                tiers[-1].memory += 1
            else:  # memory of the whole node makes no unit inside it
                memory += 1
            continue
        count = _count(found["count"])
        if not 1 <= count <= MAX_PUS:
            raise _bad(f"{shorten(word)}, expected a count from 1 to {MAX_PUS}")
        kind = _kind(found["type"]) if found["type"] else ""
        if tiers and tiers[-1].kind == "pu":
            raise _bad(f"{shorten(word)} inside pu, expected pu as the last level")
        tiers.append(_Tier(kind, count, _attribute(found["attributes"] or "", "indexes")))
    if not tiers:
        raise _bad("an empty description, expected one like 'pack:2 core:8 pu:2'")
    bare = [tier.kind == "" for tier in tiers]
    if any(bare):
        if not all(bare):
            raise _bad("some levels with a type and some without, expected a type for all or for none")
        if len(tiers) not in BARE:
            what = f"{len(tiers)} bare counts, expected at most {max(BARE)} of them, or types"
            raise UnsupportedError(f"synthetic: {what}")
        for tier, kind in zip(tiers, BARE[len(tiers)], strict=True):
            tier.kind = kind
    if tiers[-1].kind != "pu":
        tiers.append(_Tier("pu", 1))
    return tiers, memory


def _count(text: str) -> int:
    """Return a count as hwloc reads it: in decimal, octal after 0, hexadecimal after 0x; 0 if it is none."""
    base = 16 if text[:2].lower() == "0x" else 8 if text[0] == "0" else 10
    try:
        return int(text, base)
    except ValueError:
        return 0


def _words(text: str) -> list[str]:
    """Split at blanks outside brackets of both kinds."""
    return re.findall(r"(?:\[[^\[\]]*\]|\([^()]*\)|[^\s\[\]()])+", text)


def _kind(name: str) -> str:
    """Kind of a type by any beginning of its name; caches of instructions are caches."""
    word = name.lower()
    cache = CACHE.fullmatch(word)
    if cache:
        return f"l{cache[1]}"
    if GROUP.fullmatch(word):
        return "group"
    kinds = {kind for full, kind in TYPES.items() if full.startswith(word)}
    if len(kinds) != 1:
        known = "numa, package, die, core, pu, group, l1 to l5"
        raise UnsupportedError(f"synthetic: type {shorten(name)}, expected one of {known}")
    return kinds.pop()


def _attribute(text: str, name: str) -> str:
    """Value of an attribute: lists with commas end where the next attribute begins."""
    found = re.search(rf"(?:^|[\s,]){name}=([^=]*)", text)
    if found is None:
        return ""
    value, following = found[1], found.end() < len(text)  # up to the next "=": with the name before that
    return (re.sub(r"(?<![\s,])[\s,]+[a-z]{1,40}$", "", value) if following else value).strip()


def _indexes(tiers: Sequence[_Tier], total: int) -> Int64:
    """int64[total]: number of the operating system of every PU in logical order."""
    text = tiers[-1].indexes
    if not text:
        return np.arange(total, dtype=np.int64)
    if re.fullmatch(r"[0-9]{1,5}(,[0-9]{1,5})*", text, re.ASCII):
        numbers = np.array([int(word) for word in text.split(",")], np.int64)
        if len(numbers) != total or len(np.unique(numbers)) != total or int(numbers.max()) >= MAX_PUS:
            what = f"{len(numbers)} indexes for {total} PUs, expected one for each, distinct, below {MAX_PUS}"
            raise _bad(what)
        return numbers
    loops = _loops(text, tiers, total)
    width = math.prod(count for _, count in loops)
    if 0 < width < total == width * min(step for step, _ in loops):
        loops.append((1, total // width))  # the innermost loop may be left out
    elif width != total:
        raise _bad(f"indexes={shorten(text)} number {width} PUs, expected {total}")
    # The first loop runs fastest as the operating system counts.
    position = np.zeros(1, np.int64)
    for step, count in loops:
        position = (np.arange(count, dtype=np.int64)[:, None] * step + position[None, :]).reshape(-1)
    numbers = np.full(total, -1, np.int64)
    if int(position.max()) >= total or len(np.unique(position)) != total:
        raise _bad(f"indexes={shorten(text)} meet a PU twice, expected each once")
    numbers[position] = np.arange(total)
    return numbers


def _loops(text: str, tiers: Sequence[_Tier], total: int) -> list[tuple[int, int]]:
    """(step, count) of each loop of ``12*2:2*6:1*2`` or ``numa:core``."""
    words = text.split(":")
    if all(LOOP.fullmatch(word) for word in words):
        pairs = [word.split("*") for word in words]
        return [(int(step), int(count)) for step, count in pairs]
    widths = np.cumprod([tier.count for tier in tiers]).tolist()
    kinds = [_kind(word) if word else "" for word in words]
    depths = []
    for kind in kinds:
        depth = next((index for index, tier in enumerate(tiers) if tier.kind == kind), None)
        if depth is None or depth in depths:
            what = "expected numbers, loops like 2*8:1*2, or levels like numa:core"
            raise _bad(f"indexes={shorten(text)}, {what}")
        depths.append(depth)
    loops = []
    for depth in depths:
        outer = max((widths[other] for other in depths if other < depth), default=1)
        loops.append((total // widths[depth], widths[depth] // outer))
    left = total // widths[max(depths)]
    return loops if left == 1 else [*loops, (1, left)]
