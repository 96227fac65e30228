"""What machines with a network of nodes and a tree inside each node have in common."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import field, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from hopbytes._arrays import Bool, Int32, Int64
from hopbytes._frozen import frozen
from hopbytes.errors import UnsupportedError
from hopbytes.machines.base import NODE_NAMES, KnownHosts, Level, Machine, NetworkUse, cut_down
from hopbytes.machines.distances import NetworkDistance, TreeDistance
from hopbytes.machines.network import Network
from hopbytes.machines.spec_fields import wanted_hosts
from hopbytes.machines.tree import MAX_DISTANCE, Count, Tree, bad, check_levels, shorten
from hopbytes.util.computed_once import computed_once

if TYPE_CHECKING:
    from typing_extensions import Self

#: Largest distance per hop: sums of distances from one core to all others then fit 63 bits.
MAX_PER_HOP = 2**24


@frozen(eq=False)
class NetworkMachine(Machine):
    """Nodes on a network of links, a tree inside each node. Node i sits at endpoint i of the network.

    Subclasses are frozen dataclasses that say what the network is.
    """

    gpus_inside: ClassVar[bool] = False  # the outermost units inside a node have to be its GPUs
    node_hops: ClassVar[int] = 1  # fewest hops that cores of different nodes usually have between them
    #: distance per hop: cores of nodes that are h hops apart have distance ``h * per_hop``, but no less than
    #: cores inside a node. None: ten times what the levels inside have by default.
    per_hop: int | None = field(default=None, kw_only=True)
    #: levels inside a node, the same in every node; or a tree that begins with a level ``node`` for nodes
    #: that differ. None: one core per node.
    inside: Tree | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        per_hop, inside = self.per_hop, self.inside
        if per_hop is not None and not 0 <= per_hop <= MAX_PER_HOP:
            raise bad(f"distance {per_hop} per hop, expected an integer from 0 to 2**24")
        if inside is None:
            return
        named = [level.name for level in inside.tiers]
        whole = starts_with_node(inside)
        if set(named[whole:]) & set(NODE_NAMES):
            what = f"a level {shorten(named[whole])} inside the nodes of {self.network_spec()}"
            wanted = "levels of one node such as 'package:2 core:8' (several nodes at one router: nodes=2)"
            raise bad(f"{what}, expected {wanted}")
        if whole and inside.children[0] != self.n_nodes:
            raise bad(f"levels for {inside.children[0]} nodes, expected the {self.n_nodes} of the network")
        outermost = inside.tiers[whole].distance
        if self.hop_distance < outermost:
            what = f"distance {self.hop_distance} per hop is below {outermost} of {named[whole]}"
            raise bad(f"{what}, expected distances that do not shrink outwards")

    @property
    @abstractmethod
    def n_nodes(self) -> int:
        """Number of nodes."""

    @abstractmethod
    def network(self) -> Network:
        """Return the network between the nodes, built once."""

    @abstractmethod
    def network_spec(self) -> str:
        """Return the spec of the network alone, without distance and nodes."""

    @abstractmethod
    def split_nodes(self, nodes: Int64) -> list[Int64]:
        """Cut two or more nodes (ascending) into the outermost units they lie in, each ascending."""

    @property
    def levels_inside(self) -> Tree | None:
        """The levels inside a node, those that a kind has by default included."""
        return self.inside

    def units_outside(self) -> tuple[tuple[Level, ...], tuple[Count, ...]]:
        """Levels above the node, outermost first, with their counts; the last count is nodes per unit.

        Machines whose network is a hierarchy name its units; the default is one level ``node``.
        """
        return (), (self.n_nodes,)

    def node_distance(self) -> int:
        """Smallest distance that cores of different nodes usually have, as the level ``node`` shows it."""
        return self.node_hops * self.hop_distance

    @property
    def hop_distance(self) -> int:
        if self.per_hop is not None:
            return self.per_hop
        inside = self.levels_inside
        return 1 if inside is None else 10 * inside.tiers[starts_with_node(inside)].distance

    def nested(self, inside: Tree) -> Self:
        """Return this machine with levels inside its nodes; UnsupportedError when it has some already."""
        if self.inside is not None:
            raise UnsupportedError(f"{self.network_spec()} has levels inside its nodes already")
        return replace(self, inside=inside)

    def with_defaults_written(self) -> Self:
        return replace(self, per_hop=self.hop_distance, inside=self.levels_inside)

    def tree_outside(self) -> Tree:
        """Return the levels down to the nodes."""
        tiers, counts = self.units_outside()
        return Tree((*tiers, Level("node", self.node_distance())), counts)

    @property
    @computed_once(16)
    def topology(self) -> Tree:
        return with_inside(self.tree_outside(), self.levels_inside)

    @property
    def node_level(self) -> int:
        return len(self.units_outside()[0])

    def spec(self) -> str:
        text = f"{self.network_spec()}@{self.hop_distance}"
        return text if self.inside is None else f"{text} / {inside_spec(self.inside)}"

    @computed_once(16)
    def distance(self) -> NetworkDistance | TreeDistance:
        lowered, bits = distance_inside(self)
        network, endpoints = self.network(), self.network_use.endpoint_of_core()
        return NetworkDistance(network, lowered.labels, lowered.bit_costs, bits, endpoints, self.hop_distance)

    def split(self, cores: Int64) -> list[Int64]:
        node = self.node_of_core()[cores]
        if len(cores) < 2 or node[0] == node[-1]:
            return self.topology.split(cores)
        part_of = np.zeros(self.n_nodes, np.int32)
        parts = self.split_nodes(np.unique(node).astype(np.int64))
        for number, part in enumerate(parts):
            part_of[part] = number
        owner = part_of[node]
        return [cores[owner == number] for number in range(len(parts))]

    def groups(self, cores: Int64) -> list[Int32]:
        nodes, position = np.unique(self.node_of_core()[cores], return_inverse=True)
        found = [grouping[position] for grouping in cut_down(nodes.astype(np.int64), self.split_nodes)]
        last = found[-1].astype(np.int64) if found else np.zeros(len(cores), np.int64)
        count = int(last.max(initial=0)) + 1
        # Numbers of inner groupings ascend with the cores, so groups of one node stay consecutive.
        for grouping in self.topology.groups(cores):
            finer = np.unique(last * len(cores) + grouping, return_inverse=True)[1].astype(np.int32)
            if int(finer.max(initial=0)) + 1 > count:
                count = int(finer.max()) + 1
                found.append(finer)
        return found or [np.zeros(len(cores), np.int32)]

    def with_distances(self, distances: Mapping[str, int]) -> Self:
        inner = {name: distance for name, distance in distances.items() if name != "hop"}
        check_levels(distances, ["hop", *(level.name for level in self.levels[self.node_level + 1 :])])
        inside = self.inside.with_distances(inner) if self.inside is not None and inner else self.inside
        return replace(self, per_hop=distances.get("hop", self.hop_distance), inside=inside)


class NetworkHierarchy(NetworkMachine):
    """A network machine that is cut along the units which :meth:`units_outside` names, down to the cores."""

    __slots__ = ()
    split = Machine.split
    groups = Machine.groups

    def split_nodes(self, nodes: Int64) -> list[Int64]:
        return self.tree_outside().split(nodes)


def starts_with_node(inside: Tree) -> bool:
    """Tell whether a tree describes all nodes (unequal ones, see ``nest``) instead of one."""
    return inside.tiers[0].name == "node" and inside.tiers[0].distance == MAX_DISTANCE


def with_inside(outer: Tree, inside: Tree | None) -> Tree:
    """Put levels inside the innermost units of a tree; a list of counts for one unit is repeated for all."""
    if inside is None:
        return outer
    whole = starts_with_node(inside)
    counts = (n if whole or isinstance(n, int) else n * outer.n_cores for n in inside.children[whole:])
    return Tree((*outer.tiers, *inside.tiers[whole:]), (*outer.children, *counts))


def children_of(units: int, full: int, size: int, nodes: int) -> Count:
    """Children of each of `units` units: `full` of them, each of `size` nodes, as far as nodes exist."""
    have = -(-nodes // size)
    return full if have == units * full else tuple(min(full, have - unit * full) for unit in range(units))


def inside_spec(inside: Tree) -> str:
    """Return the spec of what is inside nodes, without the level that stands for all of them."""
    levels = inside.spec().split(" ")
    return " ".join(levels[1:] if starts_with_node(inside) else levels)


def distance_inside(machine: NetworkMachine) -> tuple[TreeDistance, int]:
    """Return the distances of the whole tree, and the width of labels up to which they lie in one node."""
    lowered = machine.topology.distance()
    inner_levels = len(machine.levels) - 1 - machine.node_level
    return lowered, int(np.flatnonzero(lowered.level_of_bit <= inner_levels)[-1])


@frozen(eq=False)
class AttachedHosts(NetworkMachine):
    """Named hosts at some endpoints of a network, several or none at each router, in any order."""

    text: str  # spec of this machine, without distance per hop
    #: the machine whose network it is; its distances and the levels inside its nodes are ignored
    around: NetworkMachine
    hosts: tuple[str, ...]  # names in machine order
    places: tuple[int, ...]  # endpoint of each host, distinct
    warnings: tuple[str, ...] = ()  # what the user should know about the source

    def _identity(self) -> tuple[object, ...]:
        return self.around.network_spec(), self.hosts, self.places, self.hop_distance, self.inside

    @property
    def n_nodes(self) -> int:
        return len(self.hosts)

    @property
    def known_hosts(self) -> KnownHosts:
        return KnownHosts(self.hosts, fixed=True)

    def notices(self, used: Bool | None = None) -> tuple[str, ...]:
        return self.warnings

    def network_spec(self) -> str:
        return self.text

    def network(self) -> Network:
        return self.around.network()

    @property
    def network_use(self) -> NetworkUse:
        return NetworkUse(lambda: np.asarray(self.places, np.int32)[self.node_of_core()])

    def split_nodes(self, nodes: Int64) -> list[Int64]:
        places = np.asarray(self.places, np.int64)[nodes]
        order = np.argsort(places)
        parts = self.around.split_nodes(places[order])
        return [np.sort(nodes[order[np.searchsorted(places[order], part)]]) for part in parts]

    def kept(self, wanted: str | None) -> Self:
        """Return the machine of some of its hosts; FormatError for names it does not have."""
        chosen = wanted_hosts(wanted, self.hosts, self.text)
        kept = [node for node, host in enumerate(self.hosts) if host in chosen]
        hosts, places = tuple(self.hosts[node] for node in kept), tuple(self.places[node] for node in kept)
        return replace(self, hosts=hosts, places=places)
