"""Reference implementations of searches by exchanges and greedy constructions (one task per slot)."""

import heapq
from typing import Any

import numpy as np

from hopbytes._arrays import Int32, Int64, UInt64
from hopbytes.kernels.records import ALL_PAIRS, BLOCKS, LISTED_PAIRS
from reference.cost_reference import network_distance

#: Arguments in the form of compiled searches, see :class:`hopbytes.engine.problem.Call`.
Graph = tuple[Int64, Int32, Int64 | None, Int64 | None]
Distances = tuple[UInt64 | None, Int64 | None, Int64 | None]
AssignmentCosts = tuple[Int64 | None, Int32 | None, Int64 | None, Int64 | None]
ControlArrays = tuple[Int32, Int64]

#: A linear assignment cost of this value or more means a forbidden PE (``core/graph/linear_cost.hpp``).
FORBIDDEN = 2**60


def _plain(arrays: tuple[Any, ...]) -> list[Any]:
    """Return the arrays with empty ones for those that are missing."""
    return [np.empty(0, np.int64) if array is None else array for array in arrays]


class _Places:
    """Distances and neighbours as plain Python."""

    def __init__(
        self, graph: Graph, distances: Distances, assignment_costs: AssignmentCosts | None = None
    ) -> None:
        indptr, targets, weights, self.loads = _plain(graph)
        self._labels, self._bit_costs, self._table = _plain(distances)
        self.k = len(self._labels) or round(len(self._table) ** 0.5)
        self.n = len(indptr) - 1
        self.near = [
            [
                (int(targets[e]), int(weights[e]) if len(weights) else 1)
                for e in range(int(indptr[v]), int(indptr[v + 1]))
            ]
            for v in range(self.n)
        ]
        self.assignment_costs: list[dict[int, int]] = []
        self.unlisted_costs: list[int] = []
        if assignment_costs is not None:
            self._read_assignment_costs(*_plain(assignment_costs))

    def _read_assignment_costs(
        self, start: Int64, blocks: Int32, costs: Int64, unlisted_costs: Int64
    ) -> None:
        """Read the linear assignment costs of tasks on PEs."""
        for v in range(len(unlisted_costs)):
            entries = range(int(start[v]), int(start[v + 1]))
            self.assignment_costs.append({int(blocks[e]): int(costs[e]) for e in entries})
            self.unlisted_costs.append(int(unlisted_costs[v]))

    def assignment_cost(self, v: int, p: int) -> int:
        """Return the linear assignment cost of v on p."""
        return self.assignment_costs[v].get(p, self.unlisted_costs[v]) if self.unlisted_costs else 0

    def distance(self, p: int, q: int) -> int:
        if len(self._table) and len(self._labels):
            return network_distance(self._labels, self._table, p, q)
        if len(self._table):
            return int(self._table[p * self.k + q])
        return int(self._bit_costs[(int(self._labels[p]) ^ int(self._labels[q])).bit_length()])

    def cost(self, pe: Int32) -> int:
        """Return the cost, in which every edge and therefore every linear cost counts twice."""
        ways = sum(w * self.distance(pe[v], pe[t]) for v in range(self.n) for t, w in self.near[v])
        return ways + 2 * sum(self.assignment_cost(v, int(pe[v])) for v in range(self.n))

    def equally_far(self, p: int, q: int, *, single: bool) -> bool:
        """Return whether two PEs are equally far from all others, by the rule of the compiled search."""
        if p == q:
            return True
        if len(self._table) or self.unlisted_costs:
            return False
        return self.distance(p, q) <= (int(self._bit_costs[1]) if single else 0)


class _Search:
    """A search that evaluates an exchange by computing the whole cost again."""

    def __init__(self, places: _Places, capacities: Int64, pe: Int32, counted: Int64) -> None:
        self.places, self.pe, self.capacities, self.counted = places, pe, capacities, counted
        self.loads = places.loads if len(places.loads) else np.ones(places.n, np.int64)
        self.single = bool(np.all(np.bincount(pe) <= 1))
        self.now = places.cost(pe)
        self.arcs = 0
        counted[:] = 0

    def allowed(self, u: int, v: int) -> bool:
        p, q = int(self.pe[u]), int(self.pe[v])
        if self.places.equally_far(p, q, single=self.single):
            return False
        if max(self.places.assignment_cost(u, q), self.places.assignment_cost(v, p)) >= FORBIDDEN:
            return False
        shift = int(self.loads[v] - self.loads[u])
        held = [int(self.loads[self.pe == each].sum()) for each in (p, q)]
        return shift == 0 or (
            held[0] + shift <= self.capacities[p] if shift > 0 else held[1] - shift <= self.capacities[q]
        )

    def attempt(self, u: int, v: int) -> bool:
        """Exchange u and v if this lowers the cost."""
        if not self.allowed(u, v):
            return False
        self.counted[0] += 1
        self.arcs += len(self.places.near[u]) + len(self.places.near[v])
        self.pe[u], self.pe[v] = self.pe[v], self.pe[u]
        after = self.places.cost(self.pe)
        if after < self.now:
            self.now = after
            self.counted[1] += 1
            return True
        self.pe[u], self.pe[v] = self.pe[v], self.pe[u]
        return False


def _cyclic(search: _Search, first: int, last: int) -> None:
    """Try pairs in cyclic order until all of them have failed consecutively."""
    _listed(search, [(i, j) for i in range(first, last) for j in range(i + 1, last)])


def _listed(search: _Search, pairs: list[tuple[int, int]]) -> None:
    at, failed = 0, 0
    while failed < len(pairs):
        failed = 0 if search.attempt(*pairs[at]) else failed + 1
        at = (at + 1) % len(pairs)


def _near(search: _Search, reach: int, order: Int32) -> None:
    near = [[t for t, _ in row] for row in search.places.near]
    scanned, changed = [-1] * len(near), [0] * len(near)
    queue, clock = [int(v) for v in order], 0
    while queue:
        u = queue.pop(0)
        clock += 1
        scanned[u] = clock
        seen, layer = {u}, [u]
        for _ in range(reach):
            deeper = []
            for w in layer:
                for v in near[w]:
                    if v in seen:
                        continue
                    seen.add(v)
                    deeper.append(v)
                    if scanned[v] > max(changed[u], changed[v]) or not search.attempt(u, v):
                        continue
                    clock += 1
                    for x in (u, *near[u], v, *near[v]):
                        changed[x] = clock
                        if x not in queue:
                            queue.append(x)
            layer = deeper


def pair_search(
    graph: Graph, distances: Distances, linear_cost: AssignmentCosts, control_arrays: ControlArrays,
    kind: int,
    reach: int, order: Int32, capacities: Int64, pe: Int32, counted: Int64,
) -> None:
    """Exchange pairs of one kind until no exchange has a gain; count evaluations and exchanges."""
    places = _Places(graph, distances, linear_cost)
    search = _Search(places, capacities, pe, counted)
    n = len(pe)
    if kind == ALL_PAIRS:
        _cyclic(search, 0, n)
    elif kind == BLOCKS:
        swaps = -1
        while swaps < counted[1]:  # another round over all blocks follows a round with an exchange
            swaps = int(counted[1])
            for first in range(0, n, reach):
                _cyclic(search, first, min(n, first + reach))
    elif kind == LISTED_PAIRS:
        _listed(search, [(int(u), int(v)) for u, v in order.reshape(-1, 2)])
    else:
        _near(search, reach, order)
    control_arrays[1][:] += search.arcs  # work and span


class _Chains:
    """Chains of exchanges, also with losses, each started from one task (``core/assignment/chains.hpp``)."""

    def __init__(self, search: _Search, fruitless_exchanges: int, budget: int) -> None:
        self.search, self.fruitless_exchanges, self.budget = search, fruitless_exchanges, budget
        self.places, self.pe = search.places, search.pe
        self.locked: set[int] = set()
        self.offers: dict[int, tuple[int, int, int]] = {}
        self.heap: list[tuple[int, int, int]] = []

    def evaluate(self, u: int, v: int) -> int:
        """Return the change of the cost, where every edge counts once."""
        self.search.counted[0] += 1
        self.exchange(u, v)
        change = self.places.cost(self.pe) - self.search.now
        self.pe[u], self.pe[v] = self.pe[v], self.pe[u]
        return change // 2

    def exchange(self, u: int, v: int) -> None:
        self.pe[u], self.pe[v] = self.pe[v], self.pe[u]
        self.search.arcs += len(self.places.near[u]) + len(self.places.near[v])

    def partners(self, u: int) -> list[int]:
        """Return the tasks in the innermost units of the neighbours."""
        single, near = self.search.single, {int(self.pe[t]) for t, _ in self.places.near[u]}
        return [
            v for v in range(self.places.n)
            if any(self.places.equally_far(int(self.pe[v]), p, single=single) for p in near)
        ]

    def offer(self, u: int) -> None:
        if u in self.locked or self.search.arcs >= self.budget:
            return
        free = [v for v in self.partners(u) if v not in self.locked and self.search.allowed(u, v)]
        self.offers[u] = min(((self.evaluate(u, v), u, v) for v in free), default=(0, u, -1))
        if free:
            heapq.heappush(self.heap, self.offers[u])

    def chain(self, seed: int) -> list[tuple[int, int]]:
        """Return the exchanges that are kept."""
        self.locked, self.offers, self.heap = set(), {}, []
        made: list[tuple[int, int]] = []
        total = best = kept = fruitless = 0
        self.offer(seed)
        while self.heap and self.search.arcs < self.budget:
            change, u, v = heapq.heappop(self.heap)
            if u in self.locked or self.offers[u] != (change, u, v):
                continue
            if v in self.locked or not self.search.allowed(u, v) or self.evaluate(u, v) != change:
                self.offer(u)
                continue
            self.exchange(u, v)
            self.search.now += 2 * change
            self.locked |= {u, v}
            made.append((u, v))
            total += change
            fruitless += 1
            if total < best:
                best, kept, fruitless = total, len(made), 0
            elif fruitless > self.fruitless_exchanges:
                break
            for moved in (u, v):
                for t, _ in self.places.near[moved]:
                    self.offer(t)
        for u, v in reversed(made[kept:]):
            self.exchange(u, v)
        self.search.now += 2 * (best - total)
        self.search.counted[1] += kept
        return made[:kept]


def chain_search(
    graph: Graph, distances: Distances, linear_cost: AssignmentCosts, control_arrays: ControlArrays,
    fruitless_exchanges: int, budget: int, order: Int32, capacities: Int64, pe: Int32, counted: Int64,
) -> None:
    """Start chains of exchanges from all tasks, and again from the tasks around a chain with a gain."""
    places = _Places(graph, distances, linear_cost)
    search = _Search(places, capacities, pe, counted)
    chains, queue = _Chains(search, fruitless_exchanges, budget), [int(v) for v in order]
    while queue and search.arcs < budget:
        for moved in chains.chain(queue.pop(0)):
            for u in moved:
                for v in (u, *(t for t, _ in places.near[u])):
                    if v not in queue:
                        queue.append(v)
    control_arrays[1][:] += search.arcs  # work and span


def place_greedily(
    graph: Graph, distances: Distances, control_arrays: ControlArrays, linked: bool, room: Int64, pe: Int32
) -> None:
    """Fill `pe` by the method of Müller-Merbach, or by GreedyAllC if `linked`. O(n^2 + n k)."""
    places = _Places(graph, distances)
    n, k, left = places.n, len(room), [int(r) for r in room]
    pe[:] = -1
    apart = np.array([[places.distance(p, q) for q in range(k)] for p in range(k)], object).reshape(k, k)
    volume = [sum(w for _, w in row) for row in places.near]
    pull, far = [0] * n, np.zeros(k, object)
    for step in range(n):
        task = min(
            (t for t in range(n) if pe[t] < 0), key=lambda t: (-(pull[t] if step else volume[t]), t)
        )
        cost = np.zeros(k, object)
        if linked and step:
            for t, w in places.near[task]:
                if pe[t] >= 0:
                    cost += w * apart[:, pe[t]]
        sums = far if step else apart.sum(axis=1)
        best = min((p for p in range(k) if left[p] > 0), key=lambda p: (cost[p], sums[p], p))
        pe[task] = best
        left[best] -= 1
        far = far + apart[:, best]
        for t, w in places.near[task]:
            pull[t] += w
