"""Nodes whose own numbering is known, on a network or below switches: ``torus:4x4 / hwloc:node.xml``."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hopbytes._arrays import Int64
from hopbytes.errors import FormatError
from hopbytes.machines.base import Level, Machine
from hopbytes.machines.common.delegating_machine import Wrapped
from hopbytes.machines.common.node_machine import NodeMachine
from hopbytes.machines.common.tree import MAX_DISTANCE, Tree
from hopbytes.machines.node.job_environment import Job, same_host
from hopbytes.machines.node.node_tree import NodeTree


@dataclass(frozen=True, slots=True, eq=False)
class NodesOn(Wrapped):
    """A machine that knows what is between the nodes, with nodes that know what is inside them.

    Parameters
    ----------
    base : Machine
        The network or the switches with the levels of the nodes inside: all distances and cuts.
    outside : str
        Spec of `base` without what is inside its nodes.
    nodes : NodeMachine
        One node for all, or as many as `base` has, in its order.
    """

    base: Machine
    outside: str
    nodes: NodeMachine

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NodesOn) and self.base == other.base and self.nodes == other.nodes

    def __hash__(self) -> int:
        return hash((self.base, self.nodes))

    def spec(self) -> str:
        """Both parts."""
        return f"{self.outside} / {self.nodes.spec()}"

    def with_distances(self, distances: Mapping[str, int]) -> NodesOn:
        """Replace distances of levels inside the nodes, also of merged kinds, or outside."""
        inner = {tier.name for tier in self.nodes.tree.tiers} | set(self.nodes.same_as)
        outer = {name: distance for name, distance in distances.items() if name not in inner - {"node"}}
        base, outside = self.base, self.outside
        nodes = self.nodes.with_distances({n: d for n, d in distances.items() if n not in outer})
        changed = {tier.name: tier.distance for tier in nodes.tree.tiers if tier.name != "node"}
        base = base.with_distances({**changed, **outer})
        return NodesOn(base, base.spec().partition(" / ")[0] if outer else outside, nodes)

    def level_same_as(self, name: str) -> str | None:
        """Level with the same units as a kind that was merged."""
        return self.nodes.level_same_as(name)

    def node_names(self) -> tuple[str, ...]:
        """Host names, from outside or inside."""
        return self.base.node_names() or self.nodes.node_names()

    def notices(self) -> tuple[str, ...]:
        """What the user should know about the sources of both parts."""
        return (*self.base.notices(), *self.nodes.notices())

    def notices_on(self, used: NDArray[np.bool_]) -> tuple[str, ...]:
        """What of that matters to a job on some nodes."""
        return (*self.base.notices_on(used), *self.nodes.notices())

    def job(self) -> Job | None:
        """The job the nodes belong to."""
        return self.nodes.job()

    def node_tree(self, node: int) -> NodeTree:
        """The tree of one node."""
        return self.nodes.node_tree(0 if len(self.nodes.tree_of_node) == 1 else node)

    def os_cpus(self) -> tuple[Int64, Int64]:
        """CPU numbers of the operating system of every place."""
        _, numbers = self.nodes.os_cpus()
        repeats = self.n_cores // len(numbers)
        return np.arange(self.n_cores + 1, dtype=np.int64), np.tile(numbers, repeats)


def settle_nodes(outer: Machine, nodes: NodeMachine, count: int) -> tuple[NodeMachine, Tree]:
    """Put nodes in the order of a machine around them, and say what is inside it as a tree.

    Parameters
    ----------
    outer : Machine
        What is between the nodes; perhaps it knows them by name.
    nodes : NodeMachine
        One node, or several with or without names.
    count : int
        Nodes of `outer`.

    Returns
    -------
    nodes : NodeMachine
        One, or one per node of `outer`.
    inside : Tree
        Levels of one node; those of all below a level ``node`` of the largest distance when they differ.

    Raises
    ------
    FormatError
        Another number of nodes, or names of `outer` that nobody describes.
    """
    if len(nodes.tree_of_node) == 1:
        return nodes, nodes.tree
    known = outer.node_names()
    if known and nodes.hosts:
        order = [_find(name, nodes.hosts) for name in known]
        nodes = dataclasses.replace(
            nodes, tree_of_node=tuple(nodes.tree_of_node[place] for place in order), hosts=known,
            its_job=None,
        )  # fmt: skip
    if len(nodes.tree_of_node) != count:
        what = f"{len(nodes.tree_of_node)} nodes inside, expected {count}, one for each outside"
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
