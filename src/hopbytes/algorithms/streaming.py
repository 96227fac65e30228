"""Passes through a graph on disk: clustering, placing, moving, and counting; each sees every block once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np

from hopbytes import kernels
from hopbytes._arrays import Float64, Int32, Int64, UInt64
from hopbytes.algorithms.multisection.hierarchy import cut_distances, numbered_by_parent
from hopbytes.cost.objectives.comm_cost import arcs_distance_sum
from hopbytes.errors import FormatError, damaged
from hopbytes.formats.streaming import GraphStream
from hopbytes.kernels.records import Counter, Csr
from hopbytes.kernels.streaming import (
    Block,
    MappingState,
    SketchArrays,
    TreeOfPes,
    add_pairs,
    assign_block,
    check_block,
    cluster_block,
    refine_block,
)
from hopbytes.model.allocation import Allocation
from hopbytes.model.capacities import group_sums, sum_of
from hopbytes.model.comm_graph import CommGraph
from hopbytes.util.integers import MAX_SUM, check_limit

#: Derivative of load^1.5, the cost of load in the score of Fennel.
FENNEL_FACTOR = 1.5


def tree_of(where: Allocation, load_caps: Int64, zero_load_caps: Int64) -> TreeOfPes:
    """Return the tree of an allocation, in which every node may hold what its PEs may hold together."""
    groupings, k = where.groups(), where.k
    if not groupings:  # a single PE
        groupings = [np.zeros(k, np.int32)]
    cuts = [*cut_distances(where, groupings), 0]
    nodes_of, unit = [np.zeros(k, np.int64)], np.zeros(k, np.int32)
    first_child, begin, count = [], 0, 1
    for grouping in groupings:
        unit, parent = numbered_by_parent(grouping, unit)
        begin += count
        first_child.append(begin + np.searchsorted(parent, np.arange(count)))
        nodes_of.append((begin + unit).astype(np.int64))
        count = len(parent)
    nodes = begin + count
    first_child.append(np.full(count + 1, nodes))
    pe_of_leaf = np.empty(k, np.int32)
    pe_of_leaf[unit] = np.arange(k, dtype=np.int32)
    caps = np.zeros(2 * nodes, np.int64)
    for level in nodes_of:
        np.add.at(caps, level, load_caps)
        np.add.at(caps, nodes + level, zero_load_caps)
    return TreeOfPes(
        np.concatenate(first_child).astype(np.int32), np.concatenate(nodes_of[1:]).astype(np.int32),
        pe_of_leaf, caps, np.maximum(-np.diff(np.array(cuts, np.int64)), 0),
    )


def penalties(tree: TreeOfPes, total_load: int, total_weight: float) -> Float64:
    """Return float64[2*nodes]: what each node costs a vertex of load 1, per square root of its load."""
    found = np.zeros(2 * tree.nodes)
    ideal = tree.caps[: tree.nodes] * (max(total_load, 1) / max(int(tree.caps[0]), 1))
    found[: tree.nodes] = FENNEL_FACTOR * (total_weight / max(total_load, 1)) / np.sqrt(np.maximum(ideal, 1))
    return found


def node_sums(tree: TreeOfPes, of_pe: Int64) -> Int64:
    """Return int64[nodes], the sum over the PEs below each node."""
    sums = np.zeros(tree.nodes, np.int64)
    sums[0] = of_pe.sum()
    np.add.at(sums, tree.path, np.tile(of_pe, len(tree.gains)))
    return sums


#: A contraction should leave at most this share of the pairs. Fewer would mean larger clusters than needed.
SHARE_LEFT = 0.75
#: A sweep that leaves more than this share of the pairs ends the contraction with clusters of one size.
FRUITLESS = 0.95
SMALLEST_TABLE = 1 << 10


class Sketch:
    """Clusters of vertices, and the weights between clusters."""

    def __init__(self, n: int, loads: Int64 | None, buffer: int, heaviest: int, limit: int) -> None:
        self.heaviest, self.limit, self.contractions, self.dropped = heaviest, limit, 0, 0
        weight = np.ones(n, np.int64) if loads is None else loads.copy()
        self._arrays = _with_table(np.arange(n, dtype=np.int32), weight, buffer)
        self._most = len(self._arrays.key) // 4 * 3

    @property
    def pairs(self) -> int:
        """Number of pairs of clusters with an edge between them."""
        return int(self._arrays.pairs[0])

    def add(self, block: Block) -> None:
        """Add the vertices of a block, contracting the sketch whenever its table is full."""
        row = 0
        while (row := cluster_block(block, self._arrays, self.heaviest, row)) < block.rows:
            degree = int(block.indptr[row + 1] - block.indptr[row])
            if degree > self._most // 5:  # a hub needs a larger table, whatever the buffer is
                self._enlarge(8 * degree)
            else:
                self.contract()

    def contract(self) -> None:
        """Merge clusters until a quarter of the table is free; drop the lightest where that fails."""
        self.contractions += 1
        goal = int(SHARE_LEFT * self._most)
        while self.pairs > goal:
            before = self.pairs
            self._sweep()
            if self.pairs > FRUITLESS * before:
                if self.heaviest >= self.limit:
                    break
                self.heaviest = min(2 * self.heaviest, self.limit)
        if self.pairs > goal:
            self._drop_lightest(goal)

    def graph(self) -> tuple[CommGraph, Int32]:
        """Return the graph of the clusters, and int32[n], the cluster of every vertex."""
        arrays = self._arrays
        used = np.zeros(len(arrays.cluster), bool)
        used[arrays.cluster] = True
        names = np.flatnonzero(used)
        number = np.cumsum(used, dtype=np.int32) - np.int32(1)
        a, b, weights = _listed(self._arrays)
        loads = arrays.weight[names]
        graph = CommGraph.from_edges(
            number[a], number[b], weights, n=len(names), undirected=True,
            loads=None if int(loads.min(initial=1)) == int(loads.max(initial=1)) == 1 else loads,
        )
        return graph, number[arrays.cluster]

    def release(self) -> None:
        """Forget the clusters and pairs; the counts stay."""
        self._arrays = _with_table(np.empty(0, np.int32), np.empty(0, np.int64), 0)

    def _sweep(self) -> None:
        """Let every cluster join the one with the heaviest connection, once."""
        a, b, weights = _listed(self._arrays)
        names, numbers = np.unique(np.concatenate([a, b]), return_inverse=True)
        sources = numbers.astype(np.int32)
        targets = np.concatenate([sources[len(a) :], sources[: len(a)]])
        indptr, columns, volumes, _ = kernels.csr_from_arcs(
            len(names), sources, targets, np.concatenate([weights, weights]), None
        )
        loads = self._arrays.weight[names]
        # Twice the room: a row needs as much as it has arcs, even if all its pairs are in the table already.
        merged = _with_table(np.arange(len(names), dtype=np.int32), loads.copy(), 2 * self._most)
        cluster_block(Block(0, indptr, columns, volumes, loads), merged, self.heaviest, 0)
        self._rename(names, names[merged.cluster].astype(np.int32))
        new_a, new_b, new_weights = _listed(merged)
        self._refill(names[new_a].astype(np.int32), names[new_b].astype(np.int32), new_weights)

    def _rename(self, names: Int64, into: Int32) -> None:
        """Replace clusters by those that they joined, and sum their loads."""
        cluster, weight = self._arrays.cluster, self._arrays.weight
        new = np.arange(len(cluster), dtype=np.int32)
        new[names] = into
        loads = weight[names]
        weight[names] = 0
        np.add.at(weight, into, loads)
        np.take(new, cluster, out=cluster)

    def _refill(self, a: Int32, b: Int32, weights: Int64) -> None:
        self._arrays.key[:] = 0
        self._arrays.pairs[0] = 0
        add_pairs(self._arrays, a, b, weights)

    def _drop_lightest(self, goal: int) -> None:
        a, b, weights = _listed(self._arrays)
        kept = np.sort(np.argsort(-weights, kind="stable")[:goal])
        self.dropped += len(weights) - len(kept)
        self._refill(a[kept], b[kept], weights[kept])

    def _enlarge(self, buffer: int) -> None:
        a, b, weights = _listed(self._arrays)
        self._arrays = _with_table(self._arrays.cluster, self._arrays.weight, buffer)
        self._most = len(self._arrays.key) // 4 * 3
        add_pairs(self._arrays, a, b, weights)


def _with_table(cluster: Int32, weight: Int64, buffer: int) -> SketchArrays:
    """Return a sketch with an empty table, of a power of two with room for the buffer."""
    size = SMALLEST_TABLE
    while size // 4 * 3 < buffer:
        size *= 2
    return SketchArrays(
        cluster, weight, np.zeros(size, np.uint64), np.zeros(size, np.int64), np.zeros(1, np.int64)
    )


def _listed(arrays: SketchArrays) -> tuple[Int32, Int32, Int64]:
    """Return the pairs of clusters, in ascending order, and their weights."""
    at = np.flatnonzero(arrays.key)
    at = at[np.argsort(arrays.key[at])]
    key = arrays.key[at]
    low = np.uint64(2**32 - 1)
    return (key >> np.uint64(32)).astype(np.int32), (key & low).astype(np.int32), arrays.value[at]


@dataclass
class CheckedStream:
    """The blocks of a graph, checked: every pass has to see the same graph, both directions of all edges."""

    stream: GraphStream
    #: called with the number of the pass, vertices seen, and vertices in total
    report: Callable[[int, int, int], None] | None = None
    total_weight: int = 0  # weight of all arcs, known after the first pass
    passes: int = 0  # passes that have begun
    _sums: UInt64 | None = field(default=None, repr=False)

    def blocks(self) -> Iterator[Block]:
        """Yield the blocks of one more pass."""
        stream, sums, weight = self.stream, np.zeros(4, np.uint64), 0
        self.passes += 1
        with damaged(stream.name, "a whole and unchanged graph"):
            for block in stream.blocks():
                arc = check_block(block, stream.n, sums)
                if arc >= 0:
                    vertex = block.first + int(np.searchsorted(block.indptr, arc, "right")) - 1
                    found = f"neighbour {int(block.targets[arc]) & 0xFFFFFFFF} of vertex {vertex}"
                    what = f"{found}, expected vertices from 0 to {stream.n - 1}"
                    raise FormatError(stream.name, None, what)
                if int(sums[3]):
                    raise FormatError(stream.name, None, "a vertex is its own neighbour, expected no loops")
                weight += len(block.targets) if block.weights is None else sum_of(block.weights)
                yield block
                if self.report is not None:
                    self.report(self.passes, block.first + block.rows, stream.n)
        if self._sums is None:
            if int(sums[1]):
                what = "an edge is listed by one of its ends only, or with two weights"
                raise FormatError(stream.name, None, f"{what}, expected both directions with equal weights")
            self._sums, self.total_weight = sums, weight
        elif not np.array_equal(sums, self._sums):
            raise stream.changed("the graph changed between two passes")


def cluster(blocks: CheckedStream, sketch: Sketch, loads: Int64 | None) -> None:
    """Put all vertices into a sketch, in one pass."""
    for block in blocks.blocks():
        sketch.add(own_loads(block, loads))


def place_online(blocks: CheckedStream, tree: TreeOfPes, loads: Int64 | None) -> MappingState:
    """Place every vertex as it comes, by scores per level of the tree, in one pass; memory O(n + k)."""
    n, arcs = blocks.stream.n, blocks.stream.arcs
    state = MappingState.start(n, tree)
    total, seen, weight = (n if loads is None else sum_of(loads)), 0, 0
    for block in blocks.blocks():
        # What is not known yet is taken to weigh as much as what has come.
        seen += len(block.targets)
        weight += len(block.targets) if block.weights is None else sum_of(block.weights)
        expected = weight * (arcs / max(seen, 1)) / 2
        assign_block(own_loads(block, loads), tree, state, penalties(tree, total, expected))
    return state


def refine(blocks: CheckedStream, tree: TreeOfPes, state: MappingState, loads: Int64 | None) -> int:
    """Move vertices where that lowers J and keeps the bounds, in one pass; return the number of moves."""
    before = int(state.counter[Counter.MOVES])
    for block in blocks.blocks():
        refine_block(own_loads(block, loads), tree, state)
    return int(state.counter[Counter.MOVES]) - before


def own_loads(block: Block, loads: Int64 | None) -> Block:
    """Return a block with the loads that bounds take into account (:class:`.LoadBound`)."""
    return block._replace(loads=None if loads is None else loads[block.first : block.first + block.rows])


def state_of(pe: Int32, tree: TreeOfPes, loads: Int64 | None) -> MappingState:
    """Return the state after all vertices have been placed on these PEs."""
    state = MappingState.start(len(pe), tree)
    zero_load = None if loads is None else (loads == 0).astype(np.int64)
    state.pe[:] = pe
    state.load[: tree.nodes] = node_sums(tree, group_sums(pe, loads, tree.k))
    if zero_load is not None:
        state.load[tree.nodes :] = node_sums(tree, group_sums(pe, zero_load, tree.k))
    state.tasks[:] = np.bincount(pe, minlength=tree.k)
    state.empty[:] = node_sums(tree, (state.tasks == 0).astype(np.int64))
    state.counter[Counter.REMAINING] = 0
    return state


def comm_cost(blocks: CheckedStream, where: Allocation, pe: Int32) -> int:
    """Return J, the sum over stored arcs of volume x distance, in one more pass; exact below 2^63."""
    cost = sum(block_cost(block, where, pe) for block in blocks.blocks())
    return cost // 2 if blocks.stream.doubled else cost


def block_cost(block: Block, where: Allocation, pe: Int32) -> int:
    """Return the sum over the arcs of one block; kernels for whole graphs see sources and targets apart."""
    rows = block.rows
    targets = np.arange(rows, rows + len(block.targets), dtype=np.int32)
    places = np.concatenate([pe[block.first : block.first + rows], pe[block.targets]])
    return arcs_distance_sum(Csr(block.indptr, targets, block.weights), where, places)


def check_sums(total_weight: int, where: Allocation) -> None:
    """Raise ScaleError if volume x distance could exceed 63 bits."""
    largest = int(where.distance.largest)
    what = f"total volume {total_weight} x largest distance {largest}"
    check_limit(what, max(total_weight, 1) * largest, MAX_SUM, "the volumes or distances")
