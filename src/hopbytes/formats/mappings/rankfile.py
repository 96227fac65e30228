"""Reader of Open MPI's rankfiles: every line holds a rank, a host and a set of cores."""

from __future__ import annotations

import re

import numpy as np

from hopbytes._arrays import Int32
from hopbytes._frozen import frozen
from hopbytes.errors import FormatError
from hopbytes.formats.base import Source
from hopbytes.formats.mappings.host_lists import (
    MAX_RANKS,
    allocation_of,
    check_count,
    node_numbers,
    node_of_host,
)
from hopbytes.formats.mappings.slot_lists import Counting, Slots
from hopbytes.model.allocation import Allocation
from hopbytes.model.mapping import Mapping
from hopbytes.text.cpu_lists import number_range

LINE = re.compile(
    r"rank\s+(?P<rank>[0-9]{1,9})\s*=\s*(?:[\w-]+@)?(?P<host>[^\s@]+)\s+slots?\s*=\s*(?P<slot>\S.*)",
    re.ASCII | re.IGNORECASE,
)
#: Comments as Open MPI's scanner knows them; those between ``/*`` and ``*/`` may have several lines.
COMMENT = re.compile(r"#[^\n]*|//[^\n]*|/\*.*?(?:\*/|\Z)", re.DOTALL)
PACKAGE_LEVELS = ("package", "socket", "pack")


@frozen
class Line:
    """Number, host and slot text of a line."""

    number: int
    host: str
    slot: str


def read_rankfile(source: Source) -> Mapping:
    """Return the mapping of a rankfile.

    Hosts are names of the allocation, or ``+nX`` for its X-th node. Slots are ``0-2,5`` (logical cores
    of the node), ``1:0-2`` and ``1:*`` (cores of a package), ``S1`` (a package), several of them behind
    semicolons, or ``p3`` (a CPU of the operating system, as old versions wrote it). Ranks may have any number
    of cores where the slots of `where` are single cores: the mapping then has slots of its own.
    Options: `where`, `n`, `threads` (slots count hardware threads).

    Source: rmaps_rank_file_lex.l and opal_hwloc_base_cpu_list_parse of Open MPI 4.1, the same of PRRTE 3.
    """
    threads = source.options.get("threads") or _counts_threads(source)  # before the text is consumed
    lines = _lines(source)
    where = allocation_of(source, "a rankfile")
    slots, known = Slots(where), node_numbers(where)
    nodes = int(slots.node_of_place[-1]) + 1
    counting: Counting = "place" if threads else "core"
    asked: list[tuple[int, list[int], Counting]] = []
    for line in lines:
        place = (source.name, line.number)
        if line.host.startswith("+n"):
            text = line.host[2:]
            node = int(text) if re.fullmatch(r"[0-9]{1,9}", text, re.ASCII) else nodes
            if node >= nodes:
                raise FormatError(*place, f"node {line.host[:40]}, expected +n0 to +n{nodes - 1}")
        else:
            node = node_of_host(where, known, line.host, place)
        numbers, as_cpus = _numbers(slots, node, line.slot, place)
        asked.append((node, numbers, "cpu" if as_cpus else counting))
    info = {"problem": "processes", "mapper": source.title}
    places = [(source.name, line.number) for line in lines]
    if where.k == len(where.cores):
        own = [slots.places_of(*one, place) for one, place in zip(asked, places, strict=True)]
        if any(len(rank) > 1 for rank in own):
            check_count(source, len(lines))
            return Mapping(*_cut_by_ranks(source, where, lines, own), info)
    pe = [slots.pe(*one, place) for one, place in zip(asked, places, strict=True)]
    check_count(source, len(lines))
    return Mapping(np.array(pe, np.int32), where, info)


def _cut_by_ranks(
    source: Source, where: Allocation, lines: list[Line], own: list[tuple[int, ...]]
) -> tuple[Int32, Allocation]:
    """Return the PE of every rank, and slots that are the cores of ranks."""
    distinct = sorted(set(own))
    holder: dict[int, tuple[int, ...]] = {}
    allowed = set(where.cores.tolist())
    for places, line in zip(own, lines, strict=True):
        for place in places:
            if place not in allowed or holder.setdefault(place, places) != places:
                what = "is partly that of another rank" if place in allowed else "is not in the job"
                found = f"slot {line.slot[:40]} {what}"
                expected = "expected cores of its own, or the same as another rank"
                raise FormatError(source.name, line.number, f"{found}, {expected}")
    starts = np.cumsum([0, *(len(places) for places in distinct)]).astype(np.int64)
    cores = np.concatenate([np.array(places, np.int64) for places in distinct])
    number = {places: pe for pe, places in enumerate(distinct)}
    return (
        np.array([number[places] for places in own], np.int32),
        Allocation(where.machine, starts, cores, where.hosts),
    )


def _counts_threads(source: Source) -> bool:
    """Tell whether the comment that hopbytes writes into the first line says that slots are threads.

    Rankfiles of other programs do not contain this fact.
    """
    return b"slot = logical hardware threads" in source.head(200)


def _lines(source: Source) -> list[Line]:
    found: dict[int, Line] = {}
    text = COMMENT.sub(lambda comment: "\n" * comment[0].count("\n"), source.text())
    for number, raw in enumerate(text.splitlines(), start=1):
        line = raw.strip()
        if not line:
            continue
        parts = LINE.fullmatch(line)
        if parts is None:
            what = f"{line[:60]!r}, expected a line like 'rank 0=n1 slot=0-1'"
            raise FormatError(source.name, number, what)
        rank = int(parts["rank"])
        if rank in found:
            what = f"rank {rank} is repeated (first in line {found[rank].number}), expected every rank once"
            raise FormatError(source.name, number, what)
        found[rank] = Line(number, parts["host"], parts["slot"].strip())
        if len(found) > MAX_RANKS:
            raise FormatError(source.name, number, f"more ranks than expected, at most {MAX_RANKS}")
    for rank in range(len(found)):
        if rank not in found:
            raise FormatError(source.name, None, f"rank {rank} is missing, expected 0 to {max(found)}")
    return [found[rank] for rank in range(len(found))]


def _numbers(slots: Slots, node: int, text: str, place: tuple[str, int | None]) -> tuple[list[int], bool]:
    """Return the core numbers of a slot, and whether they are CPU numbers of the operating system."""
    if text[:1] in "pP" and ":" not in text:
        return _list(text[1:], text, place), True
    numbers: set[int] = set()
    for item in text.split(";"):
        runs = item.split(",")
        parts = runs if all(":" in run for run in runs) else [item]  # 0:0,1:2 is of two packages
        for part in parts:
            numbers.update(_item(slots, node, part.strip(), place))
    return sorted(numbers), False


def _item(slots: Slots, node: int, text: str, place: tuple[str, int | None]) -> list[int]:
    """Return the core numbers of a part of a slot, which has no semicolon."""
    bare = text[1:] if text[:1] in "sSpP" else text
    package, colon, cores = bare.rpartition(":")
    if bare != text and not colon:  # S0,1 are whole packages
        packages = _list(bare, text, place)
        return [core for one in packages for core in _in_package(slots, node, str(one), "*", place)]
    if colon:
        return _in_package(slots, node, package, cores, place)
    return sorted(slots.places(node, "core")) if text == "*" else _list(text, text, place)


def _in_package(
    slots: Slots, node: int, package: str, cores: str, place: tuple[str, int | None]
) -> list[int]:
    level = slots.where.machine.level_named(PACKAGE_LEVELS)
    if not re.fullmatch(r"[0-9]{1,9}", package, re.ASCII):
        raise FormatError(*place, f"slot {package[:20]}:{cores[:20]}, expected package:cores like 1:0-2")
    if level is None and int(package) == 0:
        inside = sorted(slots.places(node, "core"))  # without such a level the node is one package
    elif level is None:
        raise FormatError(*place, f"package {package}, expected a machine with a level named package")
    else:
        inside = slots.cores_of_unit(node, level, int(package))
    if not inside:
        raise FormatError(*place, f"package {package} of node {node}, expected a package of this node")
    if cores == "*":
        return inside
    wanted = _list(cores, cores, place)
    if wanted[-1] >= len(inside):
        what = f"core {wanted[-1]} of package {package}, expected 0 to {len(inside) - 1}"
        raise FormatError(*place, what)
    return [inside[number] for number in wanted]


def _list(text: str, shown: str, place: tuple[str, int | None]) -> list[int]:
    numbers: set[int] = set()
    for run in text.split(","):
        cores = number_range(run, 7)
        if cores is None or len(cores) > 2**20:
            raise FormatError(*place, f"slot {shown[:40]!r}, expected cores like 0-3,6 or 1:0-2")
        numbers.update(cores)
    return sorted(numbers)
