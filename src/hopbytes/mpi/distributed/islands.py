"""Islands first: the outermost cut over all processes, then every island on processes of its own."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np

from hopbytes._arrays import Int32, Int64
from hopbytes._frozen import frozen
from hopbytes.algorithms.base import Bounds
from hopbytes.algorithms.multisection.hierarchy import levels_of
from hopbytes.engine.partition import partition_many
from hopbytes.engine.problem import PartitionSettings, SearchProblem, SearchSettings, VertexGroups
from hopbytes.errors import HopbytesWarning
from hopbytes.kernels.records import Distances
from hopbytes.machines.base import Level
from hopbytes.machines.distances import TreeDistance
from hopbytes.machines.tree import Tree
from hopbytes.model.allocation import Allocation
from hopbytes.model.capacities import group_sums
from hopbytes.model.comm_graph import CommGraph
from hopbytes.mpi.distributed.coarsening import Contracted, History, Solver, best_of_ranks, coarsen, of_coarse
from hopbytes.mpi.distributed.refinement import Target, uncoarsen
from hopbytes.mpi.distributed.rows import Rows, Slab, cost_over_ranks, row_pointers
from hopbytes.solve.map_tasks import map_tasks
from hopbytes.util.random_numbers import derived_seeds

#: Vertices of the graph on which the outermost cut is found first, in total and per island.
FEWEST, PER_ISLAND = 10_000, 500
#: Cuts that compete on that graph, on all ranks together at least, and the number
#: of coarsenings whose cuts are recombined.
CUTS = 4
SEARCH = SearchSettings(flow_rounds=2, flow_width=4, overload_percent=100)
STARTS = 2


@frozen(eq=False)
class Task:
    """PEs to which a distributed graph is mapped, the maximum load of each, and how."""

    where: Allocation
    caps: Int64  # int64[k]
    heaviest: int  # largest load of a task
    preset: str
    seed: int

    def part(self, pes: Int64, number: int) -> Task:
        """Return the problem of some of the PEs."""
        seed = int(derived_seeds((self.seed, 2, number), 1)[0]) >> 1
        return Task(self.where.select(pes), self.caps[pes], self.heaviest, self.preset, seed)

    def solve(self, graph: CommGraph, seed: int) -> tuple[Int32, int]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", HopbytesWarning)
            mapping = map_tasks(
                graph, self.where, self.preset, partition=True, threads=1, seed=seed,
                imbalance=self._imbalance(graph),
            )
        return mapping.pe, mapping.comm_cost

    def _imbalance(self, graph: CommGraph) -> Fraction:
        """Return the imbalance that allows at most `caps`."""
        size = [1] * self.where.k if self.where.capacity is None else self.where.capacity.tolist()
        if not graph.total_load:
            return Fraction(0)
        whole, load = sum(size), graph.total_load
        least = min(Fraction(int(cap) * whole, load * own) for cap, own in zip(self.caps, size, strict=True))
        return max(least - 1, Fraction(0))


def has_islands(where: Allocation) -> bool:
    """Tell whether the outermost units of the PEs are equally far from each other."""
    return where.k > 1 and isinstance(where.distance, TreeDistance)


def map_by_islands(rows: Rows, task: Task, history: History) -> Int32:
    """Return the PEs of the own vertices; collective over the member of `rows`."""
    member, where = rows.member, task.where
    if where.k == 1 or rows.total == 0:
        return np.zeros(rows.n, np.int32)
    if member.size == 1 or rows.total <= FEWEST:
        with member.phase("finish"):
            return best_of_ranks(rows, task.solve, task.seed, History())
    levels, _ = levels_of(where, Bounds(task.caps), np.array([task.heaviest]), even=False)
    outer = levels[0]
    load = np.array([member.total(int(rows.loads.sum()))])
    with member.phase("cut"):
        island = cut_over_ranks(rows, outer.caps(load, 0, exact=False), task.seed, history)
    sizes = member.summed(np.bincount(island, minlength=len(outer.parent)).astype(np.int64))

    def inside(number: int, own: Rows) -> Int64:
        pes = np.flatnonzero(outer.child_of_pe == number)
        return pes[map_by_islands(own, task.part(pes, number), History())]

    return mapped_apart(rows, island, sizes, inside).astype(np.int32)


def mapped_apart(rows: Rows, island: Int32, sizes: Int64, inside: Callable[[int, Rows], Int64]) -> Int64:
    """Return int64[n], what `inside` finds for the vertices of every island on its ranks; collective."""
    member, groups = rows.member, groups_of(sizes, rows.member.size)
    with member.phase("deal"):
        slabs, back = deal(rows, island, groups)
    shared = member.size > len(groups)
    color = next((i for i, ranks in enumerate(groups) if member.rank in ranks), 0) if shared else member.rank
    own = member.split(color)
    parts = [inside(number, Rows.of(own, slab)) for number, slab in slabs.items()]
    own.comm.Free()
    return back(np.concatenate([np.empty(0, np.int64), *parts]))


def groups_of(sizes: Int64, ranks: int) -> list[list[int]]:
    """Return for every island the ranks that work on it: larger islands get more of them.

    With fewer ranks than islands a rank gets several, the largest first to the rank with least to do.

    >>> groups_of(np.array([5, 9, 4]), 2), groups_of(np.array([30, 10]), 4)
    ([[1], [0], [1]], [[0, 1, 2], [3]])
    """
    if ranks < len(sizes):
        load, groups = [0] * ranks, [[0] for _ in sizes]
        for island in sorted(range(len(sizes)), key=lambda island: (-int(sizes[island]), island)):
            rank = load.index(min(load))
            load[rank] += int(sizes[island])
            groups[island] = [rank]
        return groups
    counts = [1] * len(sizes)
    for _ in range(ranks - len(sizes)):
        counts[max(range(len(sizes)), key=lambda island: int(sizes[island]) / counts[island])] += 1
    ends = np.cumsum(counts).tolist()
    return [list(range(end - count, end)) for end, count in zip(ends, counts, strict=True)]


def deal(
    rows: Rows, island: Int32, groups: list[list[int]]
) -> tuple[dict[int, Slab], Callable[[Int64], Int64]]:
    """Send the vertices of every island to its ranks, in equal slabs; collective.

    Returned are the slabs of this rank by island, ascending, with vertices numbered within the island, and
    the function that brings the values of all their vertices back to the ranks of `rows`.
    """
    member, count = rows.member, len(groups)
    own = np.bincount(island, minlength=count).astype(np.int64)
    total, before = member.summed(own), member.before(own)
    order = np.argsort(island, kind="stable")
    position = np.arange(rows.n) - np.repeat(np.cumsum(own) - own, own)
    number = np.empty(rows.n, np.int64)
    number[order] = position + np.repeat(before, own)
    first = np.array([group[0] for group in groups], np.int64)
    size = np.array([len(group) for group in groups], np.int64)
    # Rank j of g gets the vertices from ceil(j N / g) on.
    receiver = first[island] + number * size[island] // np.maximum(total, 1)[island]
    sent = np.lexsort((number, island, receiver))
    mine = np.bincount(receiver, minlength=member.size).astype(np.int64)
    theirs = member.counts(mine)

    everyone, numbers = rows.with_ghosts(island.astype(np.int64)), rows.with_ghosts(number)
    sources = rows.sources()
    arcs = np.flatnonzero(everyone[sources] == everyone[rows.targets])
    sent_at = np.empty(rows.n, np.int64)
    sent_at[sent] = np.arange(rows.n)
    arcs = arcs[np.argsort(sent_at[sources[arcs]], kind="stable")]
    degree = np.bincount(sources[arcs], minlength=rows.n).astype(np.int64)
    arc_counts = np.bincount(receiver[sources[arcs]], minlength=member.size).astype(np.int64)
    island_, number_, degree_, loads_ = member.exchange(
        mine, theirs, everyone[: rows.n][sent], number[sent], degree[sent], rows.loads[sent]
    )
    heads, weights = member.exchange(
        arc_counts, member.counts(arc_counts), numbers[rows.targets[arcs]], rows.arc_weights()[arcs]
    )
    order = np.lexsort((number_, island_))
    begins = (np.cumsum(degree_) - degree_)[order]
    island_, degree_, loads_ = island_[order], degree_[order], loads_[order]
    indptr = row_pointers(degree_)
    entries = np.arange(indptr[-1]) + np.repeat(begins - indptr[:-1], degree_)
    heads, weights = heads[entries], weights[entries]
    slabs = {}
    for own_island in np.unique(island_).tolist():
        low, high = (int(bound) for bound in np.searchsorted(island_, [own_island, own_island + 1]))
        begin, end = int(indptr[low]), int(indptr[high])
        slabs[own_island] = Slab(
            indptr[low : high + 1] - begin, heads[begin:end], weights[begin:end], loads_[low:high]
        )

    def back(values: Int64) -> Int64:
        received, returned = np.empty(len(order), np.int64), np.empty(rows.n, np.int64)
        received[order] = values
        (returned[sent],) = member.exchange(theirs, mine, received)
        return returned

    return slabs, back


def cut_over_ranks(rows: Rows, caps: Int64, seed: int, history: History) -> Int32:
    """Partition a distributed graph into blocks of bounded load with few arcs between them; collective."""
    cut = Cut(rows, caps, history)
    blocks = [block for block, _ in sorted(first_cuts(cut, seed), key=lambda start: start[1])]
    together = blocks[0] if len(blocks) < 2 else blocks[0] * len(caps) + blocks[1]
    return cut.by_coarsening(seed + STARTS, together, blocks)[0]


class Cut:
    """Partitions of a distributed graph into blocks of bounded load; methods are collective."""

    def __init__(self, rows: Rows, caps: Int64, history: History) -> None:
        self.rows, self.caps, self.history = rows, caps, history
        count = len(caps)
        self.where = Allocation.whole(Tree((Level("block", 1),), (count,)))
        self.target = Target(Distances(table=(1 - np.eye(count, dtype=np.int64)).reshape(-1)), caps)
        self.least = max(FEWEST, PER_ISLAND * count)
        self.mean = rows.member.total(int(rows.loads.sum())) // count

    def by_coarsening(
        self, seed: int, together: Int32 | None = None, known: Sequence[Int32] = ()
    ) -> tuple[Int32, int]:
        """Return the blocks of own vertices and the cost of a partition by one coarsening.

        `known` partitions, the best one first, compete and are recombined, where only vertices of equal
        `together` are contracted. If that does not lower the cost, the first of them is the result.
        """
        rows, member = self.rows, self.rows.member
        with member.phase("coarsen"):
            levels = coarsen(rows, self.least, self.mean // 16, seed, together)
            coarsest = levels[-1].rows if levels else rows
        with member.phase("first cuts"):
            before = [_projected(levels, block) for block in known]
            wholes = [np.concatenate(member.all(block)) for block in before]
            candidates = np.stack(wholes) if wholes else None
            load = member.total(int(rows.loads.sum()))
            caps = self.target.loose(load).caps if levels else self.caps
            solve = _solver(caps, -(-CUTS // member.size), candidates)
            block = best_of_ranks(coarsest, solve, seed, self.history)
            if before:
                cost = cost_over_ranks(coarsest, self.where, before[0])
                if cost_over_ranks(coarsest, self.where, block) >= cost:
                    return known[0], cost
        with member.phase("refine cuts"):
            block = uncoarsen(rows, levels, block, self.target, self.where, self.history)
        return block, self.history.costs[-1]


def own_cuts(cut: Cut, seed: int) -> list[tuple[Int32, int]]:
    """Return partitions by several coarsenings, with their costs."""
    return [cut.by_coarsening(seed + number) for number in range(STARTS)]


#: What makes the first cuts; the laboratory puts PT-Scotch in its place to compare both.
first_cuts = own_cuts


def _solver(caps: Int64, repetitions: int, known: Int32 | None) -> Solver:
    """Return the function that cuts a graph into blocks; a known partition competes and is recombined."""

    settings = PartitionSettings(
        repetitions=repetitions, recombinations=repetitions - (known is None), coarse_recombinations=1,
        search=SEARCH,
    )

    def solve(graph: CommGraph, seed: int) -> tuple[Int32, int]:
        problem = SearchProblem(graph.symmetric_positive(), graph.loads)
        block, cut = partition_many(
            problem, VertexGroups.whole(graph.n, caps, seed), settings, candidates=known
        )
        over = np.maximum(group_sums(block, graph.loads, len(caps)) - caps, 0)
        return block, int(cut[0]) + int(over.sum()) * max(graph.total_volume, 1)

    return solve


def _projected(levels: list[Contracted], block: Int32) -> Int32:
    for level in levels:
        block = of_coarse(level, block)
    return block
