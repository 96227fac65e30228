"""Reference implementation of the parallel steps of ``core/partition``, in plain Python and one thread."""

from collections.abc import Callable, Iterable

from hopbytes._arrays import Int32, Int64
from reference.device_reference import mapping_cost, mixed

_WORD = 2**64 - 1
_GAMMA = 0x9E3779B97F4A7C15
_CLASSES, _FRUITLESS, _SWEEPS, _BLOCKS, _TOLERANCE, _LITTLE = 8, 3, 3, 32, 4, 200
_Arcs = list[list[tuple[int, int]]]


def _mixed(x: int) -> int:
    return mixed((x + _GAMMA) & _WORD)


class PlainRandom:
    """The generator of core/util/rng.hpp, with its seed or one that is derived from it for a place."""

    def __init__(self, seed: int, place: int | None = None) -> None:
        if place is not None:
            seed = _mixed(_mixed(seed) ^ (place * 0xD1342543DE82EF95 & _WORD))
        self.state = _mixed(seed)

    def below(self, bound: int) -> int:
        """Return a number from 0 to bound - 1."""
        drawn = _mixed(self.state)
        self.state = (self.state + _GAMMA) & _WORD
        return drawn * bound >> 64

    def shuffled(self, items: Iterable[int]) -> list[int]:
        """Return the items in random order."""
        mixed = list(items)
        for i in range(len(mixed), 1, -1):
            j = self.below(i)
            mixed[i - 1], mixed[j] = mixed[j], mixed[i - 1]
        return mixed


def plain_rows(indptr: Int64, targets: Int32, weights: Int64 | None) -> _Arcs:
    """Return the neighbours of every vertex, with weights."""
    weight = [1] * len(targets) if weights is None else weights.tolist()
    pairs = list(zip(targets.tolist(), weight, strict=True))
    return [pairs[begin:end] for begin, end in zip(indptr[:-1].tolist(), indptr[1:].tolist(), strict=True)]


def _rating(weight: int, load: int) -> float:
    return float(weight) * float(weight) / float(max(load, 1))


class _Clusters:
    """Clusters in the making."""

    def __init__(
        self, arcs: _Arcs, loads: list[int], max_cluster: int, seed: int, community: list[int]
    ) -> None:
        self.arcs, self.own, self.most, self.seed, self.community = arcs, loads, max_cluster, seed, community
        self.leader, self.load = list(range(len(arcs))), list(loads)
        self.matched, self.count = [False] * len(arcs), len(arcs)

    def join(self, v: int, c: int) -> None:
        self.leader[v] = c
        self.load[c] += self.own[v]
        self.matched[v] = self.matched[c] = True
        self.count -= 1

    def fits(self, v: int, c: int) -> bool:
        return self.load[c] + self.own[v] <= self.most and self.community[c] == self.community[v]

    def near(self, v: int, usable: Callable[[int], bool]) -> dict[int, int]:
        """Return the weight to every adjacent cluster, in the order of the arcs."""
        sums: dict[int, int] = {}
        for u, weight in self.arcs[v]:
            if usable(u):
                sums[self.leader[u]] = sums.get(self.leader[u], 0) + weight
        return sums

    def within_range(self, begin: int, end: int, most: int) -> None:
        """Cluster the vertices begin..end-1 among themselves; at most `most` join others."""
        random, joined = PlainRandom(self.seed, begin), 0
        for v in random.shuffled(range(begin, end)):
            if joined >= most:
                break
            if self.matched[v]:
                continue
            out = [_rating(w, self.own[u]) for u, w in self.arcs[v]
                   if not begin <= u < end and self.community[u] == self.community[v]]
            outside = max(out, default=0.0)
            near = self.near(v, lambda u: begin <= u < end)
            turn = random.below(len(near)) if near else 0
            best, target = 0.0, -1
            for c in [*near][turn:] + [*near][:turn]:
                if self.fits(v, c) and _rating(near[c], self.load[c]) > best:
                    best, target = _rating(near[c], self.load[c]), c
            if target < 0 or outside > best:
                continue
            if outside == best and random.below(len(near) + out.count(outside)) >= len(near):
                continue
            self.join(v, target)
            joined += 1

    def one_round(self, visited: list[int]) -> None:
        """Let each of `visited` that is alone join the best cluster, by the state before the round."""
        moving = {v for v in visited if not self.matched[v]}
        wanted = {v: best for v in moving if (best := self.best(v, moving)) >= 0}
        joining: dict[int, int] = {}
        for v, c in wanted.items():
            joining[c] = joining.get(c, 0) + self.own[v]
        free = {c for c, load in joining.items() if self.load[c] + load <= self.most}
        for v in [v for v in visited if wanted.get(v, -1) in free]:
            self.join(v, wanted[v])
        for v in [v for v in visited if v in wanted and wanted[v] not in free]:
            if self.fits(v, wanted[v]):
                self.join(v, wanted[v])

    def best(self, v: int, moving: set[int]) -> int:
        near = self.near(v, lambda u: self.leader[u] not in moving)
        draw = _mixed((self.seed + v) & _WORD)
        ranked = [
            (_rating(weight, self.load[c]), (draw ^ c) * _GAMMA & _WORD, c)
            for c, weight in near.items() if self.fits(v, c)
        ]
        return max(ranked, default=(0.0, 0, -1))[2]

    def pairs(self) -> None:
        """Join vertices that are alone and prefer the same neighbour, and isolated ones by community."""
        prefers = [self.preferred(v) for v in range(len(self.arcs))]
        waiting: dict[int, int] = {}
        last = sorted(range(len(self.arcs)), key=lambda v: self.community[v] if prefers[v] < 0 else -1)
        for v in last:
            neighbour = prefers[v]
            if self.matched[v]:
                continue
            other = waiting.pop(neighbour, -1)
            if (other >= 0 and self.own[other] + self.own[v] <= self.most
                    and self.community[other] == self.community[v]):
                self.join(v, other)
            else:
                waiting[neighbour] = v

    def preferred(self, v: int) -> int:
        best, found = -1.0, -1
        for u, weight in self.arcs[v]:
            if _rating(weight, self.own[u]) > best:
                best, found = _rating(weight, self.own[u]), u
        return found


def cluster_synchronously(
    graph: tuple[Int64, Int32, Int64 | None], loads: Int64, max_cluster: int, fewest: int, local_range: int,
    seed: int, communities: list[int] | None = None,
) -> tuple[list[int], int]:
    """Return the cluster of every vertex and their number (coarsening/synchronous_clustering.hpp)."""
    arcs = plain_rows(*graph)
    n = len(arcs)
    found = _Clusters(arcs, loads.tolist(), max_cluster, seed, communities or [0] * n)
    for begin in range(0, n, local_range):
        size = min(local_range, n - begin)
        found.within_range(begin, begin + size, size - -(-size * fewest // n))
    alone = [v for v in range(n) if not found.matched[v]]
    for number in range(_CLASSES):
        if found.count > fewest:
            found.one_round([v for v in alone if _mixed(seed ^ v) % _CLASSES == number])
    if found.count * 4 > n * 3:
        found.pairs()
    leaders = sorted(set(found.leader))
    number_of = {leader: number for number, leader in enumerate(leaders)}
    return [number_of[leader] for leader in found.leader], len(leaders)


def contract(
    graph: tuple[Int64, Int32, Int64 | None], loads: Int64, cluster: Int32, count: int
) -> tuple[list[dict[int, int]], list[int]]:
    """Return the weights to other clusters, in order, and the load of each (contraction.hpp)."""
    rows: list[dict[int, int]] = [{} for _ in range(count)]
    total = [0] * count
    number = cluster.tolist()
    for v, row in enumerate(plain_rows(*graph)):
        total[number[v]] += int(loads[v])
        for u, weight in row:
            if number[u] != number[v]:
                own = rows[number[v]]
                own[number[u]] = own.get(number[u], 0) + weight
    return rows, total


def move_synchronously(
    graph: tuple[Int64, Int32, Int64 | None], loads: Int64, table: list[list[int]], caps: list[int],
    pe: list[int], rounds: int,
) -> list[int]:
    """Return the mapping after rounds of moves from all vertices (refinement/synchronous_moves.hpp)."""
    arcs, pe, size = plain_rows(*graph), list(pe), loads.tolist()
    load = [sum(size[v] for v in range(len(pe)) if pe[v] == b) for b in range(len(caps))]
    best, cost, least, fruitless = list(pe), 0, 0, 0
    active, rests = list(range(len(pe))), set[int]()

    def choose(v: int, room: list[int]) -> tuple[int, int] | None:
        near: dict[int, int] = {}
        for u, weight in arcs[v]:
            near[pe[u]] = near.get(pe[u], 0) + weight
        if set(near) <= {pe[v]}:
            return None
        price = {b: sum(w * table[b][c] for c, w in near.items()) for b in {*near, pe[v]}}
        ranked = [(price[pe[v]] - price[b], -load[b], -place, b) for place, b in enumerate(near)
                  if b != pe[v] and room[b] >= size[v]]
        ranked = sorted(ranked, key=lambda each: -each[2])[:_BLOCKS]
        if not ranked:
            return None
        gain, _, _, target = max(ranked)
        return (gain, target) if gain >= -(near.get(pe[v], 0) * table[pe[v]][target] // _TOLERANCE) else None

    for _ in range(rounds):
        if fruitless >= _FRUITLESS:
            break
        room = [cap - held for cap, held in zip(caps, load, strict=True)] if fruitless else caps
        wish = {v: found for v in active if v not in rests and (found := choose(v, room)) is not None}
        order = sorted(wish, key=lambda v: (-wish[v][0], v))
        rank = {v: place for place, v in enumerate(order)}

        agreed = []
        for v in order:
            gain = 0
            for u, weight in arcs[v]:
                b = wish[u][1] if rank.get(u, len(pe)) < rank[v] else pe[u]
                gain += weight * (table[pe[v]][b] - table[wish[v][1]][b])
            if gain >= 0:
                agreed.append(v)
        moved = _fitting(agreed, {v: wish[v][1] for v in agreed}, pe, size, load, caps)
        before = mapping_cost(arcs, table, pe)
        for v in moved:
            pe[v] = wish[v][1]
        cost += mapping_cost(arcs, table, pe) - before
        near = {u for v in moved for u, _ in arcs[v]}
        active, rests = sorted({*near, *wish}), set(moved)
        load = [sum(size[v] for v in range(len(pe)) if pe[v] == b) for b in range(len(caps))]
        fruitless = 0 if least - cost > -least // _LITTLE else fruitless + 1
        if cost < least:
            least, best = cost, list(pe)
    return best


def _fitting(
    agreed: list[int], target: dict[int, int], pe: list[int], size: list[int], load: list[int],
    caps: list[int],
) -> set[int]:
    """Return the vertices that may enter their targets; `agreed` are in the order of their gains."""
    load, moved = list(load), set[int]()
    incoming = [sum(size[v] for v in agreed if target[v] == b) for b in range(len(caps))]
    free = {b for b in range(len(caps)) if incoming[b] <= caps[b] - load[b]}

    def enter(v: int) -> None:
        load[pe[v]] -= size[v]
        load[target[v]] += size[v]
        moved.add(v)

    for v in agreed:
        if target[v] in free:
            enter(v)
    for _ in range(_SWEEPS):
        for v in agreed:
            if v not in moved and load[target[v]] + size[v] <= caps[target[v]]:
                enter(v)
    return moved
