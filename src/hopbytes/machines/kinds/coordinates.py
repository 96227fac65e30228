"""Hosts on a torus or mesh by a table ``node x y z`` of their coordinates."""

from __future__ import annotations

import re

import numpy as np

from hopbytes.errors import FormatError
from hopbytes.machines.base import machines
from hopbytes.machines.kinds.torus import Torus
from hopbytes.machines.network_machine import AttachedHosts
from hopbytes.machines.spec_fields import file_spec, joined
from hopbytes.text.hostlist import HOST_NAME
from hopbytes.text.lines import natural_key, read_lines

KEYS = {"dims": "8x8x8", "wrap": "1x1x0", "bw": "9375x4680x9375", "hosts": "n[1-8]"}
MAX_NODES = 2**22
INTEGER = re.compile(r"[0-9]{1,9}", re.ASCII)


@machines.register("coordinates")
class HostsByCoordinates(AttachedHosts):
    """Hosts at coordinates of a torus: ``coordinates:FILE``, one host and its coordinates per line.

    This serves BlueGene, Tofu and other systems that report the coordinates of nodes. ``dims`` are the sizes
    (by default one more than the largest coordinates), ``wrap`` says which dimensions are rings (by default
    all), ``bw`` are capacities as in ``torus:``. Places without a host are routers only. Hosts are in the
    order of their coordinates, first dimension slowest. ``hosts=`` (or ``@n[1-8]``) keeps some hosts.

    >>> machine = HostsByCoordinates.parse("examples/coordinates.txt:dims=4x2")
    >>> machine.known_hosts.names, machine.network().hops(*machine.places[:2]).tolist()
    (('a', 'c', 'b'), 2)
    """

    __slots__ = ()

    @classmethod
    def parse(cls, text: str) -> AttachedHosts:
        spec = file_spec("coordinates", text, KEYS)
        found = read_coordinates(spec.path)
        places = np.array(list(found.values()), np.int64)
        least = joined(1 + places.max(axis=0))
        dims = spec.options.get("dims", least)
        words = [f"{key}={spec.options[key]}" for key in ("wrap", "bw") if key in spec.options]
        sizes = Torus.parse(dims).sizes
        if len(sizes) != places.shape[1] or np.any(places.max(axis=0) >= sizes):
            raise FormatError(spec.path, None, f"coordinates below {least}, expected below dims={dims}")
        hosts = tuple(sorted(found, key=lambda host: (found[host], natural_key(host))))
        router = np.ravel_multi_index(tuple(np.array([found[host] for host in hosts]).T), sizes)
        count = int(np.bincount(router).max())
        torus = Torus.parse(":".join([dims, *([f"nodes={count}"] if count > 1 else []), *words]))
        rank = np.arange(len(router)) - np.searchsorted(router, router)  # router numbers ascend
        endpoints = tuple((router * count + rank).tolist())
        machine = AttachedHosts(spec.text("coordinates"), torus, hosts, endpoints, per_hop=spec.per_hop)
        return machine.kept(spec.options.get("hosts"))


def read_coordinates(path: str) -> dict[str, tuple[int, ...]]:
    """Read a table of nodes and coordinates >= 0: a name (or number) and integers per line.

    Rows may repeat a node at its place (boxfish has one per code region); it counts once. O(bytes).
    """
    rows: dict[str, tuple[int, ...]] = {}
    width: int | None = None
    skip, in_header = 0, False
    fields: list[str] = []
    for number, text in enumerate(read_lines(path), start=1):
        line = text.partition("#")[0].strip()
        if line in ("---", "..."):
            in_header = line == "---"
            if not in_header and fields:
                skip, width = _boxfish_columns(path, number, fields)
            continue
        if in_header:
            found = re.match(r"- \[\s*([A-Za-z_]\w*)\s*,", line)
            fields += [found[1]] if found else []
            continue
        words = line.replace(",", " ").split()
        if not words or (not rows and width is None and not any(INTEGER.fullmatch(word) for word in words)):
            continue
        width = len(words) - 1 if width is None else width
        _add_row(path, number, words, skip, width, bool(fields), rows)
    if not rows:
        raise FormatError(path, None, "no row, expected a node and its coordinates per line")
    return rows


def _boxfish_columns(path: str, number: int, fields: list[str]) -> tuple[int, int]:
    """Return the column of node numbers, and how many coordinates, named by one letter, follow it."""
    if "nodeid" not in fields:
        raise FormatError(path, number, f"fields {', '.join(fields[:6])}, expected nodeid and coordinates")
    first = fields.index("nodeid")
    width = next((i for i, name in enumerate(fields[first + 1 :]) if len(name) != 1), len(fields) - first - 1)
    if not width:
        raise FormatError(path, number, "no coordinates after nodeid, expected fields like x, y, z")
    return first, width


def _add_row(
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
