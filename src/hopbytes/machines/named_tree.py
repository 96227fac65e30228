"""Trees of switches above hosts that have names, as configuration files describe them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace

from hopbytes._arrays import Bool
from hopbytes._frozen import frozen
from hopbytes.errors import UnsupportedError
from hopbytes.fabrics.switch_tree import SwitchTree
from hopbytes.machines.base import KnownHosts, Level, Machine
from hopbytes.machines.network_machine import inside_spec, starts_with_node, with_inside
from hopbytes.machines.node.hardware_kinds import DEFAULT_DISTANCE, SWITCH_STEP
from hopbytes.machines.spec_fields import FileSpec, wanted_hosts
from hopbytes.machines.tree import Tree, bad, check_levels, count_of
from hopbytes.text.lines import integer_in

#: Options of the specs of such files: hosts to keep, and distances of levels.
TREE_KEYS = {"hosts": "n[1-8]", "LEVEL": "60"}


@frozen(eq=False)
class NamedTree(Machine):
    """Hosts below switches, and levels inside the hosts."""

    text: str  # spec of the file, without distances and without the levels inside the hosts
    outside: Tree  # levels of switches, then ``node``
    hosts: tuple[str, ...]  # names of the nodes in machine order
    warnings: tuple[str, ...] = ()  # what the user should know about the source
    inside: Tree | None = None  # levels inside every node; None: one core per node
    topology: Tree = field(init=False)

    def __post_init__(self) -> None:
        inside, nodes = self.inside, len(self.hosts)
        if inside is not None and starts_with_node(inside) and inside.children[0] != nodes:
            raise bad(f"levels for {inside.children[0]} nodes, expected the {nodes} of {self.text}")
        object.__setattr__(self, "topology", with_inside(self.outside, inside))

    @classmethod
    def from_switches(cls, kind: str, spec: FileSpec, switches: SwitchTree) -> NamedTree:
        """Build the machine of the switches of a file: nodes at 40, every level further out 20 more."""
        replaced = level_distances(kind, spec)
        hosts = {host for switch in switches.switches.values() for host in switch.hosts}
        chosen = wanted_hosts(spec.options.get("hosts"), hosts, switches.path)
        for switch in switches.switches.values():
            switch.hosts = [host for host in switch.hosts if host in chosen]
        found = switches.leveled()
        defaults = _default_distances(found.levels)
        check_levels(replaced, list(defaults))
        tiers = tuple(Level(name, replaced.get(name, distance)) for name, distance in defaults.items())
        outside = Tree(tiers, tuple(map(count_of, found.counts)))
        return cls(spec.text(kind), outside, found.hosts, found.notices)

    def _identity(self) -> tuple[object, ...]:
        return self.topology, self.hosts

    @property
    def known_hosts(self) -> KnownHosts:
        return KnownHosts(self.hosts, fixed=True)

    def notices(self, used: Bool | None = None) -> tuple[str, ...]:
        return self.warnings

    def spec(self) -> str:
        tiers = self.outside.tiers
        defaults = _default_distances(tuple(level.name for level in tiers))
        changed = [f":{tier.name}={tier.distance}" for tier in tiers if tier.distance != defaults[tier.name]]
        inside = "" if self.inside is None else f" / {inside_spec(self.inside)}"
        return f"{self.text}{''.join(changed)}{inside}"

    def nested(self, inside: Tree) -> NamedTree:
        if self.inside is not None:
            raise UnsupportedError(f"{self.text} has levels inside its nodes already")
        return replace(self, inside=inside)

    def with_distances(self, distances: Mapping[str, int]) -> NamedTree:
        check_levels(distances, [level.name for level in self.topology.tiers])
        names = {level.name for level in self.outside.tiers}
        outside = self.outside.with_distances({key: d for key, d in distances.items() if key in names})
        inner = {key: d for key, d in distances.items() if key not in names}
        inside = self.inside.with_distances(inner) if self.inside is not None and inner else self.inside
        return replace(self, outside=outside, inside=inside)


def level_distances(kind: str, spec: FileSpec) -> dict[str, int]:
    """Return the distances of levels that a spec gives."""
    for key, value in spec.levels.items():
        if integer_in(value, 0, 10**19) is None:
            raise bad(f"{kind}: {key}={value[:20]!r}, expected an integer >= 0")
    return {key: int(value) for key, value in spec.levels.items()}


def _default_distances(levels: tuple[str, ...]) -> dict[str, int]:
    """Return the distance of each level, outermost first: 40 for nodes, 20 more for each level outside."""
    last = len(levels) - 1
    return {name: DEFAULT_DISTANCE["node"] + SWITCH_STEP * (last - i) for i, name in enumerate(levels)}
