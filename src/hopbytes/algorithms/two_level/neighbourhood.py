"""The neighbourhoods of the nodes of an allocation: other nodes by increasing distance."""

from __future__ import annotations

import numpy as np

from hopbytes._arrays import Int32, Int64, UInt16, UInt64
from hopbytes.algorithms.two_level.level import Nodes
from hopbytes.cost.objectives.hop_distances import hop_distances_only
from hopbytes.cost.objectives.link_sums import endpoints_of
from hopbytes.engine.places import Neighbourhood
from hopbytes.errors import UnsupportedError
from hopbytes.kernels.records import Distances
from hopbytes.kernels.routes import NO_ROUTE, hop_table
from hopbytes.machines.common.lowering import kernel_distances
from hopbytes.machines.place_distances import TreeDistance

#: With more sites (nodes) than this, only sites near in machine order belong to a neighbourhood.
MOST_SITES = 4096
#: The number of sites before and after a site in this case.
WINDOW = 256


def neighbourhood_of(nodes: Nodes, *, of_pes: bool = False) -> Neighbourhood:
    """Return the neighbourhood of every node; its places are the node itself or, with `of_pes`, its PEs.

    O(P^2 log P) for P nodes, computed once. For P > 4096 the neighbourhood of a node consists only of the 256
    nodes before and after it in machine order.
    """
    cache = nodes._cache
    if "neighbourhood" not in cache:
        cache["neighbourhood"] = _rows(nodes)
    near, hops = cache["neighbourhood"]
    places = np.arange(nodes.count)
    if of_pes:
        return Neighbourhood(near, hops, nodes.of_pe, nodes.start, nodes.pes.astype(np.int32))
    return Neighbourhood(
        near, hops, places.astype(np.int32), np.arange(nodes.count + 1), places.astype(np.int32)
    )


def _rows(nodes: Nodes) -> tuple[Int32, UInt16]:
    count = nodes.count
    if count <= MOST_SITES:
        hops = levels_between(nodes)
        near = np.argsort(hops, axis=1, kind="stable").astype(np.int32)
        # The site itself must come first, even if other sites are at distance 0.
        own = np.argmax(near == np.arange(count)[:, None], axis=1)
        for site in np.flatnonzero(own):
            near[site, 1 : own[site] + 1] = near[site, : own[site]].copy()
            near[site, 0] = site
        return near.reshape(-1), np.take_along_axis(hops, near.astype(np.int64), axis=1).reshape(-1)
    reach = min(count, 2 * WINDOW + 1)
    first = np.clip(np.arange(count) - WINDOW, 0, count - reach)
    window = first[:, None] + np.arange(reach)
    hops = np.stack([_row_levels(nodes, site, window[site]) for site in range(count)])
    order = np.argsort(hops, axis=1, kind="stable")
    near = np.take_along_axis(window, order, axis=1).astype(np.int32)
    return near.reshape(-1), np.take_along_axis(hops, order, axis=1).reshape(-1)


def levels_between(nodes: Nodes) -> UInt16:
    """Return uint16[P, P], hops between nodes on a network, or the level at which they differ on a tree."""
    if nodes.where.machine.network() is not None:
        return node_hops(nodes)
    distance = nodes.where.distance.select(nodes.first)
    if isinstance(distance, TreeDistance):
        return np.stack([_row_levels(nodes, site, np.arange(nodes.count)) for site in range(nodes.count)])
    _, ranks = np.unique(distance.matrix(), return_inverse=True)
    return np.minimum(ranks, 65534).astype(np.uint16).reshape(nodes.count, nodes.count)


def node_hops(nodes: Nodes) -> UInt16:
    """Return uint16[P, P], the hops between nodes of a network, the maximum of both directions.

    Raises
    ------
    UnsupportedError
        If a pair of nodes has no route.
    """
    network, endpoints = nodes.where.machine.network(), endpoints_of(nodes.where)[nodes.first]
    hops, unrouted = hop_table(network.form, endpoints)
    if unrouted:
        network.check_routed(endpoints)
    if int(hops.max(initial=0)) == NO_ROUTE:
        raise UnsupportedError(f"routes of {NO_ROUTE} hops or more, expected shorter ones")
    symmetric: UInt16 = np.maximum(hops, hops.T)
    return symmetric


def _row_levels(nodes: Nodes, site: int, others: Int64) -> UInt16:
    distance = nodes.where.distance
    first = nodes.first
    network = nodes.where.machine.network()
    if network is not None:
        endpoints = endpoints_of(nodes.where)[first]
        hops: UInt16 = np.minimum(network.hops(endpoints[site], endpoints[others]), 65534).astype(np.uint16)
        return hops
    if isinstance(distance, TreeDistance):
        differing = distance.labels[first[others]] ^ distance.labels[first[site]]
        levels: UInt16 = distance.level_of_bit[_bit_lengths(differing)].astype(np.uint16)
        return levels
    row = np.array([distance.between(int(first[site]), int(first[other])) for other in others])
    clipped: UInt16 = np.minimum(row, 65534).astype(np.uint16)
    return clipped


def _bit_lengths(values: UInt64) -> Int64:
    """Return exact bit lengths, since floating-point logarithms are inexact near powers of two."""
    lengths = np.zeros(len(values), np.int64)
    for shift in (32, 16, 8, 4, 2, 1):
        large = (values >> np.uint64(shift)) > 0
        lengths += shift * large
        values = np.where(large, values >> np.uint64(shift), values)
    return lengths + (values > 0)


def place_distances(nodes: Nodes) -> Distances:
    """Return the distances between the places: hops on a network, otherwise those of their first PEs."""
    if "distances" not in nodes._cache:
        where = nodes.where.select(nodes.first)
        if where.machine.network() is not None:
            where = hop_distances_only(where, "a search on hops")
        nodes._cache["distances"] = kernel_distances(where)
    found: Distances = nodes._cache["distances"]
    return found
