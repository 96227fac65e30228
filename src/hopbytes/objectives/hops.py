"""Hops and hop-bytes: how far messages and bytes travel, in links."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from hopbytes.allocation import Allocation
from hopbytes.graph import CommGraph
from hopbytes.machines.base import TreeDistance
from hopbytes.machines.distances import NetworkDistance
from hopbytes.machines.network import Network
from hopbytes.objectives.base import Int32, Objective, objectives
from hopbytes.objectives.comm_cost import distance_sum
from hopbytes.objectives.links import endpoints_of, network_of


@objectives.register("hop_bytes")
@dataclass(frozen=True, slots=True)
class HopBytes(Objective):
    """WH = sum over arcs of volume x hops, hops being links between the two nodes; 0 inside a node.

    Source: weighted hops of Deveci et al., "Fast and high quality topology-aware task mapping", IPDPS 2015.
    """

    symbol = "WH"
    unit = "bytes x hops"
    meaning = "volume times links travelled, summed over all arcs"
    family = "distance sum"

    def value(self, graph: CommGraph, where: Allocation, pe: Int32) -> int:
        """Return WH; where the ways there and back differ, the longer one counts. O(m)."""
        return distance_sum(graph, graph.volumes, in_hops(where, "objective hop-bytes"), pe)

    def lowered(self, graph: CommGraph, where: Allocation) -> tuple[CommGraph, Allocation]:
        """Return the graph and the allocation on which J is WH."""
        return graph, mostly_hops(where, "objective hop-bytes")


@objectives.register("hops")
@dataclass(frozen=True, slots=True)
class Hops(Objective):
    """TH = sum over arcs of messages x hops; one message per arc where the source counted none.

    Source: total hops of Deveci et al., IPDPS 2015.
    """

    symbol = "TH"
    unit = "messages x hops"
    meaning = "links travelled by all messages"
    family = "distance sum"

    def value(self, graph: CommGraph, where: Allocation, pe: Int32) -> int:
        """Return TH; O(m)."""
        return distance_sum(graph, graph.messages, in_hops(where, "objective hops"), pe)

    def lowered(self, graph: CommGraph, where: Allocation) -> tuple[CommGraph, Allocation]:
        """Return the graph and the allocation on which J is TH."""
        return graph.weighing("messages"), mostly_hops(where, "objective hops")


def in_hops(where: Allocation, wanted: str) -> Allocation:
    """Return the same allocation with hops for distances: 1 per link, 0 inside a node."""
    return _counted(where, wanted, "in_hops", 1, inside=False)


def mostly_hops(where: Allocation, wanted: str) -> Allocation:
    """Return the same allocation with distances for searches: a hop outweighs all there is inside a node.

    What costs nothing in hops, the places inside a node, should still be chosen well.
    """
    return _counted(where, wanted, "mostly_hops", 16, inside=True)


def _counted(where: Allocation, wanted: str, name: str, weight: int, *, inside: bool) -> Allocation:
    network = network_of(where, wanted)
    if name not in where._cache:
        counted = dataclasses.replace(where)
        distance = where.distance
        if isinstance(distance, TreeDistance):
            counted._cache["distance"] = _tree_in_hops(where, network, distance, weight, inside=inside)
        else:
            costs = distance.inside_costs if inside else np.zeros(65, np.int64)
            dearest = max(1, int(costs[: distance.inside_bits + 1].max()))
            counted._cache["distance"] = NetworkDistance(
                network, distance.labels, costs, distance.inside_bits, distance.endpoint,
                min(weight * dearest, 2**40),
            )
        where._cache[name] = counted
    found: Allocation = where._cache[name]
    return found


def _tree_in_hops(
    where: Allocation, network: Network, distance: TreeDistance, weight: int, *, inside: bool
) -> TreeDistance:
    """Count hops level by level where the network is a tree for distances (fat trees)."""
    labels, endpoints = distance.labels, endpoints_of(where)
    # Labels ascend, so every level at which some places part shows between two that follow each other.
    parting = np.array([int(a ^ b).bit_length() for a, b in pairwise(labels.tolist())], np.int64)
    levels = distance.level_of_bit[parting]
    apart = np.flatnonzero(endpoints[:-1] != endpoints[1:])
    first, last = int(levels[apart].min(initial=255)), len(distance.costs)
    costs = np.where(np.arange(last) < first, distance.costs if inside else 0, 0)
    unit = min(weight * max(1, int(costs.max(initial=0))), 2**40)
    for level in range(min(first, last), last):
        pairs = np.flatnonzero(levels == level)
        costs[level] = costs[level - 1] if level else 0
        if len(pairs):
            costs[level] = unit * int(network.hops(endpoints[pairs[0]], endpoints[pairs[0] + 1]))
    return TreeDistance(labels, distance.level_of_bit, costs.astype(np.int64))
