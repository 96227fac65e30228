"""A multilevel mapping by kernels of ``core/device``: written once over arrays of NumPy and of CuPy.

The answer has the same bytes on a CPU with any number of threads and on every GPU.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
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
#: Overload in thousandths that the rounds of moves of a stage may leave behind, before PEs are drained. More
#: stages gain nothing in V-cycles.
OVERLOADS, CYCLE_OVERLOADS = (30, 0), (0,)
#: Times that overloaded PEs are drained; after so many rounds the host looks whether they have ended.
DRAINS, LOOKED_AT = 8, 4
#: Digits of the order of gains by which PEs are entered and left, and the values of a digit.
ENTERING_DIGITS, LEAVING_DIGITS, BINS = 2, 3, 64
#: Places of what the rounds have found (``State`` in core/device/kernels.hpp).
TOTAL_CHANGE, BEST_CHANGE, FRUITLESS, ENDED, IMPROVED, MOVED, OVERLOAD, STATES = range(8)
#: Bits of the sums of weights and loads in ratings.
RATED_BITS = 31
#: A step of the numbers that the draws of rounds are derived from.
NEXT_SEED = 0x9E3779B97F4A7C15


@frozen
class Rounds:
    """Effort of a mapping in rounds."""

    coarsest: int  # vertices of the graph that is mapped at once
    clustering: int = 4  # rounds of clustering on every graph
    moves: int = 20  # rounds of moves on every graph
    cycle_to: int = 0  # vertices of the coarsest graph of V-cycles, which `coarse` improves
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
    seed: int, coarse: Callable[[DeviceGraph, AnyArray | None], Int32], stop: Callable[[], bool],
    initial: AnyArray | None = None,
) -> AnyArray:
    """Return int32[n], the PE of every vertex; PEs may be overloaded where vertices are heavy.

    `coarse` maps the coarsest graph, or improves the mapping that it gets; `stop` ends the search between two
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
    loads = _sum_loads(device, graph, block, xp.empty(distances.k, xp.int64))
    return int(xp.maximum(loads - max_loads, 0).sum()), cost_of(device, graph, distances, block)


def _sum_loads(device: Device, graph: DeviceGraph, block: AnyArray, loads: AnyArray) -> AnyArray:
    """Write the load of every block, and return the loads."""
    loads.fill(0)
    device.run("sum_loads", graph.n, block, graph.load, loads)
    return loads


def _cycle(
    device: Device, graph: DeviceGraph, distances: DeviceDistances, max_loads: AnyArray, rounds: Rounds,
    seed: int, coarse: Callable[[DeviceGraph, AnyArray | None], Int32], initial: AnyArray | None,
) -> AnyArray:
    """Coarsen, map or keep `initial`, of which only vertices of one PE are clustered, and refine."""
    xp = device.xp
    maps: list[AnyArray] = []
    graphs, community, fine = [graph], initial, graph
    total = int(graph.load.sum())
    coarsest = rounds.coarsest if initial is None else max(rounds.coarsest, rounds.cycle_to)
    while fine.n > coarsest:
        most = max(1, min(3 * total // SMALLEST, int(max_loads.min()) // 4), -(-2 * total // fine.n))
        fewest, number = max(coarsest, fine.n // LARGEST_SHRINK), seed + len(maps)
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
    block = xp.array(coarse(fine, community), xp.int32)
    loads = _sum_loads(device, fine, block, xp.empty(distances.k, xp.int64))
    while True:
        fine = graphs.pop()
        moves = Moves(device, fine, distances, max_loads, block, loads)
        moves.run(rounds.moves, OVERLOADS if initial is None else CYCLE_OVERLOADS, last=not maps)
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
    room of a PE for those that want to enter it in the order of their gains. A round is a fixed sequence of
    kernels, and what it finds stays on the device.
    """

    def __init__(
        self, device: Device, graph: DeviceGraph, distances: DeviceDistances, max_loads: AnyArray,
        block: AnyArray, load: AnyArray,
    ) -> None:
        xp, n, k = device.xp, graph.n, distances.k
        self._device, self._graph, self._distances = device, graph, distances
        self._most, self._block, self._load = max_loads.copy(), block, load
        self._target, self._gain = xp.full(n, -1, xp.int32), xp.empty(n, xp.int64)
        self._active, self._rests = xp.ones(n, xp.uint8), xp.zeros(n, xp.uint8)
        self._confirmed = xp.empty(n, xp.uint8)
        self._sums, self._left = xp.zeros(k * BINS, xp.int64), xp.empty(k, xp.int64)
        self._limit, self._other = xp.zeros(k, xp.int32), xp.full(k, -1, xp.int32)
        self._kept, self._state = xp.empty_like(block), xp.zeros(STATES, xp.int64)

    def run(self, rounds: int, overloads: Sequence[int], *, last: bool) -> None:
        """Make rounds with bounds that are exceeded and kept in turn, and keep the best mapping.

        Vertices pass full PEs only if these may overflow. On the `last` graph every PE can keep its bound.
        """
        most, best = self._most.copy(), None
        cost, _ = self.drain(anywhere=last)
        for overload in overloads:
            self._most[:] = most + most * overload // 1000
            cost += self.refine(rounds)
            self._most[:] = most
            change, over = self.drain(anywhere=last)
            cost += change
            if best is None or (over, cost) < best:
                best, kept = (over, cost), (self._block.copy(), self._load.copy())
        self._block[:], self._load[:] = kept

    def refine(self, rounds: int) -> int:
        """Lower the cost, and return its change; the mapping of the best round is kept."""
        self._active.fill(1)
        self._rests.fill(0)
        self._state.fill(0)
        self._kept[:] = self._block
        for number in range(1, rounds + 1):
            self._round()
            if number % LOOKED_AT == 0 and self._found()[ENDED]:
                break
        found = self._found()
        if not found[IMPROVED]:
            self._block[:] = self._kept
            _sum_loads(self._device, self._graph, self._block, self._load)
        return found[BEST_CHANGE] // 2

    def drain(self, *, anywhere: bool) -> tuple[int, int]:
        """Move vertices from overloaded PEs to adjacent ones with room; return the cost and what is left.

        With `anywhere` the nearest PE with room is tried as well, and no PE stays overloaded by more than the
        loads of its vertices require.
        """
        self._state.fill(0)
        self._device.run("sum_overload", self._distances.k, self._load, self._most, self._state)
        found = self._found()
        for number in range(DRAINS + self._distances.k if anywhere else DRAINS):
            if not found[OVERLOAD]:
                break
            far, before = anywhere and number >= DRAINS, found[MOVED]
            if far:
                self._other[:] = self._device.xp.asarray(self._nearest_with_room())
            self._drain()
            found = self._found()
            if far and found[MOVED] == before:
                break
        self._other.fill(-1)
        return found[TOTAL_CHANGE] // 2, found[OVERLOAD]

    def _found(self) -> list[int]:
        return list(self._device.to_host(self._state).tolist())

    @cached_property
    def _round(self) -> Callable[[], None]:
        graph, where = self._graph, self._distances.arguments
        choose = self._step(
            "choose", *graph.rows, graph.load, self._block, self._load, self._most, *where, self._state,
            self._active, self._rests, self._kept, self._target, self._gain,
        )
        confirm = self._step(
            "confirm", *graph.rows, self._block, *where, self._target, self._gain, self._confirmed
        )
        enter = self._admission(self._target, self._confirmed, ENTERING_DIGITS)
        judge = self._device.bound("judge", 1, LITTLE, MOST_FRUITLESS, self._state)
        return self._device.together([choose, confirm, *enter, *self._moving(), judge])

    @cached_property
    def _drain(self) -> Callable[[], None]:
        graph, where = self._graph, self._distances.arguments
        choose = self._step(
            "choose_to_leave", *graph.rows, graph.load, self._block, self._load, self._most, *where,
            self._other, self._target, self._gain, self._state,
        )
        leave = self._admission(self._block, None, LEAVING_DIGITS, leaving=1)
        enter = self._admission(self._target, None, LEAVING_DIGITS)
        sums = self._device.bound("sum_overload", self._distances.k, self._load, self._most, self._state)
        return self._device.together([choose, *leave, *enter, *self._moving(), sums])

    def _step(self, kernel: str, *arguments: Any) -> Callable[[], None]:
        return self._device.bound(kernel, self._graph.n, *arguments)

    def _admission(
        self, group: AnyArray, confirmed: AnyArray | None, digits: int, leaving: int = 0
    ) -> list[Callable[[], None]]:
        """Give up all moves but those for which a group has room, or that it needs to be rid of its load."""
        steps: list[Callable[[], None]] = []
        for digit in range(digits):
            ask = self._step(
                "ask", group, self._graph.load, self._gain, None if digit else confirmed, self._limit, digit,
                self._distances.k, self._target, self._active, self._sums,
            )
            limit = self._device.bound(
                "limit_of_group", self._distances.k, self._load, self._most, digit, leaving,
                self._distances.k, self._sums, self._left, self._limit,
            )
            steps += [ask, limit]
        last = self._step(
            "give_up", group, self._gain, self._limit, digits, leaving, self._target, self._active
        )
        return [*steps, last]

    def _moving(self) -> list[Callable[[], None]]:
        graph, where = self._graph, self._distances.arguments
        change = self._step(
            "change", *graph.rows, graph.load, self._block, *where, self._target, self._load, self._state
        )
        move = self._step(
            "make_moves", graph.start, graph.adj, self._block, self._target, self._active, self._rests
        )
        return [change, move]

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
