"""Which nodes of a machine `hosts` means, and what they are called."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from hopbytes._arrays import Bool, Int64
from hopbytes.errors import FormatError
from hopbytes.machines.base import Machine
from hopbytes.machines.common.geometry import coordinates_of
from hopbytes.machines.common.node_machine import NodeMachine
from hopbytes.text.hostlist import match_hosts, read_hosts


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
    from hopbytes.machines.selection.sampled_allocations import is_sampled, sample_nodes

    if is_sampled(hosts):
        return ChosenHosts(machine, known, sample_nodes(machine, str(hosts)))
    from hopbytes.machines.selection.placed_hosts import placed_hosts

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
