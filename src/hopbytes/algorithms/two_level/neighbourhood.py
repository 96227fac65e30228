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
from hopbytes.errors import UnsupportedError
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
    count, levels, whole = nodes.count, _levels_of(nodes), True
    reach = count if count <= MOST_SITES else min(count, 2 * WINDOW + 1)
    near, hops = np.empty((count, reach), np.int32), np.zeros((count, reach), np.uint16)
    for first in range(0, count, ROWS):
        sites = np.arange(first, min(first + ROWS, count))[:, None]
        others = np.clip(sites - WINDOW, 0, count - reach) + np.arange(reach)
        whole = whole and not effort.out_of_time
        if whole:
            apart = levels(sites, others)
            order = np.argsort(apart, axis=1, kind="stable")
            others = np.take_along_axis(others, order, axis=1)
            hops[sites[:, 0]] = np.take_along_axis(apart, order, axis=1)
        near[sites[:, 0]] = others
        _begin_with_itself(near, sites[:, 0])
    return (near.reshape(-1), hops.reshape(-1)), whole


def _begin_with_itself(near: Int32, sites: Int64) -> None:
    """Move every site to the beginning of its row, even if other sites are at distance 0."""
    own = np.argmax(near[sites] == sites[:, None], axis=1)
    for site, place in zip(sites[own > 0].tolist(), own[own > 0].tolist(), strict=True):
        near[site, 1 : place + 1] = near[site, :place].copy()
        near[site, 0] = site


def _levels_of(nodes: Nodes) -> Callable[[Int64, Int64], UInt16]:
    """Return what gives :func:`levels_between` for some pairs of nodes, whose numbers broadcast."""
    distance, network = nodes.where.distance, nodes.where.machine.network()
    if network is not None:
        endpoints = endpoints_of(nodes.where)[nodes.first]

        def hops(one: Int64, other: Int64) -> UInt16:
            a, b = endpoints[one], endpoints[other]
            there, back = network.hops(a, b), network.hops(b, a)
            if min(there.min(), back.min()) < 0:
                network.check_routed(endpoints)  # says which nodes have no route
            if max(there.max(), back.max()) >= NO_ROUTE:
                raise UnsupportedError(f"routes of {NO_ROUTE} hops or more, expected shorter ones")
            longer: UInt16 = np.maximum(there, back).astype(np.uint16)
            return longer

        return hops
    if isinstance(distance, TreeDistance):
        labels, level_of_bit = distance.labels[nodes.first], distance.level_of_bit.astype(np.uint16)
        powers = np.uint64(1) << np.arange(64, dtype=np.uint64)
        return lambda one, other: level_of_bit[np.searchsorted(powers, labels[one] ^ labels[other], "right")]
    _, ranks = np.unique(distance.select(nodes.first).matrix(), return_inverse=True)
    table = np.minimum(ranks, NO_ROUTE - 1).astype(np.uint16).reshape(nodes.count, nodes.count)
    return lambda one, other: table[one, other]


def levels_between(nodes: Nodes) -> UInt16:
    """Return uint16[P, P], hops between nodes on a network, or the level at which they differ on a tree.

    Hops are the maximum of both directions; of a table of distances the ranks are taken.
    """
    network, every = nodes.where.machine.network(), np.arange(nodes.count)
    if network is not None:
        hops: UInt16 = network.hop_table(endpoints_of(nodes.where)[nodes.first])
        return hops
    return _levels_of(nodes)(every[:, None], every)


def place_distances(nodes: Nodes) -> Distances:
    """Return the distances between the places: hops on a network, otherwise those of their first PEs."""
    if "distances" not in nodes._cache:
        where = nodes.where.select(nodes.first)
        if where.machine.network() is not None:
            where = hop_distances_only(where, "a search on hops")
        nodes._cache["distances"] = kernel_distances(where)
    found: Distances = nodes._cache["distances"]
    return found
