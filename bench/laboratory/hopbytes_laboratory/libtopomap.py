"""The three mappers of LibTopoMap: recursive bisection, greedy along heavy edges, and bandwidth reduction."""

from __future__ import annotations

import heapq
from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np

from hopbytes import kernels
from hopbytes._arrays import Bool, Int32, Int64
from hopbytes._frozen import frozen
from hopbytes.algorithms.base import Bounds, Effort, Mapper
from hopbytes.algorithms.shared.sequential_assignment import fill_in_order
from hopbytes.algorithms.two_level.groups import Grouped, Nodes, cut, finish, settings_of
from hopbytes.cost.objectives.comm_cost import objectives
from hopbytes.cost.objectives.link_sums import endpoints_of, network_of
from hopbytes.engine.partition import partition_many
from hopbytes.engine.problem import PartitionSettings, SearchProblem, VertexGroups
from hopbytes.errors import UnsupportedError
from hopbytes.kernels import csr_from_arcs
from hopbytes.kernels.records import Csr
from hopbytes.model.allocation import Allocation
from hopbytes.model.comm_graph import CommGraph
from hopbytes.util.random_numbers import derived_seeds


@frozen
class TopologyMapper(Mapper):
    """Partition the tasks to nodes, then assign the groups to nodes on the graph of the network."""

    needs_routes: ClassVar[bool] = True
    #: return the mapping in order if its maximum congestion is lower, as the library does according to Deveci
    #: et al. (2015).
    guarded: bool = False
    #: effort of the partition to nodes, see :class:`hopbytes.engine.problem.PartitionSettings`.
    repetitions: int = 1
    initial_partitions: int = 4

    def map(self, graph: CommGraph, where: Allocation, bounds: Bounds, effort: Effort) -> Int32:
        """Return int32[n], the PE of every task."""
        grouped = cut(graph, where, bounds, effort, settings_of(self.repetitions, self.initial_partitions))
        place = grouped.start
        if grouped.nodes.count > 1 and graph.n:
            place = self.place(grouped, host_graph(grouped.nodes, "a mapper of LibTopoMap"), effort)
        pe = finish(graph, grouped, place, bounds, effort)
        if not self.guarded:
            return pe
        in_order = fill_in_order(graph, bounds, np.arange(graph.n, dtype=np.int64))
        congestion = objectives["max_congestion"]()
        return min((in_order, pe), key=lambda each: congestion.value(graph, where, each))

    @abstractmethod
    def place(self, grouped: Grouped, hosts: HostGraph, effort: Effort) -> Int32:
        """Return int32[G], the node of every group."""


def classes(grouped: Grouped) -> tuple[Int64, Int64]:
    """Return int64[G] and int64[P], classes of groups and of places (nodes) that have the same capacity.

    Groups within a class can be exchanged without exceeding the capacity of a place.
    """
    kinds = np.unique(grouped.capacities, return_inverse=True)[1].astype(np.int64)
    return kinds[grouped.start], kinds


def in_step(groups: Int64, places: Int64, grouped: Grouped) -> Int32:
    """Assign groups in their order to places (nodes) in theirs, separately for each class."""
    of_group, of_place = classes(grouped)
    place = np.empty(len(groups), np.int32)
    for kind in np.unique(of_group):
        own = groups[of_group[groups] == kind]
        place[own] = places[of_place[places] == kind][: len(own)]
    return place


@frozen
class TopologyBisection(TopologyMapper):
    """Bisect the graph of links and the graph of groups with minimum cuts, recursively down to single nodes.

    Parameters
    ----------
    guarded : bool
        Return the mapping in order if its maximum congestion is lower.
    repetitions, initial_partitions : int
        Effort of the partition to nodes and of every bisection.

    Raises
    ------
    UnsupportedError
        If the links of the machine are unknown.

    Notes
    -----
    Hoefler and Snir, "Generic topology mapping strategies for large-scale parallel architectures", ICS 2011;
    Deveci et al. (2015) found this variant to be the best. Unlike `dual_recursive_bipartitioning`, which
    follows the levels of the machine, it uses only the links: capacities are edge weights of the network, and
    routers have no vertex weight. The built-in partitioner replaces METIS. As published, the assignment of
    the two halves of the groups to the two halves of the nodes is not optimized. O(log nodes) calls of the
    partitioner on both graphs.
    """

    def place(self, grouped: Grouped, hosts: HostGraph, effort: Effort) -> Int32:
        """Return int32[G], the node of every group."""
        csr = grouped.graph.symmetric_positive()
        weightless = np.zeros(hosts.count, np.int64)
        weightless[: hosts.places] = 1
        settings = settings_of(self.repetitions, self.initial_partitions)
        network = halves(Csr(hosts.indptr, hosts.targets, hosts.capacity), weightless, settings, effort)
        one_each = np.ones(len(grouped.sizes), np.int64)
        groups = halves(csr, one_each, settings, effort)
        places = np.argsort(network[: hosts.places], kind="stable")
        return in_step(np.argsort(groups, kind="stable"), places, grouped)


def halves(graph: Csr, loads: Int64, settings: PartitionSettings, effort: Effort) -> Int32:
    """Bisect a graph recursively until no part has more than one vertex with load."""
    part = np.zeros(len(loads), np.int32)
    sizes, depth = np.array([int(loads.sum())], np.int64), 0
    while int(sizes.max(initial=0)) > 1:
        ways = np.where(sizes > 1, 2, 1)
        start = np.concatenate([[0], np.cumsum(ways)]).astype(np.int64)
        caps = np.empty(int(start[-1]), np.int64)
        caps[start[:-1]] = np.where(sizes > 1, (sizes + 1) // 2, sizes)
        caps[start[1:] - 1] = np.where(sizes > 1, sizes // 2, sizes)
        seeds = derived_seeds((effort.seed % 2**64, depth), len(sizes))
        child, _ = partition_many(
            SearchProblem(graph, loads), VertexGroups(part, start, caps, seeds), settings,
            control=effort.run_control(),
        )
        part = (start[part] + child).astype(np.int32)
        _even_out(part, loads, caps)
        sizes, depth = caps, depth + 1
    return part


def _even_out(part: Int32, loads: Int64, caps: Int64) -> None:
    """Move vertices with the highest numbers out of overfull parts, which a deadline may leave."""
    loaded = np.flatnonzero(loads)
    held = np.bincount(part[loaded], minlength=len(caps))
    for full in np.flatnonzero(held > caps):
        # Of the two neighbours in number order, the one with room is the other half.
        other = full + 1 if full + 1 < len(caps) and held[full + 1] < caps[full + 1] else full - 1
        moved = loaded[part[loaded] == full][caps[full] :]
        part[moved] = other


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
        links = _LoadedLinks(hosts, float(weights.max(initial=1)))
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
            distance = links.distances(last if near < 0 else int(place[near]))[: hosts.places]
            distance[~(free & (of_place == of_group[group]))] = np.inf
            last = place[group] = int(distance.argmin())
            free[last] = False
            row = slice(int(csr.indptr[group]), int(csr.indptr[group + 1]))
            others, volumes = csr.targets[row], weights[row]
            placed = place[others] >= 0
            links.load(last, place[others[placed]], volumes[placed])
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


class _LoadedLinks:
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


@frozen
class TopologyRcm(TopologyMapper):
    """Assign groups to nodes, both in the reverse Cuthill-McKee order of their graphs.

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
    Hoefler and Snir, "Generic topology mapping strategies for large-scale parallel architectures", ICS 2011.
    In this order the nonzeros of a sparse matrix are near the diagonal, so groups that communicate are
    assigned to nodes that are near each other. Weights are ignored. The order of the network includes routers
    and switches, which are then skipped. O(n + links log links).
    """

    def place(self, grouped: Grouped, hosts: HostGraph, effort: Effort) -> Int32:
        """Return int32[G], the node of every group."""
        csr = grouped.graph.symmetric_positive()
        network = _order(hosts.indptr, hosts.targets)
        effort.spend(len(csr.targets) + len(hosts.targets))
        return in_step(_order(csr.indptr, csr.targets), network[network < hosts.places], grouped)


def _order(indptr: Int64, targets: Int32) -> Int64:
    return kernels.reverse_cuthill_mckee(Csr(indptr, targets, None)).astype(np.int64)


@frozen(eq=False)
class HostGraph:
    """Symmetric graph of the places (nodes) 0..places-1, followed by routers and switches."""

    places: int
    indptr: Int64  # int64[V+1]: Each place is adjacent to the router or switch to which its node is connected
    targets: Int32  # int32[2 E]
    capacity: Int64  # int64[2 E]: Sum of the capacities of both directions and all parallel links

    @property
    def count(self) -> int:
        """Number of vertices."""
        return len(self.indptr) - 1

    def sources(self) -> Int64:
        """Return int64[2 E], the source of each entry of `targets`."""
        return np.repeat(np.arange(self.count, dtype=np.int64), np.diff(self.indptr))


def host_graph(nodes: Nodes, wanted: str) -> HostGraph:
    """Return the graph of the network around the nodes of an allocation; O(links log links).

    Leaves of the network without one of these nodes are left out.
    """
    network = network_of(nodes.where, wanted)
    if network.wiring is None:
        raise UnsupportedError(
            f"{wanted} needs the ends of all links, but '{nodes.where.machine.spec()}' lists only routes: "
            "'ug' and 'ptram' work with routes alone"
        )
    wiring, places = network.wiring(), nodes.count
    at = wiring.at[endpoints_of(nodes.where)[nodes.first]]
    real = network.capacity > 0
    tail, head, capacity = wiring.tail[real], wiring.head[real], network.capacity[real]
    degree = np.bincount(np.concatenate([tail, head]), minlength=wiring.vertices)
    kept = degree > 2  # a leaf has one link in each direction
    kept[at] = True
    number = np.cumsum(kept) - 1 + places
    inner = kept[tail] & kept[head] & (tail != head)
    tail, head, capacity = number[tail[inner]], number[head[inner]], capacity[inner]
    # The capacity of a place is that of all links of its router, so that it never limits the traffic.
    total = np.zeros(places + int(np.count_nonzero(kept)), np.int64)
    np.add.at(total, tail, capacity)
    own, plug = np.arange(places, dtype=np.int64), number[at]
    sources = np.concatenate([tail, head, own, plug]).astype(np.int32)
    targets = np.concatenate([head, tail, plug, own]).astype(np.int32)
    weights = np.concatenate([capacity, capacity, *([np.maximum(2 * total[plug], 1)] * 2)])
    indptr, columns, merged, _ = csr_from_arcs(len(total), sources, targets, weights, None)
    assert merged is not None
    return HostGraph(places, indptr, columns, merged)
