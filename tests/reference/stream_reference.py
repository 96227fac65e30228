"""Reference implementation of ``core/streaming``."""

import math
from collections import defaultdict
from collections.abc import Iterator

from hopbytes._arrays import Float64, Int32, Int64, UInt64
from hopbytes.kernels.records import Counter
from reference.device_reference import mixed

_WORD = 2**64 - 1
_GAMMA = 0x9E3779B97F4A7C15
_BlockArrays = tuple[int, Int64, Int32, Int64 | None, Int64 | None]
_TreeArrays = tuple[Int32, Int32, Int32, Int64, Int64]
_StateArrays = tuple[Int32, Int64, Int64, Int64, Int64]
_SketchArrays = tuple[Int32, Int64, UInt64, Int64, Int64]


def _vertices(block: _BlockArrays, begin: int = 0) -> Iterator[tuple[int, list[tuple[int, int]], int | None]]:
    """Yield (vertex, its neighbours with weights, its load or None) for the rows of a block."""
    first, indptr, targets, weights, loads = block
    for row in range(begin, len(indptr) - 1):
        arcs = range(int(indptr[row]), int(indptr[row + 1]))
        near = [(int(targets[e]), 1 if weights is None else int(weights[e])) for e in arcs]
        yield first + row, near, None if loads is None else int(loads[row])


def _mixed_word(x: int) -> int:
    return mixed(x & _WORD)


def stream_check(block: _BlockArrays, n: int, sums: UInt64) -> int:
    """Add the fingerprint of a block to `sums`; return its first arc to no vertex, -1 if there is none."""
    arc, found = 0, [int(each) for each in sums]
    wrong = -1
    for u, near, load in _vertices(block):
        if load is not None:
            found[2] += _mixed_word(u * _GAMMA + _mixed_word(load))
        for v, w in near:
            if not 0 <= v < n:
                wrong = arc
                break
            arc += 1
            if u == v:
                found[3] += 1
                continue
            word = _mixed_word((min(u, v) << 32 | max(u, v)) + w * _GAMMA)
            found[0] += word
            found[1] += word if u < v else -word
        if wrong >= 0:
            break
    for place, each in enumerate(found):
        sums[place] = each & _WORD
    return wrong


class _Mapper:
    """The tree and the state, as ``StreamMapper`` has them."""

    def __init__(self, tree: _TreeArrays, state: _StateArrays) -> None:
        self.first_child, self.path, self.pe_of_leaf, self.caps, self.gains = tree
        self.pe, self.load, self.tasks, self.empty, self.counter = state
        self.k, self.nodes, self.depth = len(self.pe_of_leaf), len(self.first_child) - 1, len(self.gains)

    def node(self, depth: int, pe: int) -> int:
        return int(self.path[depth * self.k + pe])

    def room(self, node: int, kind: int) -> int:
        return int(self.caps[kind * self.nodes + node] - self.load[kind * self.nodes + node])

    def room_of(self, pe: int, kind: int) -> int:
        return self.room(self.node(self.depth - 1, pe), kind)

    def change(self, pe: int, load: int, kind: int, sign: int) -> None:
        nodes = [0, *(self.node(depth, pe) for depth in range(self.depth))]
        was_empty = self.tasks[pe] == 0
        self.tasks[pe] += sign
        for node in nodes:
            self.load[kind * self.nodes + node] += sign * load
            self.empty[node] += int(self.tasks[pe] == 0) - int(was_empty)

    def near(self, vertex: int, neighbours: list[tuple[int, int]]) -> dict[int, int]:
        """Return the weight between a vertex and every PE, in the order in which PEs come."""
        found: dict[int, int] = {}
        for neighbour, weight in neighbours:
            pe = int(self.pe[neighbour])
            if pe >= 0 and neighbour != vertex and weight > 0:
                found[pe] = found.get(pe, 0) + weight
        return found

    def most_room(self, load: int, kind: int) -> int:
        best = max(range(self.k), key=lambda pe: (self.room_of(pe, kind), -pe))
        self.counter[Counter.FORCED] += 1
        self.counter[Counter.OVERFULL] += self.room_of(best, kind) < load
        return best

    def descend(self, near: dict[int, int], load: int, kind: int, fill: bool, penalty: Float64) -> int:
        node = 0
        for depth in range(self.depth):
            weight: dict[int, int] = defaultdict(int)
            for pe, w in near.items():
                weight[self.node(depth, pe)] += w
            best: tuple[float, int, int] | None = None
            for child in range(int(self.first_child[node]), int(self.first_child[node + 1])):
                if self.room(child, kind) < load or (fill and self.empty[child] == 0):
                    continue
                held, at = int(self.load[kind * self.nodes + child]), kind * self.nodes + child
                score = float(weight[child]) - float(load) * (float(penalty[at]) * math.sqrt(float(held)))
                if best is None or (score, -held) > (best[0], -best[1]):
                    best = (score, held, child)
            if best is None:
                return self.most_room(load, kind)
            node = best[2]
        return int(self.pe_of_leaf[node - (self.nodes - self.k)])

    def best_neighbour(self, own: int, near: dict[int, int], load: int, kind: int, over: bool) -> int:
        weight: dict[int, int] = defaultdict(int)
        for pe, w in near.items():
            for depth in range(self.depth):
                weight[self.node(depth, pe)] += w

        def saved(pe: int) -> int:
            return sum(int(self.gains[d]) * weight[self.node(d, pe)] for d in range(self.depth))

        best, most = own, -1 if over else saved(own)
        for pe in near:
            if pe == own or self.room_of(pe, kind) < load:
                continue
            here = saved(pe)
            there = self.room_of(best, kind) - (0 if best == own else load)
            if here > most or (here == most and self.room_of(pe, kind) - load > there):
                best, most = pe, here
        if over and best == own:
            other = self.most_room(load, kind)
            best = other if self.room_of(other, kind) >= load else own
        return best


def _size(load: int | None) -> tuple[int, int]:
    """Return what a vertex takes up, and of which bound: 0 is that of loads."""
    return (1, 0) if load is None else (load, 0) if load > 0 else (1, 1)


def stream_assign(
    block: _BlockArrays, tree: _TreeArrays, state: _StateArrays, penalty: Float64
) -> None:
    """Place every vertex of a block by its way down the tree."""
    mapper = _Mapper(tree, state)
    for vertex, neighbours, own_load in _vertices(block):
        load, kind = _size(own_load)
        if mapper.pe[vertex] >= 0:
            mapper.change(int(mapper.pe[vertex]), load, kind, -1)
        fill = mapper.counter[Counter.FILL_ALL] and mapper.counter[Counter.REMAINING] <= mapper.empty[0]
        pe = mapper.descend(mapper.near(vertex, neighbours), load, kind, bool(fill), penalty)
        mapper.change(pe, load, kind, 1)
        mapper.pe[vertex] = pe
        mapper.counter[Counter.REMAINING] -= 1


def stream_refine(block: _BlockArrays, tree: _TreeArrays, state: _StateArrays) -> None:
    """Move vertices of a block to PEs of neighbours where that lowers J, or ends an overload."""
    mapper = _Mapper(tree, state)
    for vertex, neighbours, own_load in _vertices(block):
        own, (load, kind) = int(mapper.pe[vertex]), _size(own_load)
        over = mapper.room_of(own, kind) < 0
        if not over and mapper.counter[Counter.FILL_ALL] and mapper.tasks[own] == 1:
            continue
        near = mapper.near(vertex, neighbours)
        if not over and set(near) <= {own}:
            continue
        best = mapper.best_neighbour(own, near, load, kind, over)
        if best != own:
            mapper.change(own, load, kind, -1)
            mapper.change(best, load, kind, 1)
            mapper.pe[vertex] = best
            mapper.counter[Counter.MOVES] += 1


def stream_cluster(block: _BlockArrays, sketch: _SketchArrays, heaviest: int, row: int) -> int:
    """Add vertices of a block from `row` on to a sketch; return the row at which its table was full."""
    cluster, weight, key, _, pairs = sketch
    for vertex, neighbours, own_load in _vertices(block, row):
        if int(pairs[0]) + len(neighbours) > len(key) // 4 * 3:
            return vertex - block[0]
        load = 1 if own_load is None else own_load
        near: dict[int, int] = {}
        for neighbour, w in neighbours:
            if neighbour != vertex and w > 0:
                name = int(cluster[neighbour])
                near[name] = near.get(name, 0) + w
        own = int(cluster[vertex])
        best, most = own, near.get(own, 0)
        for name, w in near.items():
            held = int(weight[best]) - (load if best == own else 0)
            lighter = w == most and int(weight[name]) < held
            if name != own and int(weight[name]) + load <= heaviest and (w > most or lighter):
                best, most = name, w
        weight[own] -= load
        weight[best] += load
        cluster[vertex] = best
        for neighbour, w in neighbours:
            if neighbour < vertex and w > 0:
                _add_pair(sketch, best, int(cluster[neighbour]), w)
    return len(block[1]) - 1


def stream_pairs(sketch: _SketchArrays, a: Int32, b: Int32, w: Int64) -> None:
    """Add pairs of clusters to the table."""
    for one, other, weight in zip(a.tolist(), b.tolist(), w.tolist(), strict=True):
        _add_pair(sketch, one, other, weight)


def _add_pair(sketch: _SketchArrays, a: int, b: int, w: int) -> None:
    """Add a weight at the entry of a pair: the first one from its hash on that is its own or free."""
    _, _, key, value, pairs = sketch
    if a == b:
        return
    wanted = max(a, b) << 32 | min(a, b)
    at = (wanted * _GAMMA & _WORD) >> (65 - len(key).bit_length())
    while int(key[at]) not in (0, wanted):
        at = (at + 1) & (len(key) - 1)
    if int(key[at]) == 0:
        key[at] = wanted
        value[at] = 0
        pairs[0] += 1
    value[at] += w
