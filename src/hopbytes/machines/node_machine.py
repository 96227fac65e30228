"""Machines made of nodes whose own numbers are known: from hwloc, the operating system or a probe."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field, replace
from typing import TYPE_CHECKING

import numpy as np

from hopbytes._arrays import Bool, Int32, Int64
from hopbytes._frozen import frozen
from hopbytes.errors import FormatError
from hopbytes.machines.base import KnownHosts, Level, Machine
from hopbytes.machines.node.hardware_kinds import aligned, base_kind, default_distance, worth
from hopbytes.machines.node.node_tree import NodeInventory, NodeTree
from hopbytes.machines.tree import Count, Tree, bad, check_levels, count_of
from hopbytes.text.hostlist import distinct_hosts, expand_hosts

if TYPE_CHECKING:
    from typing_extensions import Self

    from hopbytes.machines.node.job import JobInfo

#: A distance; several may be at the end of a spec: ``hwloc:node.xml@n[1-4]:l3=3:package=12``.
OVERRIDE = re.compile(r"([A-Za-z_][A-Za-z0-9_-]*)=([0-9]{1,19})", re.ASCII)


@frozen(eq=False)
class NodeMachine(Machine):
    """Nodes, equal or not, with the numbers their operating systems use.

    The cores of the machine are the hardware threads (PUs) that may be used.
    """

    text: str  # the spec it was made from, without distances
    #: what is known of every node; the machine adds which kinds of units are the same as its levels
    inventory: NodeInventory = field()
    hosts: tuple[str, ...] = ()  # name of every node in order; empty if unknown
    replaced: Mapping[str, int] = field(default_factory=dict)  # distances of levels that replace the defaults
    known_tiers: tuple[Level, ...] | None = None  # levels with measured values, from a stored machine
    warnings: tuple[str, ...] = ()  # sentences for the user
    job: JobInfo | None = None  # the job it belongs to; its hosts are the nodes
    topology: Tree = field(init=False)

    def __post_init__(self) -> None:
        tree, same_as = tree_of_nodes(self.inventory.trees, self.inventory.tree_of_node)
        if self.known_tiers is not None:
            stored = {tier.name: tier for tier in self.known_tiers}
            tree = Tree(tuple(stored.get(tier.name, tier) for tier in tree.tiers), tree.children)
        if self.replaced:
            tree = tree.with_distances(_resolved(tree, same_as, self.replaced))
        object.__setattr__(self, "topology", tree)
        object.__setattr__(self, "inventory", replace(self.inventory, same_as=same_as))

    @classmethod
    def of_parts(
        cls, kind: str, text: str, split: Callable[[str], tuple[str, list[str]]],
        read: Callable[[str], NodeTree],
    ) -> Self:
        """Read ``A@n[1-8],kind:B@n[9-16]``, perhaps with distances behind; a single part needs no hosts."""
        body, replaced = cut_overrides(text)
        parts = body.split(f",{kind}:")
        trees: list[NodeTree] = []
        hosts: list[str] = []
        for part in parts:
            source, names = split(part)
            if len(parts) > 1 and not names:
                raise bad(f"{kind}:{source[:60]} without hosts, expected @n[1-8] where there are several")
            trees += [read(source)] * max(1, len(names))
            hosts += names
        return cls(f"{kind}:{body}", NodeInventory.of(trees), distinct_hosts(hosts, "machine"), replaced)

    def _identity(self) -> tuple[object, ...]:
        return self.topology, self.hosts, self.inventory

    @property
    def known_hosts(self) -> KnownHosts:
        return KnownHosts(self.hosts)

    def notices(self, used: Bool | None = None) -> tuple[str, ...]:
        assumed = [notice for tree in self.inventory.trees for notice in tree.notices]
        unused = _once_in_nodes(self.topology, self.inventory.same_as, self.replaced)
        if unused:
            what = " or of ".join(unused)
            assumed.append(f"no node has two of {what}: the distance that was given for it is not used")
        return (*self.warnings, *dict.fromkeys(assumed))

    def spec(self) -> str:
        return self.text + "".join(f":{name}={distance}" for name, distance in self.replaced.items())

    def with_distances(self, distances: Mapping[str, int]) -> NodeMachine:
        resolved = _resolved(self.topology, self.inventory.same_as, distances)
        unused = _once_in_nodes(self.topology, self.inventory.same_as, distances)
        kept = {kind: distances[kind] for kind in unused}
        return replace(self, replaced={**self.replaced, **resolved, **kept})

    def repeated(self, hosts: Sequence[str]) -> NodeMachine | None:
        """The machine of several such nodes with these names; None where this one has several nodes."""
        if self.inventory.n_nodes != 1:
            return None
        text = f"{self.text}@{','.join(hosts)}"
        return replace(self, text=text, inventory=self.inventory.repeated(len(hosts)), hosts=tuple(hosts))

    def node_of_core(self) -> Int32:
        sizes = [len(self.inventory.tree(node).os_pus) for node in range(self.inventory.n_nodes)]
        return np.repeat(np.arange(len(sizes), dtype=np.int32), sizes)


def _resolved(tree: Tree, same_as: Mapping[str, str], distances: Mapping[str, int]) -> dict[str, int]:
    """Name levels by the names they have in the tree; a merged kind means the level it became."""
    known = [tier.name for tier in tree.tiers]
    unused = _once_in_nodes(tree, same_as, distances)
    found = {
        name if name in known else same_as.get(name, name): distance
        for name, distance in distances.items()
        if name not in unused
    }
    check_levels(found, known)
    return found


def _once_in_nodes(tree: Tree, same_as: Mapping[str, str], kinds: Iterable[str]) -> list[str]:
    """Return the kinds of which no node has two units, so that their distance is that of no two places."""
    known = [tier.name for tier in tree.tiers]
    return [kind for kind in kinds if kind not in known and same_as.get(kind) == "node"]


def cut_overrides(text: str) -> tuple[str, dict[str, int]]:
    """Cut the distances off the end of a spec."""
    body, *parts = text.split(":")
    kept = len(parts)
    while kept and OVERRIDE.fullmatch(parts[kept - 1]):
        kept -= 1
    pairs = (part.split("=") for part in parts[kept:])
    return ":".join([body, *parts[:kept]]), {name: int(value) for name, value in pairs}


def file_and_hosts(kind: str, part: str) -> tuple[str, list[str]]:
    """Split ``FILE@hosts``; a file that exists may have an ``@`` in its name."""
    path, at, names = part.rpartition("@")
    hosts: list[str] = []
    if not at or os.path.exists(part):
        path = part
    else:
        hosts = expand_hosts(names, "machine")
    if not path:
        raise bad(f"{kind}: without a file name, expected {kind}:FILE[@hosts]")
    return path, hosts


def tree_of_nodes(nodes: Sequence[NodeTree], tree_of_node: Sequence[int]) -> tuple[Tree, dict[str, str]]:
    """Put nodes, equal or not, under one tree of named levels whose leaves are the PUs of all nodes in order.

    Also returns the kinds that are the same units as a level, with that level; ``node`` for the whole node.

    Two PUs are as far apart as the outermost kind among the parts of the smallest unit that holds both: an
    uneven tree stays uneven, and the cores of a package without dies are no further apart because another
    package has dies. O(PUs x kinds) for each distinct node.
    """
    columns, names = aligned(node.kinds for node in nodes)
    paths = [_filled(node, names[node.kinds], columns) for node in nodes]
    ends = np.cumsum([0, *(len(paths[which]) for which in tree_of_node)])
    levels = [np.repeat(np.arange(len(tree_of_node), dtype=np.int64), np.diff(ends))]
    for column in range(len(columns)):
        units = [paths[which][:, column] for which in tree_of_node]
        sizes = np.array([int(own[-1]) + 1 for own in units], np.int64)
        starts = np.cumsum(sizes) - sizes  # units of consecutive nodes are numbered through
        levels.append(np.concatenate([own + start for own, start in zip(units, starts, strict=True)]))
    return _merged(["node", *columns], levels, all(node.pus_known for node in nodes))


def _filled(node: NodeTree, names: Sequence[str], kinds: Sequence[str]) -> Int64:
    """int64[p, kinds]: unit of every PU at every level, also where the node has no such unit.

    `names` are those that the kinds of the node have among `kinds`.

    Where no part of a unit has a kind, the unit as a whole counts as one unit of that kind; where some parts
    have it, each of the other parts counts as one.
    """
    count = len(node.os_pus)
    units = np.full((count, len(kinds)), -1, np.int64)
    for column, kind in enumerate(names):
        units[:, kinds.index(kind)] = node.units[:, column]
    filled = np.empty_like(units)
    group = np.zeros(count, np.int64)
    for column in range(len(kinds)):
        present = units[:, column] >= 0
        mixed = np.bincount(group, present, minlength=count) > 0  # per group: some PU has this kind
        keys = []
        for row in range(count):
            if not mixed[group[row]]:
                keys.append((int(group[row]), -1, -1))
            else:
                first = column + int(np.argmax(units[row, column:] >= 0))
                keys.append((int(group[row]), first, int(units[row, first])))
        numbers: dict[tuple[int, int, int], int] = {}
        group = np.array([numbers.setdefault(key, len(numbers)) for key in keys], np.int64)
        if np.any(np.diff(group) < 0):
            raise FormatError("node", None, f"units of kind {kinds[column]} overlap, expected a tree")
        filled[:, column] = group
    return filled


def _merged(names: list[str], levels: list[Int64], pus_known: bool) -> tuple[Tree, dict[str, str]]:
    """Join neighbouring levels of equal units, choose names and distances, count children.

    GPUs stay a level of their own: a slot is a GPU also where a node has one, or where each has one core.
    """
    groups: list[tuple[list[str], Int64]] = []
    for name, units in zip(names, levels, strict=True):
        apart = name == "gpu" or (pus_known and groups and groups[-1][0][-1] == "gpu")
        # Units refine each other, so equal counts mean equal units.
        if groups and not apart and int(groups[-1][1][-1]) == int(units[-1]):
            groups[-1][0].append(name)
        else:
            groups.append(([name], units))
    same_as: dict[str, str] = {}
    if len(groups) > 1 and int(groups[0][1][-1]) == 0:  # a single node needs no level of its own
        same_as = dict.fromkeys(groups.pop(0)[0], "node")
        del same_as["node"]
    # The best of the kinds of a level is its name, without its number where that name is free.
    chosen = [min(kinds, key=worth) for kinds, _ in groups]
    for index, name in enumerate(chosen):
        if base_kind(name) not in chosen:
            chosen[index] = base_kind(name)
    for (kinds, _), name in zip(groups, chosen, strict=True):
        same_as.update(dict.fromkeys(kinds, name))
    same_as = {kind: name for kind, name in same_as.items() if kind not in chosen}
    tiers: list[Level] = []
    inner = 0
    for (kinds, _), name in zip(reversed(groups), reversed(chosen), strict=True):
        inner = default_distance(kinds, inner)
        tiers.insert(0, Level(name, inner))
    children: list[Count] = []
    outer = np.zeros(len(levels[0]), np.int64)
    for _, units in groups:
        heads = np.flatnonzero(np.diff(units, prepend=-1))
        children.append(count_of(np.bincount(outer[heads]).tolist()))
        outer = units
    return Tree(tuple(tiers), tuple(children)), same_as
