"""Network files of netloc 2.x (``IB-SUBNET-nodes.txt``): nodes, links and paths."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from hopbytes.errors import FormatError
from hopbytes.fabrics.fabric import Fabric, link_rates
from hopbytes.fabrics.ibnetdiscover import AGGREGATION
from hopbytes.fabrics.rates import bytes_per_second
from hopbytes.fabrics.survey import Device
from hopbytes.text.lines import read_lines

MAX_BYTES = 2**31
LONGEST_LINE = 2**22
#: Fields of one link inside an edge: id, ports, width, speed, Gbit/s, description, id back, partitions.
LINK_FIELDS = 9


@dataclass(slots=True)
class _Link:
    source: str
    target: str
    source_port: int
    target_port: int
    rate: int | None
    line: int


@dataclass(slots=True)
class _Parsed:
    """What the file says, before numbers are given."""

    path: str
    devices: dict[str, Device] = field(default_factory=dict)
    links: dict[int, _Link] = field(default_factory=dict)
    paths: list[tuple[int, str, str, list[int]]] = field(default_factory=list)


def read_netloc(path: str) -> Fabric:
    """Read a network file of netloc 2.x."""
    parsed = _Parsed(path)
    lines = iter(enumerate(read_lines(path, MAX_BYTES, LONGEST_LINE), start=1))
    count = _header(path, lines)
    partitions_seen = False
    for number, line in lines:
        words = _fields(path, number, line)
        if not line.strip():
            continue
        if len(parsed.devices) < count:
            _node(parsed, words, number)
        elif partitions_seen:
            source, target = (*words, "")[:2]
            _check_known(parsed, [source, target], number)
            links = [_integer(parsed, word, number) for word in words[2:] if word]
            parsed.paths.append((number, source, target, links))
        elif words[0] in parsed.devices:
            _edges(parsed, words, number)
        else:
            partitions_seen = True  # their names, one line between edges and paths
    if len(parsed.devices) < count:
        raise FormatError(path, None, f"{len(parsed.devices)} nodes, the file promises {count}: is it cut?")
    return _build(parsed)


def _header(path: str, lines: Iterator[tuple[int, str]]) -> int:
    head = [line.strip() for _, line in (next(lines, (0, "")) for _ in range(4))]
    if head[0] != "1":
        raise FormatError(path, 1, f"version {head[0][:20]!r}, expected 1 (netloc 2.x)")
    if not (head[3].isascii() and head[3].isdigit() and 0 < int(head[3][:9]) < 2**24):
        raise FormatError(path, 4, f"{head[3][:20]!r}, expected the number of nodes")
    return int(head[3])


def _fields(path: str, number: int, line: str) -> list[str]:
    """Split at commas outside single quotes."""
    try:
        rows = csv.reader([line.replace("\r", " ")], quotechar="'", skipinitialspace=True)
        return [word.strip() for word in next(rows, [])]
    except csv.Error as error:  # a field of more than 128 KiB
        raise FormatError(path, number, f"{error}, expected fields between commas") from None


def _node(parsed: _Parsed, words: list[str], number: int) -> None:
    if len(words) < 5:
        raise FormatError(parsed.path, number, f"{len(words)} fields, expected id, LID, type, …, name")
    key, lid, kind, name = words[0], words[1], words[2], words[4]
    host = words[5] if len(words) > 5 else ""
    try:
        guid = int(key.replace(":", ""), 16)
    except ValueError:
        guid = -1
    if not 0 <= guid < 2**64 or kind not in ("0", "1") or not (lid.isascii() and lid.isdigit()):
        what = f"{key[:24]!r}, {lid[:8]!r}, {kind[:8]!r}, expected a GUID, a LID, 0 or 1"
        raise FormatError(parsed.path, number, what)
    if key in parsed.devices:
        first = parsed.devices[key].line
        raise FormatError(parsed.path, number, f"node {key} a second time, first at line {first}")
    if host and not name.startswith(host):
        name = f"{host} {name.partition(' ')[2]}"
    parsed.devices[key] = Device(key, kind == "1", name, guid, guid, 0, int(lid[:5]), 0, number)


def _check_known(parsed: _Parsed, keys: list[str], number: int) -> None:
    for key in keys:
        if key not in parsed.devices:
            raise FormatError(parsed.path, number, f"{key[:40]!r} is none of the nodes above")


def _edges(parsed: _Parsed, words: list[str], number: int) -> None:
    """Read the edges of one node: per neighbour its id, bandwidth, partitions, count, then its links."""
    _check_known(parsed, words[:1], number)
    at = 1
    while at < len(words):
        head = words[at : at + 4]
        if len(head) == 1 and not head[0]:
            break
        _check_known(parsed, head[:1], number)
        links = _integer(parsed, head[3] if len(head) > 3 else "", number)
        at += 4
        for _ in range(links):
            link = words[at : at + LINK_FIELDS]
            if len(link) < LINK_FIELDS - 1:
                what = f"{len(link)} fields of a link, expected {LINK_FIELDS}"
                raise FormatError(parsed.path, number, what)
            _link(parsed, words[0], head[0], link, number)
            at += LINK_FIELDS


def _link(parsed: _Parsed, source: str, target: str, words: list[str], number: int) -> None:
    name, near, far = (_integer(parsed, word, number) for word in words[:3])
    width = words[3][:-1] if words[3].endswith("x") else ""
    lanes = int(width) if width.isascii() and width.isdigit() and len(width) < 3 else 0
    if name in parsed.links:
        raise FormatError(parsed.path, number, f"link {name} a second time, expected distinct numbers")
    rate = bytes_per_second(lanes, words[4])
    parsed.links[name] = _Link(source, target, near, far, rate, number)


def _integer(parsed: _Parsed, text: str, number: int) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise FormatError(parsed.path, number, f"{text[:20]!r}, expected an integer >= 0")
    return int(text)


def _build(parsed: _Parsed) -> Fabric:
    hidden = {key for key, device in parsed.devices.items() if AGGREGATION in device.name}
    devices = [device for key, device in parsed.devices.items() if key not in hidden]
    switches = tuple(device for device in devices if device.is_switch)
    adapters = tuple(device for device in devices if not device.is_switch)
    if not adapters:
        raise FormatError(parsed.path, None, "no host among the nodes, expected at least one")
    place = {device.key: number for number, device in enumerate((*switches, *adapters))}
    links = sorted(
        (item for item in parsed.links.items() if not {item[1].source, item[1].target} & hidden),
        key=lambda item: (place[item[1].source], item[1].source_port, item[0]),
    )
    number_of = {name: number for number, (name, _) in enumerate(links)}
    capacity, notices = link_rates([link.rate for _, link in links])
    return Fabric(
        switches, adapters,
        np.array([place[link.source] for _, link in links], np.int32),
        np.array([place[link.target] for _, link in links], np.int32),
        np.array([link.source_port for _, link in links], np.int32),
        np.array([link.target_port for _, link in links], np.int32),
        capacity, _forward(parsed, place, number_of, len(switches), len(adapters)), tuple(notices),
    )


def _forward(
    parsed: _Parsed, place: dict[str, int], number_of: dict[int, int], switches: int, adapters: int
) -> np.ndarray[tuple[int, ...], np.dtype[np.int32]] | None:
    """Turn paths into forwarding: what leaves a switch towards a host takes one link."""
    if not parsed.paths:
        return None
    forward = np.full((switches, adapters), -1, np.int32)
    for number, source, target, path in parsed.paths:
        here = source
        for name in path:
            link = parsed.links.get(name)
            if link is None or link.source != here:
                raise FormatError(parsed.path, number, f"link {name} of the path does not leave {here}")
            device, goal = place.get(here, -1), place.get(target, -1) - switches
            if 0 <= device < switches and goal >= 0 and name in number_of:
                other = int(forward[device, goal])
                if other not in (-1, number_of[name]):
                    what = f"two paths leave switch {here} differently towards {target}"
                    raise FormatError(parsed.path, number, f"{what}, expected one link per target")
                forward[device, goal] = number_of[name]
            here = link.target
        if here != target:
            raise FormatError(parsed.path, number, f"the path ends at {here}, expected {target}")
    return forward
