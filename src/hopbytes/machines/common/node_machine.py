"""Machines made of nodes whose own numbers are known: from hwloc, the operating system or a probe."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING

import numpy as np

from hopbytes._arrays import Bool, Int32
from hopbytes._frozen import frozen
from hopbytes.errors import FormatError, unknown_name
from hopbytes.machines.base import KnownHosts
from hopbytes.machines.common.composed_machine import ComposedMachine
from hopbytes.machines.common.leveling import level
from hopbytes.machines.common.tree import Tree
from hopbytes.machines.node.inventory import NodeInventory
from hopbytes.machines.topology import Level

if TYPE_CHECKING:
    from hopbytes.machines.node.job_info import JobInfo

#: A distance; several may be at the end of a spec: ``hwloc:node.xml@n[1-4]:l3=3:package=12``.
OVERRIDE = re.compile(r"([A-Za-z_][A-Za-z0-9_-]*)=([0-9]{1,19})", re.ASCII)


@frozen(eq=False)
class NodeMachine(ComposedMachine):
    """Nodes, equal or not, with the numbers their operating systems use.

    The cores of the machine are the hardware threads (PUs) that may be used.
    """

    text: str  # the spec it was made from, without distances
    #: what is known of every node; the machine adds which kinds of units are the same as its levels
    inventory: NodeInventory = field()
    hosts: tuple[str, ...] = ()  # name of every node in order; empty when unknown
    replaced: Mapping[str, int] = field(default_factory=dict)  # distances of levels that replace the defaults
    known_tiers: tuple[Level, ...] | None = None  # levels with measured values, from a stored machine
    warnings: tuple[str, ...] = ()  # sentences for the user
    job: JobInfo | None = None  # the job it belongs to; its hosts are the nodes
    tree: Tree = field(init=False)

    def __post_init__(self) -> None:
        leveled = level(self.inventory.trees, self.inventory.tree_of_node)
        tree = leveled.tree
        if self.known_tiers is not None:
            stored = {tier.name: tier for tier in self.known_tiers}
            tree = Tree(tuple(stored.get(tier.name, tier) for tier in tree.tiers), tree.children)
        if self.replaced:
            tree = tree.with_distances(_resolved(tree, leveled.same_as, self.replaced))
        object.__setattr__(self, "tree", tree)
        object.__setattr__(self, "inventory", dataclasses.replace(self.inventory, same_as=leveled.same_as))

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, NodeMachine)
            and self.tree == other.tree
            and self.hosts == other.hosts
            and self.inventory == other.inventory
        )

    def __hash__(self) -> int:
        return hash((self.tree, self.hosts))

    @property
    def topology(self) -> Tree:
        """The tree of levels of all nodes."""
        return self.tree

    @property
    def known_hosts(self) -> KnownHosts:
        """The hosts, which may also be given other names."""
        return KnownHosts(self.hosts)

    def notices(self, used: Bool | None = None) -> tuple[str, ...]:
        """What the user should know about its source."""
        assumed = (notice for tree in self.inventory.trees for notice in tree.notices)
        return (*self.warnings, *dict.fromkeys(assumed))

    def spec(self) -> str:
        """The files and hosts it was made from, and distances that were replaced."""
        return self.text + "".join(f":{name}={distance}" for name, distance in self.replaced.items())

    def with_distances(self, distances: Mapping[str, int]) -> NodeMachine:
        """Return the machine with other distances of some levels, also by the name of a merged kind."""
        resolved = _resolved(self.tree, self.inventory.same_as, distances)
        return dataclasses.replace(self, replaced={**self.replaced, **resolved})

    def repeated(self, hosts: Sequence[str]) -> NodeMachine | None:
        """The machine of several such nodes with these names; None where this one has several nodes."""
        if self.inventory.n_nodes != 1:
            return None
        text = f"{self.text}@{','.join(hosts)}"
        inventory = self.inventory.repeated(len(hosts))
        return dataclasses.replace(self, text=text, inventory=inventory, hosts=tuple(hosts))

    def node_of_core(self) -> Int32:
        """int32[n_cores]: node of each core."""
        nodes = np.arange(self.inventory.n_nodes, dtype=np.int32)
        return np.repeat(nodes, self.inventory.places_per_node())


def _resolved(tree: Tree, same_as: Mapping[str, str], distances: Mapping[str, int]) -> dict[str, int]:
    """Name levels by the names they have in the tree; a merged kind means the level it became."""
    known = [tier.name for tier in tree.tiers]
    found = {}
    for name, distance in distances.items():
        level_name = name if name in known else same_as.get(name, name)
        if level_name not in known:
            raise unknown_name("level", name, known)
        found[level_name] = distance
    return found


def cut_overrides(text: str) -> tuple[str, dict[str, int]]:
    """Cut the distances off the end of a spec.

    >>> cut_overrides("a.xml@n[1-2]:l3=3")
    ('a.xml@n[1-2]', {'l3': 3})
    """
    body, *parts = text.split(":")
    kept = len(parts)
    while kept and OVERRIDE.fullmatch(parts[kept - 1]):
        kept -= 1
    pairs = (part.split("=") for part in parts[kept:])
    return ":".join([body, *parts[:kept]]), {name: int(value) for name, value in pairs}


def check_names(hosts: Sequence[str], where: str) -> None:
    """Refuse a host named twice."""
    seen: set[str] = set()
    for host in hosts:
        if host in seen:
            raise FormatError(where, None, f"host {host!r} twice, expected every host once")
        seen.add(host)
