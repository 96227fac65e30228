"""Coordinates of nodes: Cray's xtdb2proc, and plain tables ``node x y z``."""

from __future__ import annotations

import re

from hopbytes._frozen import frozen
from hopbytes.errors import FormatError
from hopbytes.text.hostlist import HOST_NAME
from hopbytes.text.lines import natural_key, read_lines

MAX_NODES = 2**22
FIELD = re.compile(r"([A-Za-z_]{1,40})=('[^']*'|[^,]*)", re.ASCII)
INTEGER = re.compile(r"[0-9]{1,9}", re.ASCII)


@frozen
class Coordinates:
    """Where nodes are."""

    hosts: tuple[str, ...]  # in the order of the file
    places: tuple[tuple[int, ...], ...]  # one coordinate per dimension, >= 0; several nodes may share a place
    dims: tuple[int, ...]  # sizes: as the file says, else one more than the largest coordinate
    notices: tuple[str, ...] = ()


def read_xtdb2proc(path: str) -> Coordinates:
    """Read the records of Cray's xtdb2proc: compute nodes that are up, named ``nid00042`` by processor_id."""
    hosts: list[str] = []
    places: list[tuple[int, ...]] = []
    left_out = 0
    lines: dict[str, int] = {}
    for number, text in enumerate(read_lines(path), start=1):
        line = text.strip()
        if not line or line.startswith("#"):
            continue
        record = dict(FIELD.findall(line))
        missing = [key for key in ("x_coord", "y_coord", "z_coord", "processor_id") if key not in record]
        if missing:
            raise FormatError(path, number, f"a record without {missing[0]}=, expected one of xtdb2proc")
        if (record.get("processor_type", "'compute'"), record.get("processor_status", "'up'")) != (
            "'compute'", "'up'",
        ):
            left_out += 1
            continue
        values = [record[key] for key in ("x_coord", "y_coord", "z_coord", "processor_id")]
        for value in values:
            if not INTEGER.fullmatch(value):
                raise FormatError(path, number, f"{value[:20]!r}, expected an integer >= 0")
        host = f"nid{int(values[3]):05d}"
        if lines.setdefault(host, number) != number:
            raise FormatError(path, number, f"node {host} a second time, first at line {lines[host]}")
        hosts.append(host)
        places.append(tuple(map(int, values[:3])))
    if not hosts:
        raise FormatError(path, None, "no compute node that is up, expected records of xtdb2proc")
    notices = (f"{left_out} nodes left out: down, or no compute nodes",) if left_out else ()
    return Coordinates(tuple(hosts), tuple(places), _extent(places), notices)


def read_coordinates(path: str, columns: int | None = None) -> Coordinates:
    """Read a table of nodes and coordinates: a name (or number) and integers per line.

    Rows may repeat a node at its place (boxfish has one per code region); it counts once. O(bytes).
    """
    rows: dict[str, tuple[int, ...]] = {}
    width = columns
    skip, in_header = 0, False
    fields: list[str] = []
    for number, text in enumerate(read_lines(path), start=1):
        line = text.partition("#")[0].strip()
        if line in ("---", "..."):
            in_header = line == "---"
            if not in_header and fields:
                skip, width = _boxfish_columns(path, number, fields, columns)
            continue
        if in_header:
            found = re.match(r"- \[\s*([A-Za-z_]\w*)\s*,", line)
            if found:
                fields.append(found[1])
            continue
        words = line.replace(",", " ").split()
        if not words or (not rows and width is None and not any(INTEGER.fullmatch(word) for word in words)):
            continue
        if width is None:
            width = len(words) - 1
        _row(path, number, words, skip, width, bool(fields), rows)
    if not rows:
        raise FormatError(path, None, "no row, expected a node and its coordinates per line")
    places = list(rows.values())
    return Coordinates(tuple(rows), tuple(places), _extent(places))


def _boxfish_columns(path: str, number: int, fields: list[str], columns: int | None) -> tuple[int, int]:
    if "nodeid" not in fields:
        raise FormatError(path, number, f"fields {', '.join(fields[:6])}, expected nodeid and coordinates")
    first = fields.index("nodeid")
    if columns is not None:
        return first, columns
    width = 0
    while first + 1 + width < len(fields) and len(fields[first + 1 + width]) == 1:
        width += 1
    if not width:
        raise FormatError(path, number, "no coordinates after nodeid, expected fields like x, y, z")
    return first, width


def _row(
    path: str, number: int, words: list[str], skip: int, width: int, longer: bool,
    rows: dict[str, tuple[int, ...]],
) -> None:
    have = len(words) - skip - 1
    if have < width or (have > width and not longer) or not 1 <= width <= 8:
        raise FormatError(path, number, f"{len(words)} words, expected a node and {width} coordinates")
    name, values = words[skip], words[skip + 1 : skip + 1 + width]
    for value in values:
        if not INTEGER.fullmatch(value):
            raise FormatError(path, number, f"{value[:20]!r}, expected a coordinate, an integer >= 0")
    if not HOST_NAME.fullmatch(name):
        raise FormatError(path, number, f"{name[:40]!r}, expected the name of a node")
    place = tuple(map(int, values))
    if rows.setdefault(name, place) != place:
        raise FormatError(path, number, f"node {name} at {place}, but at {rows[name]} above")
    if len(rows) > MAX_NODES:
        raise FormatError(path, number, f"more than {MAX_NODES} nodes")


def _extent(places: list[tuple[int, ...]]) -> tuple[int, ...]:
    return tuple(1 + max(axis) for axis in zip(*places, strict=True))


def sorted_by_place(found: Coordinates) -> Coordinates:
    """Return the same nodes in the order of their places (first dimension slowest), then of their names."""
    keys = [(place, natural_key(host)) for place, host in zip(found.places, found.hosts, strict=True)]
    order = sorted(range(len(keys)), key=keys.__getitem__)
    return Coordinates(
        tuple(found.hosts[node] for node in order), tuple(found.places[node] for node in order),
        found.dims, found.notices,
    )
