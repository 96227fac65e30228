"""Passes through a graph on disk: clustering, placing, moving, and counting; each sees every block once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np

from hopbytes import kernels
from hopbytes._arrays import Int32, Int64, UInt64
from hopbytes.algorithms.streaming.pe_tree import node_sums, penalties
from hopbytes.algorithms.streaming.sketch import Sketch
from hopbytes.errors import FormatError, ScaleError, damaged
from hopbytes.formats.streams.graph_stream import GraphStream
from hopbytes.kernels.records import Counter, Csr
from hopbytes.kernels.streaming import (
    Block,
    MappingState,
    TreeOfPes,
    assign_block,
    check_block,
    refine_block,
)
from hopbytes.machines.distances import NetworkDistance, TreeDistance
from hopbytes.model.allocation import Allocation
from hopbytes.model.exact_sums import group_sums, sum_of
from hopbytes.util.integers import MAX_SUM


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
    rows, distance = block.rows, where.distance
    targets = np.arange(rows, rows + len(block.targets), dtype=np.int32)
    places = np.concatenate([pe[block.first : block.first + rows], pe[block.targets]])
    arcs = Csr(block.indptr, targets, block.weights)
    if isinstance(distance, TreeDistance):
        levels = len(distance.costs) - 1
        sums = kernels.comm_cost_by_level(arcs, places, distance.labels, distance.level_of_bit, levels)
        return sum(w * d for w, d in zip(sums.tolist(), distance.costs.tolist(), strict=True))
    if isinstance(distance, NetworkDistance):
        return kernels.comm_cost_network(arcs, places, *distance.lowered())
    return kernels.comm_cost_table(arcs, places, distance.table.reshape(-1))


def check_sums(total_weight: int, where: Allocation) -> None:
    """Raise ScaleError if volume x distance could exceed 63 bits."""
    largest = max(total_weight, 1) * int(where.distance.largest)
    if largest > MAX_SUM:
        factor = -(-largest // MAX_SUM)
        what = f"total volume {total_weight} x largest distance {where.distance.largest}"
        raise ScaleError(f"{what} is more than 2^63 - 1: divide the volumes or distances by {factor} or more")
