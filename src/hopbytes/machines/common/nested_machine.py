"""Nodes with known numbers inside them, on a network or below switches: ``torus:4x4 / hwloc:node.xml``."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from hopbytes._arrays import Bool
from hopbytes._frozen import frozen
from hopbytes.errors import FormatError
from hopbytes.machines.base import KnownHosts, Machine
from hopbytes.machines.common.delegating_machine import DelegatingMachine
from hopbytes.machines.common.node_machine import NodeMachine
from hopbytes.machines.common.tree import MAX_DISTANCE, Tree
from hopbytes.machines.node.inventory import NodeInventory
from hopbytes.machines.node.job_environment import same_host
from hopbytes.machines.node.job_info import JobInfo
from hopbytes.machines.topology import Level


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
