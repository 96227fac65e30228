"""Which node of a generated network each host is, from a table ``node,group,switch`` with a host per line."""

from __future__ import annotations

import csv
import os
from typing import NamedTuple

import numpy as np

from hopbytes._arrays import Int64
from hopbytes.errors import FormatError
from hopbytes.machines.base import Machine
from hopbytes.machines.common.geometry import coordinates_of
from hopbytes.text.hostlist import HOST_NAME, MAX_HOSTS, is_table
from hopbytes.text.lines import natural_key
from hopbytes.text.open_input import check_reference


class PlacedHosts(NamedTuple):
    """Names of hosts and int64[hosts]: the node that each is."""

    names: tuple[str, ...]
    nodes: Int64


def placed_hosts(machine: Machine, hosts: object) -> PlacedHosts | None:
    """Read a table of hosts and their places; None for hosts that are given otherwise.

    Hosts at one switch are its nodes in the order of the file. O(hosts + nodes).
    """
    if not isinstance(hosts, str) or not os.path.isfile(hosts):
        return None
    check_reference(hosts)
    with open(hosts, encoding="utf-8-sig", errors="replace", newline="") as stream:
        rows = [(number, row) for number, row in enumerate(csv.reader(stream), start=1) if _counts(row)]
    if not rows or not is_table(",".join(rows[0][1])):
        return None
    known, places = _coordinates(machine)
    if not known:
        what = "a table of places for a machine without such places, expected one host per line"
        raise FormatError(hosts, rows[0][0], what)
    header = [word.strip().lower() for word in rows[0][1]]
    if len(header) != len(known) + 1 or set(header[1:]) != set(known):
        what = f"columns {','.join(header)[:60]}, expected {','.join(('node', *known))}"
        raise FormatError(hosts, rows[0][0], what)
    names, values = _columns(hosts, rows[1:], [header.index(name) for name in known])
    sizes = places.max(axis=1) + 1
    wanted = _numbered(hosts, rows[1:], known, values, sizes)
    return PlacedHosts(names, _nodes(hosts, rows[1:], names, wanted, places))


def _counts(row: list[str]) -> bool:
    return bool(row) and not row[0].lstrip().startswith("#") and any(word.strip() for word in row)


def _coordinates(machine: Machine) -> tuple[tuple[str, ...], Int64]:
    """Names of the coordinates of nodes, and int64[coordinates, nodes]."""
    found = coordinates_of(machine)
    if found is None or (found.sizes and machine.known_hosts.names):
        return (), np.empty((0, 0), np.int64)
    return found.names, found.places


def _columns(
    path: str, rows: list[tuple[int, list[str]]], order: list[int]
) -> tuple[tuple[str, ...], list[list[str]]]:
    """Names of hosts, and the words of each column."""
    names: dict[str, int] = {}
    if not 0 < len(rows) <= MAX_HOSTS:
        raise FormatError(path, None, f"{len(rows)} hosts, expected 1 to {MAX_HOSTS}")
    for line, row in rows:
        if len(row) != len(order) + 1:
            raise FormatError(path, line, f"{len(row)} columns, expected {len(order) + 1}")
        name = row[0].strip()
        if not HOST_NAME.fullmatch(name):
            what = f"host name {name[:40]!r}, expected letters, digits, '.', '_' and '-' only"
            raise FormatError(path, line, what)
        if name in names:
            raise FormatError(path, line, f"host {name!r} a second time, first at line {names[name]}")
        names[name] = line
    return tuple(names), [[row[place].strip() for _, row in rows] for place in order]


def _numbered(
    path: str, rows: list[tuple[int, list[str]]], known: tuple[str, ...], values: list[list[str]],
    sizes: Int64,
) -> Int64:
    """int64[coordinates, hosts]: numbers as they stand, or those of names in their natural order."""
    found = []
    outer = [""] * len(rows)
    for name, words, size in zip(known, values, sizes.tolist(), strict=True):
        if all(word.isascii() and word.isdigit() and len(word) < 10 for word in words):
            numbers = [int(word) for word in words]
            for (line, _), number in zip(rows, numbers, strict=True):
                if number >= size:
                    raise FormatError(path, line, f"{name} {number}, expected 0 to {size - 1}")
        else:  # switches are numbered in their group
            inside: dict[str, dict[str, int]] = {}
            pairs = sorted(set(zip(outer, words, strict=True)), key=lambda pair: [*map(natural_key, pair)])
            for around, word in pairs:
                numbers_here = inside.setdefault(around, {})
                numbers_here[word] = len(numbers_here)
            for around, numbers_here in inside.items():
                if len(numbers_here) > size:
                    at = f" of {around}" if around else ""
                    raise FormatError(path, None, f"{len(numbers_here)} names of {name}{at}, expected {size}")
            numbers = [inside[around][word] for around, word in zip(outer, words, strict=True)]
        found.append(numbers)
        outer = words
    return np.array(found, np.int64)


def _nodes(
    path: str, rows: list[tuple[int, list[str]]], names: tuple[str, ...], wanted: Int64, places: Int64
) -> Int64:
    """int64[hosts]: the next node at the place of each host."""
    free: dict[tuple[int, ...], list[int]] = {}
    for node, place in enumerate(zip(*places.tolist(), strict=True)):
        free.setdefault(place, []).append(node)
    sizes = {place: len(nodes) for place, nodes in free.items()}
    taken: dict[tuple[int, ...], int] = {}
    nodes = []
    for (line, _), name, place in zip(rows, names, zip(*wanted.tolist(), strict=True), strict=True):
        turn = taken[place] = taken.get(place, -1) + 1
        if turn >= sizes.get(place, 0):
            what = f"host {name!r} at {place}, which has {sizes.get(place, 0)} nodes, expected no more hosts"
            raise FormatError(path, line, what)
        nodes.append(free[place][turn])
    return np.array(nodes, np.int64)
