"""Machines made of nodes whose own numbering is known: what hwloc, the operating system or a probe told."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from hopbytes._arrays import Int32, Int64
from hopbytes.errors import FormatError, unknown_name
from hopbytes.machines.base import Level, Machine, TreeDistance
from hopbytes.machines.common.leveling import level
from hopbytes.machines.common.tree import Tree
from hopbytes.machines.node.job_environment import Job
from hopbytes.machines.node.node_tree import NodeTree

#: Distances at the end of a spec: ``hwloc:node.xml@n[1-4]:l3=3:package=12``.
OVERRIDES = re.compile(r"((?::[A-Za-z_][A-Za-z0-9_-]*=[0-9]{1,19})+)$", re.ASCII)


@dataclass(frozen=True, slots=True, eq=False)
class NodeMachine(Machine):
    """Nodes, equal or not, with the numbers their operating systems use.

    The places are hardware threads (PUs) that may be used. They are cores where no core has more than one.

    Parameters
    ----------
    text : str
        The spec it was made from, without distances.
    nodes : tuple of NodeTree
        Distinct nodes.
    tree_of_node : tuple of int
        Which of `nodes` every node of the machine is.
    hosts : tuple of str
        Name of every node in order; empty when unknown.
    replaced : mapping of str to int
        Distances of levels that replace the defaults.
    known_tiers : tuple of Level or None
        Levels with measured values, from a stored machine.
    warnings : tuple of str
        Sentences for the user.
    its_job : Job or None
        The job it belongs to; its hosts are the nodes.

    Raises
    ------
    FormatError
        Distances for levels that are not there, or that shrink outwards.
    """

    text: str
    nodes: tuple[NodeTree, ...]
    tree_of_node: tuple[int, ...] = (0,)
    hosts: tuple[str, ...] = ()
    replaced: Mapping[str, int] = field(default_factory=dict)
    known_tiers: tuple[Level, ...] | None = None
    warnings: tuple[str, ...] = ()
    its_job: Job | None = None
    tree: Tree = field(init=False)
    same_as: Mapping[str, str] = field(init=False)
    first_place: Int64 = field(init=False)

    def __post_init__(self) -> None:
        leveled = level(self.nodes, self.tree_of_node)
        tree = leveled.tree
        if self.known_tiers is not None:
            stored = {tier.name: tier for tier in self.known_tiers}
            tree = Tree(tuple(stored.get(tier.name, tier) for tier in tree.tiers), tree.children)
        if self.replaced:
            tree = tree.with_distances(_resolved(tree, leveled.same_as, self.replaced))
        sizes = [len(self.nodes[which].os_pus) for which in self.tree_of_node]
        object.__setattr__(self, "tree", tree)
        object.__setattr__(self, "same_as", leveled.same_as)
        object.__setattr__(self, "first_place", np.cumsum([0, *sizes]).astype(np.int64))

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, NodeMachine)
            and self.tree == other.tree
            and self.hosts == other.hosts
            and [self.nodes[which].identity() for which in self.tree_of_node]
            == [other.nodes[which].identity() for which in other.tree_of_node]
        )

    def __hash__(self) -> int:
        return hash((self.tree, self.hosts))

    @property
    def n_cores(self) -> int:
        """Number of places: usable PUs of all nodes."""
        return int(self.first_place[-1])

    @property
    def levels(self) -> tuple[Level, ...]:
        """Levels of the tree, outermost first."""
        return self.tree.levels

    def spec(self) -> str:
        """The files and hosts it was made from, and distances that were replaced."""
        return self.text + "".join(f":{name}={distance}" for name, distance in self.replaced.items())

    def distance(self) -> TreeDistance:
        """Bit-field labels and a cost per level."""
        return self.tree.distance()

    def ancestors(self, level: int) -> Int32:
        """Unit number at ``levels[level]`` of each place."""
        return self.tree.ancestors(level)

    def split(self, cores: Int64) -> list[Int64]:
        """Children of the lowest unit that holds all `cores`."""
        return self.tree.split(cores)

    def groups(self, cores: Int64) -> list[Int32]:
        """One grouping per seam, straight from the labels."""
        return self.tree.groups(cores)

    def with_distances(self, distances: Mapping[str, int]) -> NodeMachine:
        """Return the machine with other distances of some levels, also by the name of a merged kind."""
        resolved = _resolved(self.tree, self.same_as, distances)
        return dataclasses.replace(self, replaced={**self.replaced, **resolved})

    def level_same_as(self, name: str) -> str | None:
        """Level with the same units as the kind `name`, ``node`` for whole nodes, None for unknown kinds."""
        return self.same_as.get(name)

    def node_names(self) -> tuple[str, ...]:
        """Host names."""
        return self.hosts

    def notices(self) -> tuple[str, ...]:
        """What the user should know about its source."""
        return self.warnings

    def job(self) -> Job | None:
        """The job it belongs to."""
        return self.its_job

    def repeated(self, hosts: Sequence[str]) -> NodeMachine | None:
        """The same node many times."""
        if len(self.tree_of_node) != 1:
            return None
        text = f"{self.text}@{','.join(hosts)}"
        return dataclasses.replace(self, text=text, tree_of_node=(0,) * len(hosts), hosts=tuple(hosts))

    def node_of_core(self) -> Int32:
        """int32[n_cores]: node of each place."""
        nodes = np.arange(len(self.tree_of_node), dtype=np.int32)
        return np.repeat(nodes, np.diff(self.first_place))

    def node_tree(self, node: int) -> NodeTree:
        """The tree of one node, with all its numbers."""
        return self.nodes[self.tree_of_node[node]]

    def os_cpus(self) -> tuple[Int64, Int64]:
        """CPU numbers of the operating system of every place: one each."""
        trees = [self.nodes[which].os_pus for which in self.tree_of_node]
        return np.arange(self.n_cores + 1, dtype=np.int64), np.concatenate(trees)


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

    Examples
    --------
    >>> cut_overrides("a.xml@n[1-2]:l3=3")
    ('a.xml@n[1-2]', {'l3': 3})
    """
    found = OVERRIDES.search(text)
    if not found:
        return text, {}
    pairs = [item.split("=") for item in found[1][1:].split(":")]
    return text[: found.start()], {name: int(value) for name, value in pairs}


def distinct(trees: Sequence[NodeTree]) -> tuple[tuple[NodeTree, ...], tuple[int, ...]]:
    """Return the different ones among nodes, and which of them each node is."""
    numbers: dict[bytes, int] = {}
    kept: list[NodeTree] = []
    which = []
    for tree in trees:
        number = numbers.setdefault(tree.identity(), len(kept))
        if number == len(kept):
            kept.append(tree)
        which.append(number)
    return tuple(kept), tuple(which)


def check_names(hosts: Sequence[str], where: str) -> None:
    """Refuse a host named twice."""
    seen: set[str] = set()
    for host in hosts:
        if host in seen:
            raise FormatError(where, None, f"host {host!r} twice, expected every host once")
        seen.add(host)
