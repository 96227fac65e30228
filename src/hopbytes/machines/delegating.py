"""Machines that are another machine with one part replaced: measured levels, timed links, nodes inside."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import field, replace
from functools import partial

from hopbytes._arrays import Bool, Int32
from hopbytes._frozen import frozen
from hopbytes.errors import FormatError, UnsupportedError
from hopbytes.machines.base import KnownHosts, Level, Machine, NetworkUse, machines
from hopbytes.machines.named_tree import NamedTree
from hopbytes.machines.network_machine import NetworkMachine, with_inside
from hopbytes.machines.node.job import JobInfo, same_host
from hopbytes.machines.node.node_tree import NodeInventory, NodeTree, Part, node_tree
from hopbytes.machines.node_machine import NodeMachine
from hopbytes.machines.tree import MAX_DISTANCE, Tree, bad, shorten

LATENCY = re.compile(r":lat=([^:@\s]*)", re.ASCII)
NUMBER = re.compile(r"(?:[0-9]+(?:\.[0-9]+)?|\.[0-9]+)(e[+-]?[0-9]{1,3})?", re.ASCII)


@frozen(eq=False)
class DelegatingMachine(Machine):
    """A machine all of whose parts are those of another one, but for the one that a subclass replaces."""

    topology: Machine = field()

    @property
    def innermost(self) -> Machine:
        return self.topology.innermost

    def for_nodes(self, nodes: Int32) -> Machine:
        base = self.topology.for_nodes(nodes)
        return self if base is self.topology else replace(self, topology=base)


@frozen(eq=False)
class MeasuredMachine(DelegatingMachine):
    """A machine with other levels: the same names and distances, with what was measured."""

    tiers: tuple[Level, ...] = ()  # its levels with latency and bandwidth
    text: str = ""  # spec of the file it was stored in; empty: that of `topology`

    def _identity(self) -> tuple[object, ...]:
        return self.topology, self.tiers

    @property
    def levels(self) -> tuple[Level, ...]:
        return self.tiers

    def spec(self) -> str:
        return self.text or self.topology.spec()

    def with_distances(self, distances: Mapping[str, int]) -> MeasuredMachine:
        base = self.topology.with_distances(distances)
        pairs = zip(self.tiers, base.levels, strict=True)
        tiers = tuple(replace(tier, distance=level.distance) for tier, level in pairs)
        changed = "".join(f":{name}={distance}" for name, distance in distances.items())
        return MeasuredMachine(base, tiers, self.text and self.text + changed)


@frozen(eq=False)
class TimedLinks(DelegatingMachine):
    """A network whose hops take `latency` seconds: ``torus:4x4:lat=1e-7:bw=1e10``, in bytes per second."""

    latency: float

    def __post_init__(self) -> None:
        if not 0 <= self.latency < math.inf:
            raise bad(f"lat={self.latency}, expected seconds >= 0")

    def _identity(self) -> tuple[object, ...]:
        return self.topology, self.latency

    def spec(self) -> str:
        network, slash, inside = self.topology.spec().partition(" / ")
        return f"{network}:lat={self.latency!r}{slash}{inside}"

    @property
    def network_use(self) -> NetworkUse:
        return replace(self.topology.network_use, hop_latency=self.latency)

    def with_distances(self, distances: Mapping[str, int]) -> TimedLinks:
        return TimedLinks(self.topology.with_distances(distances), self.latency)


def take_latency(text: str) -> tuple[str, float | None]:
    """Take ``lat=`` out of the spec of a network."""
    found = LATENCY.findall(text)
    if not found:
        return text, None
    if len(found) > 1 or not NUMBER.fullmatch(found[0]):
        raise bad(f"{shorten(text)}: lat={shorten(found[0])}, expected seconds like 1e-7, once")
    return LATENCY.sub("", text), float(found[0])


def with_latency(machine: Machine, latency: float) -> TimedLinks:
    """Give the hops of a network a latency; FormatError for machines without one."""
    if not isinstance(machine.innermost, NetworkMachine):
        raise bad(f"{shorten(machine.spec())}: lat={latency!r}, expected it of levels or of a network")
    return TimedLinks(machine, latency)


@frozen(eq=False)
class NestedMachine(DelegatingMachine):
    """A network or switches around nodes whose own numbers are known: ``torus:4x4 / hwloc:node.xml``.

    `topology` is the network or the switches with the levels of the nodes inside.
    """

    outside: str  # spec of `topology` without what is inside its nodes
    nodes: NodeMachine  # one node for all, or as many as `topology` has, in its order

    def _identity(self) -> tuple[object, ...]:
        return self.topology, self.nodes

    def spec(self) -> str:
        return f"{self.outside} / {self.nodes.spec()}"

    def with_distances(self, distances: Mapping[str, int]) -> NestedMachine:
        inner = {tier.name for tier in self.nodes.topology.tiers} | set(self.nodes.inventory.same_as)
        outer = {name: distance for name, distance in distances.items() if name not in inner - {"node"}}
        nodes = self.nodes.with_distances({n: d for n, d in distances.items() if n not in outer})
        changed = {tier.name: tier.distance for tier in nodes.topology.tiers if tier.name != "node"}
        base = self.topology.with_distances({**changed, **outer})
        return NestedMachine(base, base.spec().partition(" / ")[0] if outer else self.outside, nodes)

    @property
    def inventory(self) -> NodeInventory:
        inventory = self.nodes.inventory
        if inventory.n_nodes > 1:
            return inventory
        return inventory.repeated(self.n_cores // len(inventory.os_cpus()))

    @property
    def job(self) -> JobInfo | None:
        return self.nodes.job

    @property
    def known_hosts(self) -> KnownHosts:
        known = self.topology.known_hosts
        return known if known.names else replace(known, names=self.nodes.hosts)

    def notices(self, used: Bool | None = None) -> tuple[str, ...]:
        return (*self.topology.notices(used), *self.nodes.notices())


def nest(outer: Machine, text: str, parse: Callable[[str], Machine]) -> Machine:
    """Put what `text` describes inside the nodes of a network, or inside the innermost units of a tree."""
    if not isinstance(outer, (NetworkMachine, NamedTree, Tree)):
        found = f"{shorten(outer.spec())} cannot have levels inside"
        raise UnsupportedError(f"{found}, expected a network like torus:4x4 or a tree")
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
            trees = tuple(by_gpu(tree, text) for tree in inside.inventory.trees)
            inside = replace(inside, inventory=NodeInventory(trees, inside.inventory.tree_of_node))
        nodes, tree = _in_order_of(outer, inside, units)
        base = nest(outer, text, lambda _: tree).with_defaults_written()
        outside = outer.spec() if isinstance(outer, Tree) else base.spec().partition(" / ")[0]
        return NestedMachine(base, outside, nodes)
    if not isinstance(inside, Tree):
        raise UnsupportedError(f"{shorten(text)} inside a node, expected a tree such as 'package:2 core:8'")
    return with_inside(outer, inside) if isinstance(outer, Tree) else outer.nested(inside)


def _in_order_of(outer: Machine, nodes: NodeMachine, count: int) -> tuple[NodeMachine, Tree]:
    """Put nodes in the order of the machine around them, and return what is inside them as a tree."""
    if nodes.inventory.n_nodes == 1:
        return nodes, nodes.topology
    known = outer.known_hosts.names
    if known and nodes.hosts:
        order = [_find(name, nodes.hosts) for name in known]
        tree_of_node = tuple(nodes.inventory.tree_of_node[node] for node in order)
        inventory = replace(nodes.inventory, tree_of_node=tree_of_node)
        nodes = replace(nodes, inventory=inventory, hosts=known, job=None)
    if nodes.inventory.n_nodes != count:
        found = f"{nodes.inventory.n_nodes} nodes inside"
        raise bad(f"{found}, expected {count}, one for each outside (or one for all)")
    # Several nodes always have a level `node`, perhaps with nothing inside.
    tree = nodes.topology
    return nodes, Tree((Level("node", MAX_DISTANCE), *tree.tiers[1:]), (count, *tree.children[1:]))


def _find(name: str, hosts: tuple[str, ...]) -> int:
    node = next((node for node, host in enumerate(hosts) if same_host(name, host)), None)
    if node is None:
        what = f"host {name!r} of the outer part is not among the {len(hosts)} inside, expected all of them"
        raise bad(f"{what} (slurm:FILE@hosts keeps some)")
    return node


def by_gpu(tree: NodeTree, where: str) -> NodeTree:
    """Return a node whose outermost units are its GPUs, each with its share of the cores near to it.

    A core is near to a GPU if one of its hardware threads is. A core that is near to GPUs of different sets
    of threads belongs to those with the smaller set. O(PUs x GPUs).
    """
    if not tree.gpus:
        raise bad(f"{where[:60]} has no GPU, expected nodes with GPUs")
    known = partial(node_tree, host=tree.host, numa=tree.numa, where=where, notices=tree.notices)
    if not tree.pus_known:
        units = tuple(Part("gpu", gpu.index, (Part("pu", gpu.index),)) for gpu in tree.gpus)
        return known(Part("machine", 0, units), gpus=tree.gpus, pus_known=False)
    cores: dict[int, list[int]] = {}
    for core, pu in zip(tree.cores.tolist(), tree.os_pus.tolist(), strict=True):
        cores.setdefault(core, []).append(pu)
    free = dict(cores)
    parts: dict[int, tuple[Part, ...]] = {}
    gpus = {}
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
                raise bad(f"{where[:60]}: GPU {gpu.index} has no core of its own, expected one for each GPU")
            parts[gpu.index] = tuple(
                Part("core", core, tuple(Part("pu", pu) for pu in cores[core])) for core in own[first:end]
            )
            pus = sorted(pu for core in own[first:end] for pu in cores[core])
            gpus[gpu.index] = replace(gpu, pus=tuple(pus))
    node = Part("machine", 0, tuple(Part("gpu", index, parts[index]) for index in sorted(parts)))
    return known(node, gpus=tuple(gpus[gpu.index] for gpu in tree.gpus))
