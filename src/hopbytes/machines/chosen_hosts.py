"""Which nodes of a machine ``--hosts`` means, and what they are called."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hopbytes.errors import FormatError
from hopbytes.hostlist import match_hosts, read_hosts
from hopbytes.machines.base import Machine


class ChosenHosts(NamedTuple):
    """The machine to use, names of all its nodes (or none), and bool[nodes]: those that may be used."""

    machine: Machine
    names: tuple[str, ...]
    used: NDArray[np.bool_]


def choose_hosts(machine: Machine, hosts: str | Sequence[str] | None) -> ChosenHosts:
    """Find the nodes that hosts name.

    Parameters
    ----------
    machine : Machine
    hosts : str, sequence of str or None
        See :func:`hopbytes.hostlist.read_hosts`. None: all nodes. ``nodes:0-15``, ``first:…``,
        ``scattered:…``, ``sfc:…``: some of them, see :func:`hopbytes.machines.drawn_nodes.draw_nodes`.

    Returns
    -------
    ChosenHosts
        Names the machine knows choose among its nodes, by the exact or else the short name. One described
        node without a name becomes as many as there are hosts. As many hosts as nodes are new names for
        all of them, in machine order. Fewer, on a generated network, are its own names ``n0``, ``n1``, …

    Raises
    ------
    FormatError
        Another number of hosts than nodes, none of which is known by name; or only some of them are.

    Notes
    -----
    O(nodes + hosts).
    """
    nodes = int(machine.node_of_core()[-1]) + 1
    known = machine.node_names()
    if hosts is None:
        return ChosenHosts(machine, known, np.ones(nodes, np.bool_))
    from hopbytes.machines.drawn_nodes import draw_nodes, is_drawn

    if is_drawn(hosts):
        return ChosenHosts(machine, known, draw_nodes(machine, str(hosts)))
    names = read_hosts(hosts)
    short = {name.partition(".")[0] for name in known}
    if known and (machine.keeps_names() or any(name.partition(".")[0] in short for name in names)):
        used = np.zeros(nodes, np.bool_)
        used[match_hosts(names, known, machine.hosts_hint())] = True
        return ChosenHosts(machine, known, used)
    if nodes == 1 and len(names) > 1 and not known:
        repeated = machine.repeated(names)
        if repeated is not None:
            return ChosenHosts(repeated, names, np.ones(len(names), np.bool_))
    if len(names) != nodes and not known and machine.network() is not None:
        return _own_names(machine, names, nodes)
    if len(names) != nodes:
        hint = "; nodes:0-15 takes some by number" if len(names) < nodes else ""
        what = f"{len(names)} hosts for {nodes} nodes, expected one per node{hint}"
        raise FormatError("--hosts", None, what)
    return ChosenHosts(machine, names, np.ones(nodes, np.bool_))


def _own_names(machine: Machine, names: Sequence[str], nodes: int) -> ChosenHosts:
    """Choose nodes of a generated network by the names its routes have."""
    own = tuple(f"n{node}" for node in range(nodes))
    known = set(own)
    wrong = [name for name in dict.fromkeys(names) if name not in known]
    if wrong:
        what = f"{len(names)} hosts for {nodes} nodes, {len(wrong)} of them none of n0 to n{nodes - 1} "
        listed = f"({', '.join(wrong[:3])})"
        more = "expected one per node, some of those, or nodes:0-15 by number"
        raise FormatError("--hosts", None, f"{what}{listed}, {more}")
    used = np.zeros(nodes, np.bool_)
    used[[int(name[1:]) for name in names]] = True
    return ChosenHosts(machine, own, used)
