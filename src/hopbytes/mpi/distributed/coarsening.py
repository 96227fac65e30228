"""Coarsening over all processes: clusters by label propagation, contraction, the coarsest graph on each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from hopbytes._arrays import Bool, Float64, Int32, Int64
from hopbytes._frozen import frozen
from hopbytes.engine.control import RunControl
from hopbytes.engine.parallel import cluster_synchronously
from hopbytes.kernels import csr_from_arcs
from hopbytes.kernels.records import Csr
from hopbytes.model.comm_graph import CommGraph
from hopbytes.mpi.distributed.rows import Rows, Slab, row_pointers
from hopbytes.util.random_numbers import derived_seeds, hashes_of

#: Rounds, in each of which the vertices of one class choose.
CLASSES = 8
#: Largest factor between two levels, the share of vertices at which coarsening ends, and the most levels.
SHRINK, SLOWEST, MOST_LEVELS = 3, 0.95, 60
#: A cluster has at most this share of the load of a PE, so that PEs can be filled evenly.
CLUSTERS_PER_PE = 4

#: A mapping of a small graph for a seed, and its cost.
Solver: TypeAlias = Callable[[CommGraph, int], tuple[Int32, int]]


@dataclass(slots=True)
class History:
    """What happened, the same on all processes."""

    levels: list[int] = field(default_factory=list)  # vertices of the levels that were refined
    costs: list[int] = field(default_factory=list)  # costs after that
    first_costs: list[int] = field(default_factory=list)  # costs of the first solutions of all ranks
    moves: int = 0


def clusters_over_ranks(rows: Rows, most: int, fewest: int, seed: int, block: Int32 | None = None) -> Int64:
    """Return int64[n], the leader of the cluster of every own vertex; collective.

    Where most arcs stay on their rank, the ranks first cluster their own vertices without neighbours on other
    ranks (``engine.parallel``). Then vertices that are alone join the best rated cluster, also of other
    ranks, in rounds over classes of vertices: a round decides by the state before it, and the rank of the
    leader of a cluster admits who fits. Leaves of full hubs are joined in pairs. The leader of a cluster is
    one of its vertices. The result depends on the number of ranks and the seed alone. O((n + m) / P log) work
    per rank and 10 small exchanges per round.

    Source: after Meyerhenke, Sanders, Schulz, "Parallel graph partitioning for complex networks", IPDPS 2015.
    """
    leader = rows.ids.copy()
    usable = np.ones(len(rows.targets), np.bool_)
    if block is not None:
        around = rows.with_ghosts(block.astype(np.int64))
        usable = around[rows.sources()] == around[rows.targets]
    inside = usable & (rows.targets < rows.n)
    here = rows.member.total(int(np.count_nonzero(inside)))
    inside &= _away_from_others(rows)
    if 2 * here >= rows.member.total(len(rows.targets)) and rows.n:
        fewest_here = max(1, fewest * rows.n // rows.total)
        leader = _own_clusters(rows, inside, most, fewest_here, seed)
    state = _State(rows, leader, most, seed, usable)
    for number in range(CLASSES):
        if state.count() <= fewest:
            break
        state.one_round(number)
    if 4 * state.count() > 3 * rows.total:
        state.pairs()
    return state.leader


def _away_from_others(rows: Rows) -> Bool:
    """Return bool[m], the arcs between vertices without neighbours on other ranks; collective.

    Clusters that end where the rows of a rank end leave straight lines, which are cheaper to cut than the
    rugged borders of clusters elsewhere, so that cuts would follow them: the grid 512x512 on 7 ranks had a J
    of 1.059 of the preset eco's, without these lines 1.010. All arcs count where more than half of the
    vertices have such neighbours.
    """
    border = np.zeros(rows.n + len(rows.ghosts), np.bool_)
    border[rows.sources()[rows.targets >= rows.n]] = True
    if 2 * rows.member.total(int(np.count_nonzero(border))) > rows.total:
        border[:] = False
    away: Bool = ~(border[rows.sources()] | border[rows.targets])
    return away


def _own_clusters(rows: Rows, inside: Bool, most: int, fewest: int, seed: int) -> Int64:
    indptr = row_pointers(inside)[rows.indptr]
    weights = None if rows.weights is None else rows.weights[inside]
    csr = Csr(indptr, rows.targets[inside], weights)
    cluster, count = cluster_synchronously(csr, rows.loads, most, fewest, RunControl(seed=seed))
    lowest = np.empty(count, np.int64)
    lowest[cluster[::-1]] = rows.ids[::-1]  # the last write wins, which is that of the lowest vertex
    leader: Int64 = lowest[cluster]
    return leader


class _State:
    """Clusters in the making: leaders of own vertices, loads of the clusters that own vertices lead."""

    def __init__(self, rows: Rows, leader: Int64, most: int, seed: int, usable: Bool) -> None:
        self.rows, self.leader, self.most, self.seed = rows, leader, most, seed
        self.load = np.zeros(rows.n, np.int64)
        np.add.at(self.load, leader - rows.first, rows.loads)  # so far all leaders are own vertices
        members = np.bincount(leader - rows.first, minlength=rows.n)
        self.alone = (leader == rows.ids) & (members == 1)
        self.usable = usable
        self.sources, self.weights = rows.sources(), rows.arc_weights()

    def count(self) -> int:
        """Return the number of clusters of all ranks."""
        return self.rows.member.total(int(np.count_nonzero(self.leader == self.rows.ids)))

    def one_round(self, number: int) -> None:
        """Let the vertices of one class that are alone join the best cluster."""
        rows = self.rows
        known = rows.with_ghosts(np.where(self.alone, ~self.leader, self.leader))
        leader, alone = np.where(known < 0, ~known, known), known < 0
        moving = alone & (_draw(np.concatenate([rows.ids, rows.ghosts]), self.seed) % CLASSES == number)
        arcs = np.flatnonzero(self.usable & moving[self.sources] & ~moving[rows.targets])
        vertex, cluster = self.sources[arcs].astype(np.int64), leader[rows.targets[arcs]]
        vertex, cluster, weight = summed_pairs(vertex, cluster, self.weights[arcs])
        load = rows.ask(cluster, self.load)
        fits = load + rows.loads[vertex] <= self.most
        vertex, cluster, weight, load = vertex[fits], cluster[fits], weight[fits], load[fits]
        rating: Float64 = weight.astype(np.float64) ** 2 / np.maximum(load, 1)
        tie = _draw(cluster ^ (vertex + rows.first), self.seed)
        self._join(*self._chosen(vertex, cluster, cluster, tie, rating))

    def _chosen(self, vertex: Int64, target: Int64, *keys: np.ndarray) -> tuple[Int64, Int64, Int64, Int64]:
        """Return the last target of each vertex by keys, by owners, and how many go to and come from each."""
        order = np.lexsort((*keys, vertex))
        last = order[np.flatnonzero(np.diff(vertex[order], append=-1))]
        last = last[np.argsort(target[last], kind="stable")]
        mine = self.rows.owners(target[last])
        return vertex[last], target[last], mine, self.rows.member.counts(mine)

    def _join(self, vertex: Int64, cluster: Int64, mine: Int64, theirs: Int64) -> None:
        """Ask the ranks of the leaders for admission; who fits in the order of a hash is admitted."""
        rows = self.rows
        wanted, load, who = rows.member.exchange(
            mine, theirs, cluster, rows.loads[vertex], vertex + rows.first
        )
        target = wanted - rows.first
        order = np.lexsort((who, _draw(who, ~self.seed), target))
        # The load of those before each one that want to join the same cluster.
        sums, ascending = np.cumsum(load[order]) - load[order], target[order]
        ahead = sums - sums[np.searchsorted(ascending, ascending)]
        admitted = np.zeros(len(target), np.int64)
        admitted[order] = self.load[ascending] + ahead + load[order] <= self.most
        chosen = admitted > 0
        np.add.at(self.load, target[chosen], load[chosen])
        self.alone[target[chosen]] = False
        (answer,) = rows.member.exchange(theirs, mine, admitted)
        joined = vertex[answer > 0]
        self.leader[joined] = cluster[answer > 0]
        self.alone[joined] = False

    def pairs(self) -> None:
        """Join vertices that are alone and whose heaviest arc leads to the same vertex, two and two."""
        rows = self.rows
        arcs = np.flatnonzero(self.usable & self.alone[self.sources])
        vertex, target = self.sources[arcs].astype(np.int64), rows.targets[arcs].astype(np.int64)
        target = np.concatenate([rows.ids, rows.ghosts])[target]
        vertex, target, mine, theirs = self._chosen(vertex, target, ~target, self.weights[arcs])
        near, who, load = rows.member.exchange(mine, theirs, target, vertex + rows.first, rows.loads[vertex])
        order = np.lexsort((who, near))
        ascending = near[order]
        position = np.arange(len(near)) - np.searchsorted(ascending, ascending)
        first, second = order[:-1], order[1:]
        pair = (near[first] == near[second]) & (position[:-1] % 2 == 0)
        pair &= load[first] + load[second] <= self.most
        partner = who.copy()
        partner[second[pair]] = who[first[pair]]
        (answer,) = rows.member.exchange(theirs, mine, partner)
        self.leader[vertex] = answer


def summed_pairs(first: Int64, second: Int64, weights: Int64) -> tuple[Int64, Int64, Int64]:
    """Return the distinct pairs in order, and the sum of the weights of each."""
    order = np.lexsort((second, first))
    first, second = first[order], second[order]
    if not len(first):
        return first, second, np.empty(0, np.int64)
    new = np.flatnonzero(np.concatenate([[True], (first[1:] != first[:-1]) | (second[1:] != second[:-1])]))
    return first[new], second[new], np.add.reduceat(weights[order], new)


def _draw(numbers: Int64, seed: int) -> Int64:
    """Return random numbers from 0 to 2^62 - 1 that depend on a number and the seed."""
    word = np.uint64(seed % 2**64)
    drawn: Int64 = (hashes_of(numbers.view(np.uint64) ^ word) >> np.uint64(2)).view(np.int64)
    return drawn


@frozen(eq=False)
class Contracted:
    """A coarse graph, and the coarse vertex of every own vertex of the finer one, int64[n]."""

    rows: Rows
    coarse: Int64


def contract_over_ranks(rows: Rows, leader: Int64) -> Contracted:
    """Contract clusters; the coarse vertex lies on the rank of the leader; collective."""
    member = rows.member
    leads = leader == rows.ids
    count = int(np.count_nonzero(leads))
    begins = row_pointers(member.all(count))
    number = np.cumsum(leads) - 1 + begins[member.rank]
    coarse = rows.ask(leader, number)
    everyone = rows.with_ghosts(coarse)
    seen, position = np.unique(everyone, return_inverse=True)
    small = position.astype(np.int32)
    sources, targets = np.repeat(small[: rows.n], np.diff(rows.indptr)), small[rows.targets]
    keep = sources != targets
    weights = np.ascontiguousarray(rows.arc_weights()[keep])
    indptr, columns, sums, _ = csr_from_arcs(len(seen), sources[keep], targets[keep], weights, None)
    assert sums is not None
    tails = seen[np.repeat(np.arange(len(seen)), np.diff(indptr))]
    heads = seen[columns]
    mine = np.diff(np.searchsorted(tails, begins)).astype(np.int64)
    tails, heads, sums = member.exchange(mine, member.counts(mine), tails, heads, sums)
    tails, heads, sums = summed_pairs(tails, heads, sums)
    first = int(begins[member.rank])
    pointers = row_pointers(np.bincount(tails - first, minlength=count))
    slab = Slab(pointers, heads, sums, _summed_loads(rows, coarse, begins, count))
    return Contracted(Rows.of(member, slab), coarse)


def of_coarse(level: Contracted, block: Int32) -> Int32:
    """Return the block of every coarse vertex, which all its vertices share; collective."""
    member, rows = level.rows.member, level.rows
    coarse, position = np.unique(level.coarse, return_index=True)
    mine = rows.owners(coarse)
    number, blocks = member.exchange(mine, member.counts(mine), coarse, block[position].astype(np.int64))
    result = np.empty(rows.n, np.int32)
    result[number - rows.first] = blocks
    return result


def _summed_loads(rows: Rows, coarse: Int64, begins: Int64, count: int) -> Int64:
    clusters, position = np.unique(coarse, return_inverse=True)
    part = np.zeros(len(clusters), np.int64)
    np.add.at(part, position, rows.loads)
    mine = np.diff(np.searchsorted(clusters, begins)).astype(np.int64)
    number, part = rows.member.exchange(mine, rows.member.counts(mine), clusters, part)
    loads = np.zeros(count, np.int64)
    np.add.at(loads, number - begins[rows.member.rank], part)
    return loads


def gathered(rows: Rows) -> CommGraph:
    """Return the whole graph, on every rank; collective."""
    names = np.concatenate([rows.ids, rows.ghosts])
    parts = rows.member.all(
        (np.diff(rows.indptr), names[rows.targets].astype(np.int32), rows.weights, rows.loads)
    )
    degrees, targets, weights, loads = zip(*parts, strict=True)
    counts = np.concatenate(degrees)
    sources = np.repeat(np.arange(len(counts), dtype=np.int32), counts)
    volumes = None if any(own is None for own in weights) else np.concatenate(weights)
    indptr, columns, volumes, _ = csr_from_arcs(len(counts), sources, np.concatenate(targets), volumes, None)
    return CommGraph.of_own(
        indptr, columns, volumes, loads=np.concatenate(loads), undirected=True, meta={"name": "graph"}
    )


def coarsen(rows: Rows, least: int, per_pe: int, seed: int, block: Int32 | None = None) -> list[Contracted]:
    """Return contractions down to about `least` vertices, the finest first; collective."""
    levels: list[Contracted] = []
    load = rows.member.total(int(rows.loads.sum()))
    limit = max(1, min(3 * load // least, per_pe // CLUSTERS_PER_PE))
    seeds = derived_seeds((seed,), MOST_LEVELS)
    while rows.total > 2 * least and len(levels) < MOST_LEVELS:
        most = max(limit, 2 * (load // rows.total) + 1)
        fewest = max(least, rows.total // SHRINK)
        leader = clusters_over_ranks(rows, most, fewest, int(seeds[len(levels)]), block)
        level = contract_over_ranks(rows, leader)
        if level.rows.total > SLOWEST * rows.total:
            break
        if block is not None:
            block = of_coarse(level, block)
        levels.append(level)
        rows = level.rows
    return levels


def best_of_ranks(rows: Rows, solve: Solver, seed: int, history: History) -> Int32:
    """Solve a small graph on every rank with its own seed; return the own part of the best; collective."""
    graph, member = gathered(rows), rows.member
    own_seed = seed if member.rank == 0 else int(derived_seeds((seed, 1), member.size)[member.rank]) >> 1
    pe, cost = solve(graph, own_seed)
    costs = member.all(cost)
    best = costs.index(min(costs))
    history.first_costs += costs
    chosen: Int32 = member.all(pe if member.rank == best else None)[best]
    return chosen[rows.first : rows.first + rows.n]
