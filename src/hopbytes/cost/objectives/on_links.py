"""The objectives that depend on routes: hops, hop-bytes, congestion, message congestion and their hybrid."""

from __future__ import annotations

import dataclasses
from fractions import Fraction
from itertools import pairwise

import numpy as np

from hopbytes._arrays import Int32
from hopbytes._frozen import frozen
from hopbytes.cost.objectives.comm_cost import Objective, in_scale, objectives
from hopbytes.cost.objectives.link_sums import LinkTraffic, endpoints_of, links_travelled, network_of, traffic
from hopbytes.machines.distances import NetworkDistance, TreeDistance
from hopbytes.machines.network import Network
from hopbytes.model.allocation import Allocation
from hopbytes.model.comm_graph import CommGraph


@objectives.register("hop_bytes")
@frozen
class HopBytes(Objective):
    """WH = sum over arcs of volume x hops, where hops are the links between two nodes, 0 inside a node.

    Source: weighted hops of Deveci et al., "Fast and high quality topology-aware task mapping", IPDPS 2015.
    """

    symbol = "WH"
    unit = "bytes x hops"
    meaning = "volume times links travelled, summed over all arcs"
    family = "distance sum"

    def value(self, graph: CommGraph, where: Allocation, pe: Int32) -> int | float:
        return links_travelled(graph, graph.volumes, where, pe, "objective hop-bytes")

    def lowered(self, graph: CommGraph, where: Allocation) -> tuple[CommGraph, Allocation]:
        return graph, hop_distances_for_search(graph, where, "objective hop-bytes")


@objectives.register("hops")
@frozen
class Hops(Objective):
    """TH = sum over arcs of messages x hops; one message per arc if the source has no message counts.

    Source: total hops of Deveci et al., IPDPS 2015.
    """

    symbol = "TH"
    unit = "messages x hops"
    meaning = "links travelled by all messages"
    family = "distance sum"

    def value(self, graph: CommGraph, where: Allocation, pe: Int32) -> int | float:
        return links_travelled(graph, graph.messages, where, pe, "objective hops")

    def lowered(self, graph: CommGraph, where: Allocation) -> tuple[CommGraph, Allocation]:
        messages = graph.with_weights("messages")
        return messages, hop_distances_for_search(messages, where, "objective hops")


@objectives.register("max_congestion")
@frozen
class MaxCongestion(Objective):
    """MC = the largest volume over capacity of a link, with the routes of the network.

    Source: Deveci et al., IPDPS 2015; Mirsadeghi and Afsahi, "PTRAM", IPDPS workshops 2016.
    """

    symbol = "MC"
    unit = "bytes / capacity"
    meaning = "volume over capacity of the most congested link"
    family = "link loads"

    def value(self, graph: CommGraph, where: Allocation, pe: Int32) -> float:
        found = traffic(graph, graph.volumes, where, pe, "objective max-congestion", priced=True)
        return float(found.most)


@objectives.register("max_messages")
@frozen
class MaxMessages(Objective):
    """MMC = the largest number of messages on a link, independent of its capacity.

    Source: Deveci et al., IPDPS 2015.
    """

    symbol = "MMC"
    unit = "messages"
    meaning = "messages on the link with the most messages"
    family = "link loads"

    def value(self, graph: CommGraph, where: Allocation, pe: Int32) -> float:
        found = traffic(graph, graph.messages, where, pe, "objective max-messages", priced=False)
        return float(found.most)

    def lowered(self, graph: CommGraph, where: Allocation) -> tuple[CommGraph, Allocation]:
        network_of(where, "objective max-messages")
        return graph.with_weights("messages"), where


Terms = tuple[float, float, float, float]


@objectives.register("hybrid")
@frozen
class Hybrid(Objective):
    """Weighted sum of hop-bytes, MC, NZCA and NZCV.

    NZCA and NZCV are mean and population variance of congestion over the links in use. Each term is computed
    as an exact fraction and rounded once.

    Source: Mirsadeghi and Afsahi, "PTRAM: a parallel topology- and routing-aware mapping framework",
    IPDPS workshops 2016.
    """

    #: Add the terms without normalisation, as published. By default each term is first divided by its value
    #: for the mapping in order, because the units differ and the variance would dominate the other terms.
    raw: bool = False
    weights: Terms = (1.0, 1.0, 1.0, 1.0)  #: weights of the four terms

    symbol = "hybrid"
    unit = "times in order"
    meaning = "hop-bytes, and maximum, mean and variance of congestion, relative to the mapping in order"
    family = "link loads"

    def value(self, graph: CommGraph, where: Allocation, pe: Int32) -> float:
        found = traffic(graph, graph.volumes, where, pe, "objective hybrid", priced=True)
        weights = self.resolved(graph, where)
        return sum(w * term for w, term in zip(weights, four_terms(found), strict=True))

    def resolved(self, graph: CommGraph, where: Allocation, blocks: Int32 | None = None) -> Terms:
        """Return the weights, each divided by its term for the mapping `blocks`, by default in order."""
        if self.raw:
            return self.weights
        if blocks is None:
            blocks = (np.arange(graph.n) * where.k // max(1, graph.n)).astype(np.int32)
        base = four_terms(traffic(graph, graph.volumes, where, blocks, "objective hybrid", priced=True))
        a, b, c, d = (w / term if term > 0 else w for w, term in zip(self.weights, base, strict=True))
        return a, b, c, d


def four_terms(found: LinkTraffic) -> Terms:
    """Return hop-bytes, MC, NZCA and NZCV."""
    hop_bytes = Fraction(found.total, 1 << found.shift)
    return float(hop_bytes), float(found.most), float(found.mean), float(found.variance)


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
