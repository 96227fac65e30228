"""The greedy mapping of LibTopoMap: it follows the heaviest edges over links whose lengths grow with load."""

from __future__ import annotations

import heapq
from typing import Any

import numpy as np

from hopbytes._arrays import Bool, Int32, Int64
from hopbytes._frozen import frozen
from hopbytes.algorithms.base import Effort, mappers
from hopbytes.algorithms.papers.libtopomap import TopologyMapper, classes
from hopbytes.algorithms.two_level import Grouped, HostGraph


@mappers.register("libtopomap_greedy")
@frozen
class TopologyGreedy(TopologyMapper):
    """Assign the neighbour over the heaviest edge to the nearest free node; loaded links are longer.

    Parameters
    ----------
    guarded : bool
        Return the mapping in order if its maximum congestion is lower.
    repetitions, initial_partitions : int
        Effort of the partition to nodes.

    Raises
    ------
    UnsupportedError
        If the links of the machine are unknown.

    Notes
    -----
    Hoefler and Snir, "Generic topology mapping strategies for large-scale parallel architectures", ICS 2011;
    this implementation follows their description. The group with the largest volume is assigned to the first
    node. Then the heaviest edge between an assigned and an unassigned group is selected, and the latter is
    assigned to the free node nearest to the former by shortest paths (Dijkstra's), where the lengths of links
    grow with their load. The paper does not specify the following decisions: a link has length
    1 + load / capacity, in units of the heaviest edge and the largest capacity; when a group is assigned, its
    volumes with assigned groups are added to the loads of the links on shortest paths; in case of ties the
    smaller number is taken; a group without an assigned neighbour is assigned near the previous group. The
    real routes are not used. Dijkstra's algorithm runs twice per group: O(groups x links log links).
    """

    def place(self, grouped: Grouped, hosts: HostGraph, effort: Effort) -> Int32:
        """Return int32[G], the node of every group."""
        csr = grouped.graph.symmetric_positive()
        count = len(grouped.sizes)
        weights = np.ones(len(csr.targets), np.int64) if csr.weights is None else csr.weights
        total = np.bincount(np.repeat(np.arange(count), np.diff(csr.indptr)), weights, minlength=count)
        roads = _Roads(hosts, float(weights.max(initial=1)))
        of_group, of_place = classes(grouped)
        place = np.full(count, -1, np.int64)
        free = np.ones(hosts.places, np.bool_)
        waiting = np.argsort(-total, kind="stable").tolist()
        edges: list[tuple[int, int, int]] = []
        last = 0
        for step in range(count):
            if effort.out_of_time:
                effort.spend(2 * step * len(hosts.targets), whole=False)
                return _in_order(place, free, of_group, of_place)
            near, group = _next(edges, waiting, place)
            distance = roads.distances(last if near < 0 else int(place[near]))[: hosts.places]
            distance[~(free & (of_place == of_group[group]))] = np.inf
            last = place[group] = int(distance.argmin())
            free[last] = False
            row = slice(int(csr.indptr[group]), int(csr.indptr[group + 1]))
            others, volumes = csr.targets[row], weights[row]
            placed = place[others] >= 0
            roads.load(last, place[others[placed]], volumes[placed])
            for other, volume in zip(others[~placed].tolist(), volumes[~placed].tolist(), strict=True):
                heapq.heappush(edges, (-volume, group, other))
        effort.spend(2 * count * len(hosts.targets))
        return place.astype(np.int32)


def _in_order(place: Int64, free: Bool, of_group: Int64, of_place: Int64) -> Int32:
    """Assign the groups without a node to free nodes, both in the order of their numbers within a class."""
    waiting, left = np.flatnonzero(place < 0), np.flatnonzero(free)
    groups = waiting[np.argsort(of_group[waiting], kind="stable")]
    nodes = left[np.argsort(of_place[left], kind="stable")]
    place[groups] = nodes[: len(groups)]
    return place.astype(np.int32)


def _next(edges: list[tuple[int, int, int]], waiting: list[int], place: Int64) -> tuple[int, int]:
    """Return the assigned end (-1: none) of the heaviest edge to an unassigned group, and that group."""
    while edges:
        _, near, group = heapq.heappop(edges)
        if place[group] < 0:
            return near, group
    while place[waiting[0]] >= 0:
        waiting.pop(0)
    return -1, waiting[0]


class _Roads:
    """Links whose lengths grow with their load."""

    def __init__(self, hosts: HostGraph, heaviest: float) -> None:
        from scipy.sparse import csr_array

        self._keys = hosts.sources() * hosts.count + hosts.targets  # ascending, because rows are sorted
        self._count = hosts.count
        self._price = hosts.capacity.max(initial=1) / hosts.capacity / heaviest
        self._links: Any = csr_array(
            (np.ones(len(hosts.targets)), hosts.targets, hosts.indptr.astype(np.int32)),
            shape=(hosts.count, hosts.count),
        )

    def distances(self, source: int) -> Any:
        """Return float64[V], the lengths of the shortest paths from a vertex."""
        from scipy.sparse.csgraph import dijkstra

        return dijkstra(self._links, indices=source)

    def load(self, source: int, targets: Int64, volumes: Int64) -> None:
        """Add volumes to the links of the shortest paths to some vertices; all paths are found beforehand."""
        from scipy.sparse.csgraph import dijkstra

        if not len(targets):
            return
        _, before = dijkstra(self._links, indices=source, return_predecessors=True)
        at, lengths = targets.astype(np.int64), self._links.data
        while len(at):
            back = before[at].astype(np.int64)
            known = back >= 0  # a negative number means that there is no path
            at, back, volumes = at[known], back[known], volumes[known]
            for one, other in ((back, at), (at, back)):
                link = np.searchsorted(self._keys, one * self._count + other)
                np.add.at(lengths, link, volumes * self._price[link])
            going = back != source
            at, volumes = back[going], volumes[going]
