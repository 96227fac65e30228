"""Allocations with hops as distances: the number of links in place of the machine's own distances."""

from __future__ import annotations

import dataclasses
from itertools import pairwise

import numpy as np

from hopbytes.cost.objectives.link_sums import endpoints_of, network_of
from hopbytes.cost.objectives.scale import in_scale
from hopbytes.machines.distances import NetworkDistance, TreeDistance
from hopbytes.machines.network import Network
from hopbytes.model.allocation import Allocation
from hopbytes.model.comm_graph import CommGraph


def hop_distances_only(where: Allocation, wanted: str) -> Allocation:
    """Return the same allocation with hops as distances: 1 per link, 0 inside a node."""
    return _counted(where, wanted, "hop_distances_only", 1, inside=False)


def hop_distances_for_search(graph: CommGraph, where: Allocation, wanted: str) -> Allocation:
    """Return the same allocation with distances for searches: a hop outweighs every distance inside a node.

    The objective is 0 inside a node; keeping those distances, at a lower weight, makes the search choose
    good places inside nodes as well. They are left out where they would take J of the search above 63 bits.
    """
    dominated = _counted(where, wanted, "hop_dominated_distances", 16, inside=True)
    return dominated if in_scale(graph, dominated) else hop_distances_only(where, wanted)


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
    """Return hops by level, for networks whose distances are a tree (fat trees)."""
    labels, endpoints = distance.labels, endpoints_of(where)
    # Labels ascend, so every level at which two places differ occurs between two adjacent places.
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
