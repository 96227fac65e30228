"""Which nodes of a machine `hosts` means, by name, by number or by a table, and what they are called."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from hopbytes._arrays import Bool, Int64
from hopbytes.errors import FormatError
from hopbytes.machines.base import Machine
from hopbytes.machines.tree import shorten
from hopbytes.text.cpu_lists import number_range
from hopbytes.text.hostlist import MAX_HOSTS, check_host_name, is_table, match_hosts, read_hosts, short_name
from hopbytes.text.lines import natural_key
from hopbytes.text.open_input import open_text
from hopbytes.util.registry import Registry

#: Ways to choose nodes that other packages add; ``sfc:nodes=8`` calls the one named ``sfc`` with the machine
#: and the whole text, and it returns bool[nodes].
samplers: Registry[Callable[[Machine, str], Bool]] = Registry(
    "way to choose hosts", (), entry_points="hopbytes.hosts"
)


class ChosenHosts(NamedTuple):
    """The machine to use, names of all its nodes (or none), bool[nodes]: those to use, and notices."""

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
    if isinstance(hosts, str):
        way, colon, rest = hosts.partition(":")
        if colon and way == "nodes":
            return ChosenHosts(machine, known, _at(_numbers(hosts, rest, nodes), nodes))
        if colon and way in samplers:
            return ChosenHosts(machine, known, samplers[way](machine, hosts))
        if os.path.isfile(hosts) and not (known and hosts_known.fixed):
            placed = _placed_hosts(machine, hosts)
            if placed is not None:
                return _some(machine, *placed, nodes)
    names = read_hosts(hosts)
    short = set(map(short_name, known))
    if known and (hosts_known.fixed or any(short_name(name) in short for name in names)):
        numbers = np.array(match_hosts(names, known, hosts_known.hint), np.int64)
        return ChosenHosts(machine, known, _at(numbers, nodes))
    if machine.inventory is not None and nodes == 1 and len(names) > 1 and not known:
        from hopbytes.machines.node_machine import NodeMachine

        repeated = machine.repeated(names) if isinstance(machine, NodeMachine) else None
        if repeated is not None:
            return ChosenHosts(repeated, names, np.ones(len(names), np.bool_))
    if len(names) != nodes and not known and machine.network() is not None:
        return _own_names(machine, names, nodes)
    if len(names) != nodes:
        hint = "; nodes:0-15 takes some by number" if len(names) < nodes else ""
        what = f"{len(names)} hosts for {nodes} nodes, expected one per node{hint}"
        raise FormatError("`hosts`", None, what)
    return ChosenHosts(machine, names, np.ones(nodes, np.bool_))


def _at(numbers: Int64, nodes: int) -> Bool:
    used = np.zeros(nodes, np.bool_)
    used[numbers] = True
    return used


def _numbers(text: str, rest: str, count: int) -> Int64:
    found: list[int] = []
    for word in rest.split(","):
        run = number_range(word)
        if run is None or run.stop > count:
            what = f"{shorten(word)}, expected numbers like 0-15,40 below {count}"
            raise FormatError("`hosts`", None, f"{shorten(text)}: {what}")
        found += run
    return np.array(found, np.int64)


def _own_names(machine: Machine, names: Sequence[str], nodes: int) -> ChosenHosts:
    """Choose nodes of a generated network by the names its routes have."""
    from hopbytes.machines.geometry import coordinates_of

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
    return ChosenHosts(machine, own, _at(np.array([int(name[1:]) for name in names], np.int64), nodes))


def _some(
    machine: Machine, names: Sequence[str], chosen: Int64, nodes: int, notices: tuple[str, ...] = ()
) -> ChosenHosts:
    """Name some nodes and use only these; the others keep names of their own."""
    taken = set(names)
    own = [f"n{node}" if f"n{node}" not in taken else f"n{node}-unused" for node in range(nodes)]
    for name, node in zip(names, chosen.tolist(), strict=True):
        own[node] = name
    return ChosenHosts(machine, tuple(own), _at(chosen, nodes), notices)


def _placed_hosts(machine: Machine, path: str) -> tuple[tuple[str, ...], Int64] | None:
    """Return the hosts of a table ``node,group,switch`` and the node of each; None for other files."""
    import csv

    from hopbytes.machines.geometry import coordinates_of

    with open_text(path, newline="") as stream:
        table = csv.reader(stream)
        try:
            rows = [(number, row) for number, row in enumerate(table, start=1) if _counts(row)]
        except csv.Error as error:
            what = f"{error}, expected a host per line or a table node,group,switch"
            raise FormatError(path, table.line_num, what) from None
    if not rows or not is_table(",".join(rows[0][1])):
        return None
    (line, head), *rows = rows
    found = coordinates_of(machine)
    if found is None or (found.sizes and machine.known_hosts.names):
        what = "a table of positions for a machine without such positions, expected one host per line"
        raise FormatError(path, line, what)
    header = [word.strip().lower() for word in head]
    if len(header) != len(found.names) + 1 or set(header[1:]) != set(found.names):
        what = f"columns {','.join(header)[:60]}, expected {','.join(('node', *found.names))}"
        raise FormatError(path, line, what)
    names = _names(path, rows, len(header))
    outer = [""] * len(rows)
    numbers = []
    for name, size in zip(found.names, (found.places.max(axis=1) + 1).tolist(), strict=True):
        words = [row[header.index(name)].strip() for _, row in rows]
        numbers.append(_column(path, rows, name, words, outer, size))
        outer = words
    return tuple(names), _nodes(path, names, list(zip(*numbers, strict=True)), found.places)


def _counts(row: list[str]) -> bool:
    return bool(row) and not row[0].lstrip().startswith("#") and any(word.strip() for word in row)


def _names(path: str, rows: list[tuple[int, list[str]]], columns: int) -> dict[str, int]:
    names: dict[str, int] = {}
    if not 0 < len(rows) <= MAX_HOSTS:
        raise FormatError(path, None, f"{len(rows)} hosts, expected 1 to {MAX_HOSTS}")
    for line, row in rows:
        if len(row) != columns:
            raise FormatError(path, line, f"{len(row)} columns, expected {columns}")
        name = row[0].strip()
        check_host_name(name, path, line)
        if name in names:
            raise FormatError(path, line, f"host {name!r} a second time, first at line {names[name]}")
        names[name] = line
    return names


def _column(
    path: str, rows: list[tuple[int, list[str]]], name: str, words: list[str], outer: list[str], size: int
) -> list[int]:
    """Return the coordinate of every host: numbers as they stand, or those of names in natural order."""
    if all(word.isascii() and word.isdigit() and len(word) < 10 for word in words):
        for (line, _), word in zip(rows, words, strict=True):
            if int(word) >= size:
                raise FormatError(path, line, f"{name} {int(word)}, expected 0 to {size - 1}")
        return [int(word) for word in words]
    inside: dict[str, dict[str, int]] = {}  # switches are numbered in their group
    pairs = set(zip(outer, words, strict=True))
    for around, word in sorted(pairs, key=lambda pair: (natural_key(pair[0]), natural_key(pair[1]))):
        numbers = inside.setdefault(around, {})
        numbers[word] = len(numbers)
    for around, numbers in inside.items():
        if len(numbers) > size:
            at = f" of {around}" if around else ""
            raise FormatError(path, None, f"{len(numbers)} names of {name}{at}, expected {size}")
    return [inside[around][word] for around, word in zip(outer, words, strict=True)]


def _nodes(path: str, names: dict[str, int], wanted: list[tuple[int, ...]], places: Int64) -> Int64:
    """int64[hosts]: the next node at the place of each host."""
    free: dict[tuple[int, ...], list[int]] = {}
    for node, place in enumerate(zip(*places.tolist(), strict=True)):
        free.setdefault(place, []).append(node)
    taken: dict[tuple[int, ...], int] = {}
    nodes = []
    for (name, line), place in zip(names.items(), wanted, strict=True):
        turn = taken[place] = taken.get(place, -1) + 1
        count = len(free.get(place, ()))
        if turn >= count:
            what = f"host {name!r} at {place}, which has {count} nodes, expected no more hosts"
            raise FormatError(path, line, what)
        nodes.append(free[place][turn])
    return np.array(nodes, np.int64)
