"""Refinement of a mapping over all processes: every process searches on its own rows, with exact gains."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from hopbytes._arrays import Bool, Int32, Int64
from hopbytes._frozen import frozen
from hopbytes.algorithms.balancer import meet_bounds
from hopbytes.cost.objectives.comm_cost import arcs_distance_sum
from hopbytes.engine import RefinementSettings, SearchProblem, SearchSettings, refine_placement
from hopbytes.engine.control import RunControl
from hopbytes.kernels import csr_from_arcs
from hopbytes.kernels.linear_cost import held
from hopbytes.kernels.records import Csr, Distances
from hopbytes.model.allocation import Allocation
from hopbytes.model.capacities import group_sums
from hopbytes.model.comm_graph import CommGraph
from hopbytes.mpi.distributed.coarsening import (
    Contracted,
    clusters_over_ranks,
    contract_over_ranks,
    gathered,
    of_coarse,
)
from hopbytes.mpi.distributed.mapping import cost_over_ranks
from hopbytes.mpi.distributed.rows import Rows
from hopbytes.util.random_numbers import derived_seeds

#: Local search on a rank: flows between pairs of blocks as well.
SEARCH = RefinementSettings(cycles=0, search=SearchSettings(flow_rounds=1, flow_width=4))
#: Hops from the boundary within which vertices may move.
BAND = 12


@frozen(eq=False)
class Target:
    """Distances of the PEs as searches take them, and the maximum load of each PE."""

    distances: Distances
    caps: Int64

    @property
    def k(self) -> int:
        """Number of PEs."""
        return len(self.caps)


def refine_over_ranks(rows: Rows, pe: Int32, target: Target, turn: int, seed: int) -> tuple[Int32, int]:
    """Return the PEs of own vertices after every rank has searched once, and how many moved; collective.

    Of two neighbours on different ranks only the one on the rank with precedence may move, so that the gains
    of all ranks add up exactly: J never rises. The free room of a PE is divided among the ranks that could
    use it, so that bounds hold exactly whatever the others do; what a rank moves away is its own room. One
    vertex of every PE stays, so that no PE becomes empty. What cannot move is contracted to a vertex per PE.
    """
    around = rows.with_ghosts(pe.astype(np.int64)).astype(np.int32)
    free = _without_precedence(rows, turn) & _near_boundary(rows, around)
    free[_keepers(rows, pe, target.k)] = False
    room = shares(rows, around, pe, target, turn)
    if not np.any(free):
        return pe, 0
    vertices = np.flatnonzero(free)
    problem, start = _local_problem(rows, around, vertices, target)
    stay = group_sums(pe[~free], rows.loads[~free], target.k)
    found, _ = refine_placement(
        problem, start, room - stay, SEARCH, control=RunControl(seed=(seed + rows.member.rank) % 2**63)
    )
    after = pe.copy()
    after[vertices] = found[: len(vertices)]
    return after, int(np.count_nonzero(after != pe))


def shares(rows: Rows, around: Int32, pe: Int32, target: Target, turn: int) -> Int64:
    """Return int64[k], the load that own vertices may have on each PE; over all ranks that is within caps.

    An overload is first to be moved away by the ranks of lowest number.
    """
    member = rows.member
    own = group_sums(pe, rows.loads, target.k)
    room = target.caps - member.summed(own)
    wanted = np.zeros(target.k, np.int64)
    wanted[around] = 1
    count, before = member.summed(wanted), member.before(wanted)
    place = np.where(count > 0, (before + turn) % np.maximum(count, 1), 0)
    share, rest = np.divmod(np.maximum(room, 0), np.maximum(count, 1))
    extra = np.where(wanted > 0, share + (place < rest), 0)
    over = np.maximum(-room, 0)
    if int(over.max(initial=0)) > 0:
        own = own - np.clip(over - member.before(own), 0, own)
    else:
        member.before(own)
    return own + extra


def _without_precedence(rows: Rows, turn: int) -> Bool:
    """Tell which own vertices have no neighbour on a rank with precedence: the higher one in even turns."""
    owner = np.searchsorted(rows.begins, rows.ghosts, "right") - 1
    first = owner > rows.member.rank if turn % 2 == 0 else owner < rows.member.rank
    held_back = np.concatenate([np.zeros(rows.n, np.bool_), first])
    free = np.ones(rows.n, np.bool_)
    free[rows.sources()[held_back[rows.targets]]] = False
    return free


def _near_boundary(rows: Rows, around: Int32) -> Bool:
    """Tell which own vertices are within BAND hops, of own vertices, from another PE."""
    sources, targets = rows.sources(), rows.targets
    near = np.zeros(len(around), np.bool_)
    near[sources[around[sources] != around[targets]]] = True
    for _ in range(BAND):
        near[sources[near[targets]]] = True
    return near[: rows.n]


def _keepers(rows: Rows, pe: Int32, k: int) -> Int64:
    """Return own vertices that must stay: one for every PE, on the lowest rank that holds some of it."""
    own = np.bincount(pe, minlength=k).astype(np.int64)
    mine = (rows.member.before(own) == 0) & (own > 0)
    some = np.full(k, -1, np.int64)
    some[pe] = np.arange(rows.n)
    found: Int64 = some[mine]
    return found


def _local_problem(
    rows: Rows, around: Int32, vertices: Int64, target: Target
) -> tuple[SearchProblem, Int32]:
    """Return the graph of the vertices that may move, with one fixed vertex per PE around them."""
    count = len(vertices)
    number = np.full(len(around), -1, np.int32)
    number[vertices] = np.arange(count)
    sources = rows.sources()
    arcs = np.flatnonzero(number[sources] >= 0)
    tails, heads = number[sources[arcs]], rows.targets[arcs]
    weights = np.ascontiguousarray(rows.arc_weights()[arcs])
    outside = number[heads] < 0
    pes, anchor = np.unique(around[heads[outside]], return_inverse=True)
    ends = number[heads]
    ends[outside] = count + anchor
    n = count + len(pes)
    indptr, columns, sums, _ = csr_from_arcs(
        n, np.concatenate([tails, ends[outside]]), np.concatenate([ends, tails[outside]]),
        np.concatenate([weights, weights[outside]]), None,
    )
    loads = np.concatenate([rows.loads[vertices], np.zeros(len(pes), np.int64)])
    start = np.concatenate([around[vertices], pes]).astype(np.int32)
    fixed = np.arange(n) >= count
    linear = held(None, fixed, start) if len(pes) else None
    return SearchProblem(Csr(indptr, columns, sums), loads, target.distances, linear), start


#: Largest factor between two levels, the share of vertices at which coarsening ends, and the most levels.
SHRINK, SLOWEST, MOST_LEVELS = 3, 0.95, 60
#: A cluster has at most this share of the load of a PE, so that PEs can be filled evenly.
CLUSTERS_PER_PE = 4
#: Turns of refinement per level, and of repair where the bounds do not hold.
TURNS, REPAIRS = 2, 12

#: A mapping of a small graph for a seed, and its cost.
Solver = Callable[[CommGraph, int], tuple[Int32, int]]


@dataclass(slots=True)
class Course:
    """What happened, the same on all processes: vertices and costs of levels, costs of first solutions."""

    levels: list[int] = field(default_factory=list)
    history: list[int] = field(default_factory=list)
    first_costs: list[int] = field(default_factory=list)
    moves: int = 0

    def told(self) -> dict[str, Any]:
        """Return it for reports."""
        return asdict(self)


def coarsen(rows: Rows, least: int, per_pe: int, seed: int, block: Int32 | None = None) -> list[Contracted]:
    """Return contractions down to about `least` vertices, the finest first; collective."""
    levels: list[Contracted] = []
    load = rows.member.total(int(rows.loads.sum()))
    limit = max(1, min(3 * load // least, per_pe // CLUSTERS_PER_PE))
    seeds = derived_seeds((seed,), MOST_LEVELS)
    while rows.total > 2 * least and len(levels) < MOST_LEVELS:
        most = max(limit, 2 * (load // rows.total) + 1)
        leader = clusters_over_ranks(
            rows, most, max(least, rows.total // SHRINK), int(seeds[len(levels)]), block
        )
        found = contract_over_ranks(rows, leader)
        if found.rows.total > SLOWEST * rows.total:
            break
        if block is not None:
            block = of_coarse(found, block)
        levels.append(found)
        rows = found.rows
    return levels


def best_of_ranks(rows: Rows, solve: Solver, seed: int, course: Course) -> Int32:
    """Solve a small graph on every rank with its own seed; return the own part of the best; collective."""
    graph, member = gathered(rows), rows.member
    own_seed = seed if member.rank == 0 else int(derived_seeds((seed, 1), member.size)[member.rank]) >> 1
    pe, cost = solve(graph, own_seed)
    costs = member.all(cost)
    best = costs.index(min(costs))
    course.first_costs += costs
    chosen: Int32 = member.all(pe if member.rank == best else None)[best]
    return chosen[rows.first : rows.first + rows.n]


def uncoarsen(
    rows: Rows, levels: list[Contracted], pe: Int32, target: Target, where: Allocation, course: Course
) -> Int32:
    """Return int32[n], a mapping of the coarsest graph after refinement on all finer ones; collective."""
    fine = [rows, *(level.rows for level in levels)]
    for number in range(len(levels), -1, -1):
        if number < len(levels):
            coarse = fine[number + 1]
            pe = coarse.ask(levels[number].coarse, pe.astype(np.int64)).astype(np.int32)
        pe = refined(fine[number], pe, target, where, course, turns=TURNS if number < len(levels) else 0)
    return pe


def refined(
    rows: Rows, pe: Int32, target: Target, where: Allocation, course: Course, *, turns: int = TURNS
) -> Int32:
    """Repair the bounds of a mapping and lower its cost; collective."""
    pe = repaired(rows, pe, target, where)
    cost = cost_over_ranks(rows, where, pe)
    for turn in range(turns if where.k > 1 else 0):
        found = refine_band(rows, pe, target, where, turn)
        tried, moved = found or refine_over_ranks(rows, pe, target, turn, turn)
        now = cost_over_ranks(rows, where, tried)
        if now > cost:  # only where the search had to round volumes or distances
            break
        pe, cost = tried, now
        course.moves += rows.member.total(moved)
        if found is not None:
            break
    course.levels.append(rows.total)
    course.history.append(cost)
    return pe


def repaired(rows: Rows, pe: Int32, target: Target, where: Allocation) -> Int32:
    """Move tasks off overfull PEs, within the rooms that the ranks agree on; collective."""
    no_arcs = np.zeros(rows.n + 1, np.int64)
    alone = CommGraph.of_own(no_arcs, np.empty(0, np.int32), loads=rows.loads.copy(), undirected=True)
    for turn in range(REPAIRS):
        loads: Int64 = rows.member.summed(group_sums(pe, rows.loads, target.k))
        if bool(np.all(loads <= target.caps)):
            break
        room = shares(rows, np.arange(target.k, dtype=np.int32), pe, target, turn)
        pe = meet_bounds(alone, where, pe, rows.loads, room).pe
    return pe


#: Vertices of a band at most, and hops from the cuts within which they lie, at least and at most.
LARGEST, LEAST_HOPS, MOST_HOPS = 40_000, 2, 40
BAND_SEARCH = RefinementSettings(cycles=0, search=SearchSettings(flow_rounds=1, flow_width=4))


def refine_band(
    rows: Rows, pe: Int32, target: Target, where: Allocation, seed: int
) -> tuple[Int32, int] | None:
    """Return the PEs of own vertices after a refinement of the band, and how many moved; collective.

    Every process gets the graph of the band, in which one vertex per PE stands for all others, and searches
    with a seed of its own. O(LARGEST) memory and O((n + m) / P) work per hop besides the search.

    Source: after Chevalier and Pellegrini, "PT-Scotch: a tool for efficient parallel graph ordering", 2008.
    """
    around = rows.with_ghosts(pe.astype(np.int64)).astype(np.int32)
    near = _band(rows, around)
    if near is None:
        return None
    graph, loads, start, mine = _gathered_band(rows, around, near, target)
    count = len(loads) - target.k
    fixed = np.arange(len(loads)) >= count
    problem = SearchProblem(graph, loads, target.distances, held(None, fixed, start))
    stay = rows.member.summed(group_sums(pe[~near], rows.loads[~near], target.k))
    own_seed = int(derived_seeds((seed, 3), rows.member.size)[rows.member.rank])
    found, _ = refine_placement(
        problem, start, target.caps - stay, BAND_SEARCH, control=RunControl(seed=own_seed)
    )
    costs = rows.member.all(arcs_distance_sum(graph, where, found))
    best = costs.index(min(costs))
    chosen = rows.member.all(found if best == rows.member.rank else None)[best]
    after = pe.copy()
    after[near] = chosen[mine]
    return after, int(np.count_nonzero(after != pe))


def _band(rows: Rows, around: Int32) -> Bool | None:
    """Tell which own vertices lie in the band, which grows until it would be too large."""
    sources, targets = rows.sources(), rows.targets
    near = np.zeros(rows.n, np.bool_)
    near[sources[around[sources] != around[targets]]] = True
    before = near
    for hops in range(MOST_HOPS + 1):
        if rows.member.total(int(np.count_nonzero(near))) > LARGEST:
            return None if hops <= LEAST_HOPS else before
        before = near.copy()
        reached = rows.with_ghosts(near.astype(np.int64)) > 0
        near[sources[reached[targets]]] = True
    found: Bool = before
    return found


def _gathered_band(
    rows: Rows, around: Int32, near: Bool, target: Target
) -> tuple[Csr, Int64, Int32, slice]:
    """Return graph, loads and PEs of the band, one vertex per PE at the end, and the place of own ones."""
    member = rows.member
    vertices = np.flatnonzero(near)
    counts = member.all(len(vertices))
    total, first = sum(counts), sum(counts[: member.rank])
    number = np.full(rows.n, -1, np.int64)
    number[vertices] = first + np.arange(len(vertices))
    known = rows.with_ghosts(number)
    sources = rows.sources()
    arcs = np.flatnonzero(near[sources])
    heads = rows.targets[arcs]
    ends = np.where(known[heads] >= 0, known[heads], total + around[heads])
    parts = member.all((
        number[sources[arcs]].astype(np.int32), ends.astype(np.int32), rows.arc_weights()[arcs].copy(),
        rows.loads[vertices], around[vertices],
    ))  # fmt: skip
    tails, ends, weights, loads, pe = (np.concatenate(column) for column in zip(*parts, strict=True))
    out = ends >= total
    n = total + target.k
    indptr, columns, sums, _ = csr_from_arcs(
        n, np.concatenate([tails, ends[out]]), np.concatenate([ends, tails[out]]),
        np.concatenate([weights, weights[out]]), None,
    )
    loads = np.concatenate([loads, np.zeros(target.k, np.int64)])
    pe = np.concatenate([pe, np.arange(target.k, dtype=np.int32)])
    return Csr(indptr, columns, sums), loads, pe, slice(first, first + len(vertices))
