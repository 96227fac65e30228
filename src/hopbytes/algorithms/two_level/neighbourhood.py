"""The neighbourhoods of the nodes of an allocation: other nodes by increasing distance."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from hopbytes._arrays import Int32, Int64, UInt16
from hopbytes.algorithms.base import Effort
from hopbytes.algorithms.two_level.groups import Nodes
from hopbytes.cost.objectives.link_sums import endpoints_of
from hopbytes.cost.objectives.on_links import hop_distances_only
from hopbytes.engine.routed_search import Neighbourhood
from hopbytes.kernels.records import Distances
from hopbytes.kernels.routes import NO_ROUTE
from hopbytes.machines.distances import TreeDistance, kernel_distances

#: With more sites (nodes) than this, only sites near in machine order belong to a neighbourhood.
MOST_SITES = 4096
#: The number of sites before and after a site in this case.
WINDOW = 256
#: The number of rows that are sorted between two questions whether to stop.
ROWS = 256


def neighbourhood_of(nodes: Nodes, effort: Effort | None = None, *, of_pes: bool = False) -> Neighbourhood:
    """Return the neighbourhood of every node; its places are the node itself or, with `of_pes`, its PEs.

    O(P^2 log P) for P nodes, computed once. For P > 4096 the neighbourhood of a node consists only of the 256
    nodes before and after it in machine order. Where a deadline of the effort passes, the other nodes follow
    in machine order in the remaining rows.
    """
    cache = nodes._cache
    rows = cache.get("neighbourhood")
    if rows is None:
        rows, whole = _rows(nodes, Effort() if effort is None else effort)
        if whole:
            cache["neighbourhood"] = rows
    near, hops = rows
    places = np.arange(nodes.count)
    if of_pes:
        return Neighbourhood(near, hops, nodes.of_pe, nodes.start, nodes.pes.astype(np.int32))
    return Neighbourhood(
        near, hops, places.astype(np.int32), np.arange(nodes.count + 1), places.astype(np.int32)
    )


def _rows(nodes: Nodes, effort: Effort) -> tuple[tuple[Int32, UInt16], bool]:
    """Return for every site the others by increasing distance, their distances, whether all are sorted."""
    count = nodes.count
    if count > MOST_SITES:
        return _rows_in_window(nodes), True
    near, hops = np.empty((count, count), np.int32), np.zeros((count, count), np.uint16)
    rows = _rows_of_levels(nodes)
    for first in range(0, count, ROWS):
        sites = np.arange(first, min(first + ROWS, count))
        if effort.out_of_time:
            near[first:] = np.arange(count)
            _begin_with_itself(near[first:], np.arange(first, count))
            return (near.reshape(-1), hops.reshape(-1)), False
        levels = rows(sites)
        order = np.argsort(levels, axis=1, kind="stable").astype(np.int32)
        _begin_with_itself(order, sites)
        near[sites], hops[sites] = order, np.take_along_axis(levels, order.astype(np.int64), axis=1)
    return (near.reshape(-1), hops.reshape(-1)), True


def _begin_with_itself(near: Int32, sites: Int64) -> None:
    """Move every site to the beginning of its row, even if other sites are at distance 0."""
    own = np.argmax(near == sites[:, None], axis=1)
    for row in np.flatnonzero(own):
        near[row, 1 : own[row] + 1] = near[row, : own[row]].copy()
        near[row, 0] = sites[row]


def _rows_in_window(nodes: Nodes) -> tuple[Int32, UInt16]:
    count = nodes.count
    reach = min(count, 2 * WINDOW + 1)
    first = np.clip(np.arange(count) - WINDOW, 0, count - reach)
    window = first[:, None] + np.arange(reach)
    hops = np.stack([_row_levels(nodes, site, window[site]) for site in range(count)])
    order = np.argsort(hops, axis=1, kind="stable")
    near = np.take_along_axis(window, order, axis=1).astype(np.int32)
    return near.reshape(-1), np.take_along_axis(hops, order, axis=1).reshape(-1)


def _rows_of_levels(nodes: Nodes) -> Callable[[Int64], UInt16]:
    """Return a function that gives the rows of :func:`levels_between` for some sites."""
    network = nodes.where.machine.network()
    if network is None or nodes.count <= ROWS:
        levels = levels_between(nodes)
        return lambda sites: levels[sites]
    endpoints = endpoints_of(nodes.where)[nodes.first]

    def rows(sites: Int64) -> UInt16:
        there, back = (
            network.hops(*ends)
            for ends in ((endpoints[sites, None], endpoints), (endpoints, endpoints[sites, None]))
        )
        if min(there.min(), back.min()) < 0 or max(there.max(), back.max()) >= NO_ROUTE:
            return node_hops(nodes)[sites]  # says which nodes have no route
        longer: UInt16 = np.maximum(there, back).astype(np.uint16)
        return longer

    return rows


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
    """Return uint16[P, P], the hops between nodes of a network, the maximum of both directions."""
    network, endpoints = nodes.where.machine.network(), endpoints_of(nodes.where)[nodes.first]
    hops: UInt16 = network.hop_table(endpoints)
    return hops


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
        bits = np.searchsorted(np.uint64(1) << np.arange(64, dtype=np.uint64), differing, side="right")
        levels: UInt16 = distance.level_of_bit[bits].astype(np.uint16)
        return levels
    clipped: UInt16 = np.minimum(distance.apart(first[site], first[others]), 65534).astype(np.uint16)
    return clipped


def place_distances(nodes: Nodes) -> Distances:
    """Return the distances between the places: hops on a network, otherwise those of their first PEs."""
    if "distances" not in nodes._cache:
        where = nodes.where.select(nodes.first)
        if where.machine.network() is not None:
            where = hop_distances_only(where, "a search on hops")
        nodes._cache["distances"] = kernel_distances(where)
    found: Distances = nodes._cache["distances"]
    return found
