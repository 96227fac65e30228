"""A multilevel mapping by kernels of ``core/device``: written once over arrays of NumPy and of CuPy.

The answer has the same bytes on a CPU with any number of threads and on every GPU.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from hopbytes._arrays import Int32, Int64
from hopbytes._frozen import frozen
from hopbytes.engine.device import Device

#: An array of NumPy or CuPy.
AnyArray: TypeAlias = Any

#: The largest factor between the vertices of two graphs, and the least; one that shrinks less is the last.
LARGEST_SHRINK, LEAST_SHRINK = 3, 20 / 19
#: A round of moves is fruitless if it gains less than this part of the gain before; so many end the search.
LITTLE, MOST_FRUITLESS = 200, 3
#: Clusters are lighter than three times the load of all vertices over so many.
SMALLEST = 2000
#: Overload in thousandths that the rounds of moves of a stage may leave behind, before PEs are drained.
OVERLOADS = (50, 10, 0)
#: Times that full PEs are looked at again in one round, and that overloaded PEs are drained.
SWEEPS, DRAINS = 3, 8
#: Bits of the sums of weights and loads in ratings.
RATED_BITS = 31
#: A step of the numbers that the draws of rounds are derived from.
NEXT_SEED = 0x9E3779B97F4A7C15


@frozen
class Rounds:
    """Effort of a mapping in rounds."""

    coarsest: int  # vertices of the graph that is mapped at once
    clustering: int = 4  # rounds of clustering on every graph
    moves: int = 12  # rounds of moves on every graph
    cycles: int = 1  # V-cycles after the first mapping


@frozen(eq=False)
class DeviceGraph:
    """A symmetric graph without diagonal on a device."""

    start: AnyArray  # int64[n+1]
    adj: AnyArray  # int32[m]
    weight: AnyArray | None  # int64[m] or None: 1 each
    load: AnyArray  # int64[n]

    @property
    def n(self) -> int:
        """Number of vertices."""
        return len(self.load)

    @property
    def rows(self) -> tuple[AnyArray, AnyArray, AnyArray | None]:
        """The arrays of the arcs, as most kernels take them."""
        return self.start, self.adj, self.weight

    @property
    def total_weight(self) -> int:
        """The sum of the weights."""
        return len(self.adj) if self.weight is None else int(self.weight.sum())


@frozen(eq=False)
class DeviceDistances:
    """Distances of k PEs on a device: a tree, or a table without labels."""

    label: AnyArray | None  # uint64[k]
    cost: AnyArray  # int64[65] by the width of the xor of labels, or int64[k * k]
    k: int

    @property
    def arguments(self) -> tuple[AnyArray | None, AnyArray, int]:
        """What kernels take."""
        return self.label, self.cost, self.k


def map_in_rounds(
    device: Device, graph: DeviceGraph, distances: DeviceDistances, max_loads: AnyArray, rounds: Rounds,
    seed: int, coarse: Callable[[DeviceGraph], Int32], stop: Callable[[], bool],
    initial: AnyArray | None = None,
) -> AnyArray:
    """Return int32[n], the PE of every vertex; PEs may be overloaded where vertices are heavy.

    `coarse` maps the coarsest graph, unless there is a mapping already; `stop` ends the search between two
    V-cycles. O(cycles x rounds x (n + m)).
    """
    block, best = initial, None
    for number in range(rounds.cycles + 1):
        if block is not None and stop():
            break
        found = _cycle(device, graph, distances, max_loads, rounds, seed + 64 * number, coarse, block)
        if block is None and graph.n <= rounds.coarsest:
            return found
        rank = _rank(device, graph, distances, max_loads, found)
        if block is not None and best is None:
            best = _rank(device, graph, distances, max_loads, block)
        if best is None or rank < best:
            block, best = found, rank
    return block


def _rank(
    device: Device, graph: DeviceGraph, distances: DeviceDistances, max_loads: AnyArray, block: AnyArray
) -> tuple[int, int]:
    """Return the load beyond the bounds, and the cost."""
    xp = device.xp
    loads = xp.zeros(distances.k, xp.int64)
    device.run("sum_loads", graph.n, xp.arange(graph.n), block, graph.load, loads)
    return int(xp.maximum(loads - max_loads, 0).sum()), cost_of(device, graph, distances, block)


def _cycle(
    device: Device, graph: DeviceGraph, distances: DeviceDistances, max_loads: AnyArray, rounds: Rounds,
    seed: int, coarse: Callable[[DeviceGraph], Int32], initial: AnyArray | None,
) -> AnyArray:
    """Coarsen, map or keep `initial`, of which only vertices of one PE are clustered, and refine."""
    xp = device.xp
    maps: list[AnyArray] = []
    graphs, community, fine = [graph], initial, graph
    total = int(graph.load.sum())
    while fine.n > rounds.coarsest:
        most = max(1, min(3 * total // SMALLEST, int(max_loads.min()) // 4), -(-2 * total // fine.n))
        fewest, number = max(rounds.coarsest, fine.n // LARGEST_SHRINK), seed + len(maps)
        clusters, count = cluster(device, fine, most, fewest, number, rounds.clustering, community)
        if count * LEAST_SHRINK > fine.n:
            break
        fine = contract(device, fine, clusters, count)
        if community is not None:
            owners = xp.empty(count, xp.int32)
            owners[clusters] = community  # all of a cluster write the same
            community = owners
        graphs.append(fine)
        maps.append(clusters)
    block = xp.asarray(coarse(fine)) if community is None else community.copy()
    loads = xp.zeros(distances.k, xp.int64)
    device.run("sum_loads", fine.n, xp.arange(fine.n), block, fine.load, loads)
    while True:
        moves = Moves(device, graphs.pop(), distances, max_loads, block, loads)
        moves.run(rounds.moves, last=not maps)
        if not maps:
            return block
        block = block[maps.pop()]


def cluster(
    device: Device, graph: DeviceGraph, most: int, fewest: int, seed: int, rounds: int,
    community: AnyArray | None = None,
) -> tuple[AnyArray, int]:
    """Return the cluster of every vertex, int32[n], and their number.

    No cluster of several has a load above `most`; with at most `fewest` clusters no further round begins.
    """
    xp, n = device.xp, graph.n
    totals = graph.total_weight, int(graph.load.sum())
    shifts = [max(0, total.bit_length() - RATED_BITS) for total in totals]
    leader, held = xp.arange(n, dtype=xp.int32), graph.load.copy()
    joined, wanted, joins = xp.zeros(n, xp.uint8), xp.empty(n, xp.int32), xp.empty(n, xp.int32)
    asked, first = xp.empty(n, xp.int64), xp.empty(n, xp.int64)
    count, draw = n, (seed + 1) * NEXT_SEED % 2**63
    for turn in range(rounds):
        device.run(
            "prefer", n, *graph.rows, graph.load, leader, held, joined, community, most, *shifts, draw, turn,
            wanted,
        )
        asked.fill(0)
        first.fill(2**63 - 1)
        device.run("ask_to_join", n, wanted, graph.load, asked, first)
        device.run("join", n, wanted, asked, first, most, held, joins)
        device.run("make_joins", n, joins, graph.load, leader, held, joined)
        made = int((joins >= 0).sum())
        count -= made
        if count <= fewest:
            break
    if count * 4 > n * 3:
        count -= _pair(device, graph, leader, joined, most, community)
    numbers = xp.cumsum(leader == xp.arange(n, dtype=xp.int32), dtype=xp.int32) - xp.int32(1)
    return numbers[leader], count


def _pair(
    device: Device, graph: DeviceGraph, leader: AnyArray, joined: AnyArray, most: int,
    community: AnyArray | None,
) -> int:
    """Join vertices that are alone and have the same heaviest neighbour in pairs; return their number."""
    xp = device.xp
    near = xp.empty(graph.n, xp.int32)
    device.run("find_heaviest", graph.n, *graph.rows, near)
    alone = xp.flatnonzero(joined == 0)
    group = near[alone].astype(xp.int64)
    if community is not None:
        group = group * (int(community.max()) + 1) + community[alone]
    order = xp.lexsort(xp.stack([alone, group]))
    alone, group = alone[order], group[order]
    place = xp.arange(len(alone)) - xp.searchsorted(group, group)
    one, other = alone[:-1], alone[1:]
    fits = (group[:-1] == group[1:]) & (place[:-1] % 2 == 0) & (graph.load[one] + graph.load[other] <= most)
    leader[other[fits]] = one[fits].astype(xp.int32)
    return int(fits.sum())


def contract(device: Device, graph: DeviceGraph, clusters: AnyArray, count: int) -> DeviceGraph:
    """Return the graph of clusters: loads are summed, parallel arcs merged, inner arcs vanish. O(n + m)."""
    xp, n = device.xp, graph.n
    members, arcs, load = (xp.zeros(count, xp.int64) for _ in range(3))
    device.run("count_members", n, clusters, graph.start, graph.load, members, arcs, load)
    first, space = _starts(xp, members), _starts(xp, arcs)
    del members, arcs
    member, length = xp.empty(n, xp.int32), xp.empty(count, xp.int64)
    device.run("place_members", n, clusters, first[:-1].copy(), member)
    key, sums = xp.empty(int(space[-1]), xp.int32), xp.empty(int(space[-1]), xp.int64)
    device.run("merge_rows", count, clusters, *graph.rows, first, member, space, key, sums, length)
    start = _starts(xp, length)
    adj, weight = xp.empty(int(start[-1]), xp.int32), xp.empty(int(start[-1]), xp.int64)
    device.run("copy_rows", count, space, key, sums, start, adj, weight)
    return DeviceGraph(start, adj, weight, load)


def _starts(xp: Any, lengths: AnyArray) -> AnyArray:
    return xp.concatenate([xp.zeros(1, xp.int64), xp.cumsum(lengths, dtype=xp.int64)])


class Moves:
    """Rounds of moves on one graph, by the state before each round (after Jet: Gilbert et al., 2024).

    As ``core/partition/refinement/synchronous_moves.hpp`` does, with ties by the smaller block, and with the
    room of a PE for a prefix of those that want to enter it, in the order of gains.
    """

    def __init__(
        self, device: Device, graph: DeviceGraph, distances: DeviceDistances, max_loads: AnyArray,
        block: AnyArray, load: AnyArray,
    ) -> None:
        xp = device.xp
        self._device, self._graph, self._distances = device, graph, distances
        self._most, self._block, self._load = max_loads, block, load
        self._target, self._gain = xp.full(graph.n, -1, xp.int32), xp.empty(graph.n, xp.int64)
        self._active, self._rests = xp.ones(graph.n, xp.uint8), xp.zeros(graph.n, xp.uint8)

    def run(self, rounds: int, *, last: bool) -> None:
        """Make rounds with bounds that are exceeded and kept in turn, and keep the best mapping.

        Vertices pass full PEs only if these may overflow. On the `last` graph every PE can keep its bound.
        """
        most, cost, best = self._most, self.drain(anywhere=last), None
        for overload in OVERLOADS:
            self._most = most + most * overload // 1000
            cost += self.refine(rounds)
            self._most = most
            if overload > 0:
                cost += self.drain(anywhere=last)
            over = int(self._device.xp.maximum(self._load - most, 0).sum())
            if best is None or (over, cost) < best:
                best, kept = (over, cost), (self._block.copy(), self._load.copy())
            self._rests.fill(0)
            self._active.fill(1)
        self._block[:], self._load[:] = kept

    def refine(self, rounds: int) -> int:
        """Lower the cost, and return its change; the mapping of the best round is kept."""
        cost = best = fruitless = 0
        undo: list[tuple[AnyArray, AnyArray]] = []
        for _ in range(rounds):
            room = self._most - self._load if fruitless else self._most
            movers = self._fitting(self._confirmed(self._candidates(room)))
            if len(movers) == 0:
                break
            cost += self._change(movers)
            undo.append((movers, self._block[movers]))
            self._move(movers)
            fruitless = 0 if best - cost > -best // LITTLE else fruitless + 1
            if cost < best:
                best, undo = cost, []
            if fruitless >= MOST_FRUITLESS:
                break
        for movers, before in reversed(undo):
            self._target[movers] = before
            self._shift(movers, self._load)
            self._target[movers] = -1
            self._block[movers] = before
        return best

    def drain(self, *, anywhere: bool) -> int:
        """Move vertices from overloaded PEs to adjacent ones with room, and return what it costs.

        With `anywhere` the nearest PE with room is tried as well, and no PE stays overloaded by more than the
        loads of its vertices require.
        """
        xp, k, cost = self._device.xp, self._distances.k, 0
        for number in range(DRAINS + k if anywhere else DRAINS):
            over = self._load - self._most
            if not bool((over > 0).any()):
                break
            far = anywhere and number >= DRAINS
            other = xp.asarray(self._nearest_with_room()) if far else xp.full(k, -1, xp.int32)
            self._active = (over > 0)[self._block].astype(xp.uint8)
            self._rests.fill(0)
            candidates = self._candidates(self._most - self._load, other)
            if len(candidates) == 0:
                if far:
                    break
                continue
            order = self._sorted(candidates, self._block)
            order = self._sorted(self._prefix(order, self._block, over, beyond=True), self._target)
            entering = self._prefix(order, self._target, -over, beyond=False)
            targets = self._target[entering]
            self._target.fill(-1)
            self._target[entering] = targets
            cost += self._change(entering)
            self._move(entering)
        self._active.fill(1)
        return cost

    def _nearest_with_room(self) -> Int32:
        """Return for each overloaded PE the nearest one with room; -1 for all other PEs."""
        label, cost, k = self._distances.arguments
        room = self._device.to_host(self._most - self._load)
        near, free = np.full(k, -1, np.int32), np.flatnonzero(room > 0)
        costs, labels = self._device.to_host(cost), None if label is None else self._device.to_host(label)
        for pe in np.flatnonzero(room < 0) if len(free) else ():
            if labels is None:
                away = costs.reshape(k, k)[pe, free]
            else:
                away = costs[[int(each).bit_length() for each in labels[free] ^ labels[pe]]]
            near[pe] = free[np.argmin(away)]
        return near

    def _candidates(self, room: AnyArray, other: AnyArray | None = None) -> AnyArray:
        """Return the active vertices that want to move, ascending."""
        active = self._device.xp.flatnonzero(self._active)
        self._active.fill(0)
        self._device.run(
            "choose", len(active), active, *self._graph.rows, self._graph.load, self._block, self._load, room,
            *self._distances.arguments, other, self._rests, self._target, self._gain,
        )
        return active[self._target[active] >= 0]

    def _confirmed(self, candidates: AnyArray) -> AnyArray:
        xp = self._device.xp
        confirmed = xp.empty(len(candidates), xp.uint8)
        self._device.run(
            "confirm", len(candidates), candidates, *self._graph.rows, self._block,
            *self._distances.arguments, self._target, self._gain, confirmed,
        )
        self._refuse(candidates[confirmed == 0])
        return candidates[confirmed != 0]

    def _refuse(self, vertices: AnyArray) -> None:
        self._target[vertices] = -1
        self._active[vertices] = 1

    def _fitting(self, confirmed: AnyArray) -> AnyArray:
        """Return those for which there is room: all that want to enter a PE, or the ones that gain most."""
        xp = self._device.xp
        asked, load, movers = xp.zeros_like(self._load), self._load.copy(), []

        def enter(vertices: AnyArray) -> None:
            self._shift(vertices, load)
            movers.append(vertices)

        self._device.run("sum_loads", len(confirmed), confirmed, self._target, self._graph.load, asked)
        sure = (asked <= self._most - load)[self._target[confirmed]]
        enter(confirmed[sure])
        left = self._sorted(confirmed[~sure], self._target)
        for _ in range(SWEEPS if len(left) else 0):
            fits = self._prefix_fits(left, self._target, self._most - load, beyond=False)
            enter(left[fits])
            left = left[~fits]
            if len(left) == 0 or not bool(fits.any()):
                break
        self._refuse(left)
        return xp.concatenate(movers)

    def _sorted(self, vertices: AnyArray, group: AnyArray) -> AnyArray:
        """Return vertices in the order of their groups, gains and numbers."""
        xp = self._device.xp
        if len(vertices) == 0:
            return vertices
        keys = xp.stack([vertices, -self._gain[vertices], group[vertices].astype(xp.int64)])
        return vertices[xp.lexsort(keys)]

    def _prefix(self, vertices: AnyArray, group: AnyArray, room: AnyArray, *, beyond: bool) -> AnyArray:
        return vertices[self._prefix_fits(vertices, group, room, beyond=beyond)]

    def _prefix_fits(self, vertices: AnyArray, group: AnyArray, room: AnyArray, *, beyond: bool) -> AnyArray:
        """Whether sorted vertices are among the first of their group that its room holds, or need more."""
        xp = self._device.xp
        own, load = group[vertices], self._graph.load[vertices]
        sums = _starts(xp, load)
        before = sums[:-1] - sums[xp.searchsorted(own, own)]
        return before < room[own] if beyond else before + load <= room[own]

    def _change(self, movers: AnyArray) -> int:
        """Return what the moves change."""
        change = self._device.xp.empty(len(movers), self._device.xp.int64)
        self._device.run(
            "twice_the_change", len(movers), movers, *self._graph.rows, self._block,
            *self._distances.arguments, self._target, change,
        )
        return int(change.sum()) // 2

    def _move(self, movers: AnyArray) -> None:
        self._shift(movers, self._load)
        self._device.run(
            "make_moves", len(movers), movers, self._graph.start, self._graph.adj, self._block, self._target,
            self._active, self._rests,
        )

    def _shift(self, movers: AnyArray, sums: AnyArray) -> None:
        """Take the loads of movers from their PEs, and add them to their targets."""
        self._device.run(
            "shift_loads", len(movers), movers, self._block, self._target, self._graph.load, sums
        )


def cost_of(device: Device, graph: DeviceGraph, distances: DeviceDistances, block: AnyArray) -> int:
    """Return the sum over all arcs of weight times distance."""
    out: Int64 = device.xp.empty(graph.n, device.xp.int64)
    device.run("cost_of_rows", graph.n, *graph.rows, block, *distances.arguments, out)
    return int(out.sum())


def symmetric_graph(
    device: Device, start: AnyArray, adj: AnyArray, weight: AnyArray | None, load: AnyArray
) -> DeviceGraph:
    """Return the symmetric graph of arcs in sorted rows, without loops and weights of 0.

    If every arc has an equal one back, these arrays are the graph; otherwise the sums of both directions
    are, which are sorted. O(m log m).
    """
    xp, n = device.xp, len(load)
    unpaired = xp.empty(n, xp.int64)
    device.run("count_unpaired", n, start, adj, weight, unpaired)
    if not bool(unpaired.any()):
        return DeviceGraph(start, adj, weight, load)
    rows = xp.searchsorted(start, xp.arange(len(adj)), side="right") - 1
    weights = xp.ones(len(adj), xp.int64) if weight is None else weight
    kept = (rows != adj) & (weights > 0)
    rows, columns, weights = rows[kept], adj[kept].astype(xp.int64), weights[kept]
    keys = xp.concatenate([rows * n + columns, columns * n + rows])
    order = xp.argsort(keys)
    keys, sums = keys[order], _starts(xp, xp.concatenate([weights, weights])[order])
    different = xp.ones(len(keys), bool)
    different[1:] = keys[1:] != keys[:-1]
    first = xp.flatnonzero(different)
    ends = xp.concatenate([first, xp.full(1, len(keys), xp.int64)])
    keys = keys[first]
    return DeviceGraph(
        xp.searchsorted(keys, xp.arange(n + 1) * n), (keys % n).astype(xp.int32), xp.diff(sums[ends]), load
    )
