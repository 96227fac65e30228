"""Trees of switches above hosts that have names, as configuration files describe them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace

from hopbytes._arrays import Bool
from hopbytes._frozen import frozen
from hopbytes.errors import FormatError, UnsupportedError, unknown_name
from hopbytes.fabrics.switch_tree import LeveledTree, SwitchTree
from hopbytes.machines.base import KnownHosts, Level
from hopbytes.machines.composed import ComposedMachine
from hopbytes.machines.kinds.tree import Tree
from hopbytes.machines.network.network_machine import Count, inside_spec, starts_with_node
from hopbytes.machines.node.hardware_kinds import DEFAULT_DISTANCE, SWITCH_STEP
from hopbytes.machines.spec_fields import bad
from hopbytes.text.hostlist import expand_hosts


@frozen(eq=False)
class NamedTree(ComposedMachine):
    """Hosts below switches, and levels inside the hosts."""

    text: str  # spec of the file, without distances and without the levels inside the hosts
    outside: Tree  # levels of switches, then ``node``
    hosts: tuple[str, ...]  # names of the nodes in machine order
    warnings: tuple[str, ...] = ()  # what the user should know about the source
    inside: Tree | None = None  # levels inside every node; None: one core per node
    tree: Tree = field(init=False)

    def __post_init__(self) -> None:
        outside, inside = self.outside, self.inside
        tree = outside
        if inside is not None:
            nodes, whole = len(self.hosts), starts_with_node(inside)
            if whole and inside.children[0] != nodes:
                raise bad(f"levels for {inside.children[0]} nodes, expected the {nodes} of {self.text}")
            counts: tuple[Count, ...] = tuple(
                count if whole or isinstance(count, int) else count * nodes
                for count in inside.children[whole:]
            )
            tree = Tree((*outside.tiers, *inside.tiers[whole:]), (*outside.children, *counts))
        object.__setattr__(self, "tree", tree)

    @classmethod
    def from_levels(cls, text: str, found: LeveledTree, replaced: Mapping[str, int]) -> NamedTree:
        """Build the machine of a leveled tree: nodes at 40, every level further out 20 more."""
        defaults = default_distances(found.levels)
        for name in replaced:
            if name not in defaults:
                raise unknown_name("level", name, list(defaults))
        tiers = tuple(Level(name, replaced.get(name, distance)) for name, distance in defaults.items())
        counts: tuple[Count, ...] = tuple(
            count[0] if len(set(count)) == 1 else count for count in found.counts
        )
        return cls(text, Tree(tiers, counts), found.hosts, found.notices)

    def _identity(self) -> tuple[object, ...]:
        return self.tree, self.hosts

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NamedTree) and self._identity() == other._identity()

    def __hash__(self) -> int:
        return hash(self._identity())

    @property
    def topology(self) -> Tree:
        """Levels of switches, ``node``, levels inside."""
        return self.tree

    @property
    def known_hosts(self) -> KnownHosts:
        """The nodes of the file."""
        return KnownHosts(self.hosts, fixed=True)

    def notices(self, used: Bool | None = None) -> tuple[str, ...]:
        """What was left out or assumed."""
        return self.warnings

    def spec(self) -> str:
        """The file and its options, distances that differ from the default, what is inside."""
        defaults = default_distances(tuple(level.name for level in self.outside.tiers))
        changed = "".join(
            f":{level.name}={level.distance}"
            for level in self.outside.tiers if level.distance != defaults[level.name]
        )
        return self.text + changed + ("" if self.inside is None else f" / {inside_spec(self.inside)}")

    def nested(self, inside: Tree) -> NamedTree:
        """Return this machine with levels inside its nodes."""
        if self.inside is not None:
            raise UnsupportedError(f"{self.text} has levels inside its nodes already")
        return replace(self, inside=inside)

    def with_distances(self, distances: Mapping[str, int]) -> NamedTree:
        """Return the machine with other distances of the levels named."""
        known = [level.name for level in self.tree.tiers]
        for name in distances:
            if name not in known:
                raise unknown_name("level", name, known)
        names = {level.name for level in self.outside.tiers}
        outside = self.outside.with_distances({key: d for key, d in distances.items() if key in names})
        inside = self.inside
        inner = {key: d for key, d in distances.items() if key not in names}
        if inside is not None and inner:
            inside = inside.with_distances(inner)
        return replace(self, outside=outside, inside=inside)


def default_distances(levels: tuple[str, ...]) -> dict[str, int]:
    """Return the distance of each level, outermost first: 40 for the last (nodes), 20 more for each outside.

    >>> default_distances(("switch2", "leaf", "node"))
    {'switch2': 80, 'leaf': 60, 'node': 40}
    """
    node = DEFAULT_DISTANCE["node"]
    return {name: node + SWITCH_STEP * (len(levels) - 1 - place) for place, name in enumerate(levels)}


def keep(tree: SwitchTree, wanted: str | None) -> SwitchTree:
    """Leave out all hosts but those of a list; FormatError for hosts no switch has."""
    if wanted is None:
        return tree
    chosen = set(expand_hosts(wanted))
    missing = chosen.difference(*(switch.hosts for switch in tree.switches.values()))
    if missing:
        names = ", ".join(sorted(missing)[:3])
        raise FormatError("`hosts`", None, f"{len(missing)} hosts are not in {tree.path} ({names})")
    for switch in tree.switches.values():
        switch.hosts = [host for host in switch.hosts if host in chosen]
    return tree
