"""Nodes with known numbers inside them, on a network or below switches: ``torus:4x4 / hwloc:node.xml``."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping

from hopbytes._arrays import Bool
from hopbytes._frozen import frozen
from hopbytes.errors import FormatError, UnsupportedError
from hopbytes.machines.base import KnownHosts, Level, Machine, machines
from hopbytes.machines.composed import DelegatingMachine
from hopbytes.machines.kinds.tree import MAX_DISTANCE, Tree, shorten
from hopbytes.machines.named_tree import NamedTree
from hopbytes.machines.network.network_machine import Count, NetworkMachine, starts_with_node
from hopbytes.machines.node.job import JobInfo, same_host
from hopbytes.machines.node.node_machine import NodeMachine
from hopbytes.machines.node.node_tree import NodeInventory, NodeTree, Part, node_tree


@frozen(eq=False)
class NestedMachine(DelegatingMachine):
    """A machine that describes what is between the nodes, with nodes whose own numbers are known."""

    #: the network or the switches with the levels of the nodes inside: its topology is that of the whole
    base: Machine
    outside: str  # spec of `base` without what is inside its nodes
    nodes: NodeMachine  # one node for all, or as many as `base` has, in its order

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NestedMachine) and self.base == other.base and self.nodes == other.nodes

    def __hash__(self) -> int:
        return hash((self.base, self.nodes))

    def spec(self) -> str:
        """Specs of both parts."""
        return f"{self.outside} / {self.nodes.spec()}"

    def with_distances(self, distances: Mapping[str, int]) -> NestedMachine:
        """Replace distances of levels inside the nodes, also of merged kinds, or outside."""
        inner = {tier.name for tier in self.nodes.tree.tiers} | set(self.nodes.inventory.same_as)
        outer = {name: distance for name, distance in distances.items() if name not in inner - {"node"}}
        base, outside = self.base, self.outside
        nodes = self.nodes.with_distances({n: d for n, d in distances.items() if n not in outer})
        changed = {tier.name: tier.distance for tier in nodes.tree.tiers if tier.name != "node"}
        base = base.with_distances({**changed, **outer})
        return NestedMachine(base, base.spec().partition(" / ")[0] if outer else outside, nodes)

    @property
    def inventory(self) -> NodeInventory:
        """The inventory of the nodes, the same for all of them where one was described."""
        inventory = self.nodes.inventory
        if inventory.n_nodes > 1:
            return inventory
        return inventory.repeated(self.n_cores // len(inventory.os_cpus()))

    @property
    def job(self) -> JobInfo | None:
        """The job the nodes belong to."""
        return self.nodes.job

    @property
    def known_hosts(self) -> KnownHosts:
        """The hosts that `base` knows, or else those of the nodes."""
        known = self.base.known_hosts
        return known if known.names else dataclasses.replace(known, names=self.nodes.hosts)

    def notices(self, used: Bool | None = None) -> tuple[str, ...]:
        """What the user should know about the sources of both parts."""
        return (*self.base.notices(used), *self.nodes.notices())


def in_order_of(outer: Machine, nodes: NodeMachine, count: int) -> tuple[NodeMachine, Tree]:
    """Put nodes in the order of the machine around them, and return what is inside them as a tree."""
    if nodes.inventory.n_nodes == 1:
        return nodes, nodes.tree
    known = outer.known_hosts.names
    if known and nodes.hosts:
        order = [_find(name, nodes.hosts) for name in known]
        tree_of_node = tuple(nodes.inventory.tree_of_node[place] for place in order)
        inventory = dataclasses.replace(nodes.inventory, tree_of_node=tree_of_node)
        nodes = dataclasses.replace(nodes, inventory=inventory, hosts=known, job=None)
    if nodes.inventory.n_nodes != count:
        what = f"{nodes.inventory.n_nodes} nodes inside, expected {count}, one for each outside"
        raise FormatError("machine", None, f"{what} (or one for all)")
    # Several nodes always have a level `node`, perhaps with nothing inside.
    tree = nodes.tree
    return nodes, Tree((Level("node", MAX_DISTANCE), *tree.tiers[1:]), (count, *tree.children[1:]))


def _find(name: str, hosts: tuple[str, ...]) -> int:
    place = next((place for place, host in enumerate(hosts) if same_host(name, host)), None)
    if place is None:
        what = f"host {name!r} of the outer part is none of the {len(hosts)} inside, expected all of them"
        raise FormatError("machine", None, f"{what} (slurm:FILE@hosts keeps some)")
    return place


def nest(outer: Machine, text: str, parse: Callable[[str], Machine]) -> Machine:
    """Put what `text` describes inside the nodes of a network, or inside the innermost units of a tree."""
    if not isinstance(outer, (NetworkMachine, NamedTree, Tree)):
        raise UnsupportedError(
            f"{shorten(outer.spec())} cannot have levels inside, expected a network like torus:4x4 or a tree"
        )
    units = outer.n_cores if isinstance(outer, Tree) else int(outer.node_of_core()[-1]) + 1
    try:
        inside = parse(text)
    except FormatError:
        if "[" not in text or text.partition(":")[0] in machines:
            raise
        # The list has one number per unit of the whole machine, so it is read below as many nodes.
        inside = parse(f"node:{units}@{MAX_DISTANCE} {text}")
    if isinstance(inside, NodeMachine):
        if isinstance(outer, NetworkMachine) and outer.gpus_inside:
            inside = dataclasses.replace(inside, inventory=gpus_first(inside.inventory, text))
        nodes, tree = in_order_of(outer, inside, units)
        base = nest(outer, text, lambda _: tree)
        base = base.with_defaults_written() if isinstance(base, NetworkMachine) else base
        outside = outer.spec() if isinstance(outer, Tree) else base.spec().partition(" / ")[0]
        return NestedMachine(base, outside, nodes)
    if not isinstance(inside, Tree):
        raise UnsupportedError(f"{shorten(text)} inside a node, expected a tree such as 'package:2 core:8'")
    if isinstance(outer, (NetworkMachine, NamedTree)):
        return outer.nested(inside)
    whole = starts_with_node(inside)
    counts: list[Count] = [
        count if isinstance(count, int) or whole else count * units for count in inside.children[whole:]
    ]
    return Tree((*outer.tiers, *inside.tiers[whole:]), (*outer.children, *counts))


def gpus_first(inventory: NodeInventory, where: str) -> NodeInventory:
    """Return the inventory with a level ``gpu`` right inside the nodes; see :func:`by_gpu` for errors."""
    return NodeInventory(tuple(by_gpu(tree, where) for tree in inventory.trees), inventory.tree_of_node)


def by_gpu(tree: NodeTree, where: str) -> NodeTree:
    """Return a node whose cores are grouped by GPU.

    A core is near to a GPU if one of its hardware threads is. A core that is near to GPUs of different sets
    of threads belongs to those with the smaller set. O(PUs x GPUs).
    """
    if not tree.gpus:
        raise FormatError("machine", None, f"{where[:60]} tells no GPU, expected nodes with GPUs")
    if not tree.pus_known:
        units = tuple(Part("gpu", gpu.index, (Part("pu", gpu.index),)) for gpu in tree.gpus)
        return node_tree(
            Part("machine", 0, units), gpus=tree.gpus, host=tree.host, numa=tree.numa, where=where,
            notices=tree.notices, pus_known=False,
        )
    cores: dict[int, list[int]] = {}
    for core, pu in zip(tree.cores.tolist(), tree.os_pus.tolist(), strict=True):
        cores.setdefault(core, []).append(pu)
    free = dict(cores)
    parts: dict[int, tuple[Part, ...]] = {}
    sets = {frozenset(gpu.pus) for gpu in tree.gpus}
    # Without threads a GPU is near to all that are left.
    for near in sorted(sets, key=lambda pus: (not pus, len(pus), min(pus, default=0))):
        alike = [gpu for gpu in tree.gpus if frozenset(gpu.pus) == near]
        own = [core for core, pus in free.items() if not near or not near.isdisjoint(pus)]
        for core in own:
            del free[core]
        for number, gpu in enumerate(alike):
            first, end = (len(own) * i // len(alike) for i in (number, number + 1))
            if first == end:
                what = f"{where[:60]}: GPU {gpu.index} has no core of its own, expected one for each GPU"
                raise FormatError("machine", None, what)
            parts[gpu.index] = tuple(
                Part("core", core, tuple(Part("pu", pu) for pu in cores[core])) for core in own[first:end]
            )
    node = Part("machine", 0, tuple(Part("gpu", index, parts[index]) for index in sorted(parts)))
    gpus = tuple(dataclasses.replace(gpu, pus=_pus(parts[gpu.index])) for gpu in tree.gpus)
    return node_tree(
        node, gpus=gpus, host=tree.host, numa=tree.numa, where=where, notices=tree.notices
    )


def _pus(cores: tuple[Part, ...]) -> tuple[int, ...]:
    return tuple(sorted(pu.os_index for core in cores for pu in core.inside))
