"""Which nodes of a machine `hosts` means, and what they are called."""

from __future__ import annotations

import csv
import os
import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from hopbytes._arrays import Bool, Int64
from hopbytes.errors import FormatError
from hopbytes.machines.base import Machine
from hopbytes.machines.geometry import coordinates_of
from hopbytes.machines.node_machine import NodeMachine
from hopbytes.text.hostlist import HOST_NAME, MAX_HOSTS, is_table, match_hosts, read_hosts
from hopbytes.text.open_input import check_reference


class ChosenHosts(NamedTuple):
    """The machine to use, names of all its nodes (or none), bool[nodes]: those to use, and what to say."""

    machine: Machine
    names: tuple[str, ...]
    used: Bool
    notices: tuple[str, ...] = ()


def choose_hosts(machine: Machine, hosts: str | Sequence[str] | None) -> ChosenHosts:
    """Find the nodes that hosts name."""
    nodes = int(machine.node_of_core()[-1]) + 1
    hosts_known = machine.known_hosts
    known = hosts_known.names
    if hosts is None:
        return ChosenHosts(machine, known, np.ones(nodes, np.bool_))
    from hopbytes.machines.allocate.sampled_allocations import is_sampled, sample_nodes

    if is_sampled(hosts):
        return ChosenHosts(machine, known, sample_nodes(machine, str(hosts)))

    placed = None if known and hosts_known.fixed else placed_hosts(machine, hosts)
    if placed is not None:
        return _some(machine, placed.names, placed.nodes, nodes)
    names = read_hosts(hosts)
    short = {name.partition(".")[0] for name in known}
    if known and (hosts_known.fixed or any(name.partition(".")[0] in short for name in names)):
        used = np.zeros(nodes, np.bool_)
        used[match_hosts(names, known, hosts_known.hint)] = True
        return ChosenHosts(machine, known, used)
    if isinstance(machine, NodeMachine) and nodes == 1 and len(names) > 1 and not known:
        repeated = machine.repeated(names)
        if repeated is not None:
            return ChosenHosts(repeated, names, np.ones(len(names), np.bool_))
    if len(names) != nodes and not known and machine.network() is not None:
        return _own_names(machine, names, nodes)
    if len(names) != nodes:
        hint = "; nodes:0-15 takes some by number" if len(names) < nodes else ""
        what = f"{len(names)} hosts for {nodes} nodes, expected one per node{hint}"
        raise FormatError("`hosts`", None, what)
    return ChosenHosts(machine, names, np.ones(nodes, np.bool_))


def _own_names(machine: Machine, names: Sequence[str], nodes: int) -> ChosenHosts:
    """Choose nodes of a generated network by the names its routes have."""
    own = tuple(f"n{node}" for node in range(nodes))
    known = set(own)
    wrong = [name for name in dict.fromkeys(names) if name not in known]
    if len(wrong) == len(names) < nodes:
        first = f"{len(names)} hosts are taken to be the first nodes of {nodes}, in machine order"
        found = coordinates_of(machine)
        columns = ",".join(("node", *(("x", "y", "…") if found is None or found.sizes else found.names)))
        hint = f"a file for `hosts` with lines {columns} says where they are"
        return _some(machine, names, np.arange(len(names)), nodes, (f"{first}: {hint}",))
    if wrong:
        what = f"{len(names)} hosts for {nodes} nodes, {len(wrong)} of them none of n0 to n{nodes - 1} "
        listed = f"({', '.join(wrong[:3])})"
        more = "expected one per node, some of those, or nodes:0-15 by number"
        raise FormatError("`hosts`", None, f"{what}{listed}, {more}")
    used = np.zeros(nodes, np.bool_)
    used[[int(name[1:]) for name in names]] = True
    return ChosenHosts(machine, own, used)


def _some(
    machine: Machine, names: Sequence[str], places: Int64, nodes: int, notices: tuple[str, ...] = ()
) -> ChosenHosts:
    """Name some nodes and use only these; the others keep names of their own."""
    taken = set(names)
    own = [f"n{node}" if f"n{node}" not in taken else f"n{node}-unused" for node in range(nodes)]
    used = np.zeros(nodes, np.bool_)
    used[places] = True
    for name, place in zip(names, places.tolist(), strict=True):
        own[place] = name
    return ChosenHosts(machine, tuple(own), used, notices)


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
            for around, word in sorted(set(zip(outer, words, strict=True)), key=_natural):
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


def _natural(pair: tuple[str, str]) -> list[tuple[int, str]]:
    """Order of names in which s2 stands before s10; numbers of any length by their digits."""
    parts = re.findall(r"[0-9]+|[^0-9]+", f"{pair[0]}\0{pair[1]}")
    digits = [part.lstrip("0") if part[0] in "0123456789" else None for part in parts]
    return [(-1, part) if of is None else (len(of), of) for part, of in zip(parts, digits, strict=True)]


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
