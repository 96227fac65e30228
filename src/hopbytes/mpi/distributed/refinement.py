"""Refinement of a mapping over all processes: every process searches on its own rows, with exact gains."""

from __future__ import annotations

from collections import deque

import numpy as np

from hopbytes._arrays import Bool, Int32, Int64
from hopbytes._frozen import frozen
from hopbytes.algorithms.balancer import meet_bounds
from hopbytes.cost.objectives.comm_cost import arcs_distance_sum
from hopbytes.engine.control import RunControl
from hopbytes.engine.partition import RefinementSettings, refine_placement
from hopbytes.engine.problem import SearchProblem, SearchSettings
from hopbytes.kernels import csr_from_arcs
from hopbytes.kernels.linear_cost import held
from hopbytes.kernels.records import Csr, Distances
from hopbytes.model.allocation import Allocation
from hopbytes.model.capacities import group_sums
from hopbytes.model.comm_graph import CommGraph
from hopbytes.mpi.distributed.coarsening import Contracted, History, summed_pairs
from hopbytes.mpi.distributed.rows import Rows, cost_over_ranks
from hopbytes.util.random_numbers import derived_seeds

#: Search on a rank or in the band: flows between pairs of blocks as well.
SEARCH = RefinementSettings(cycles=0, search=SearchSettings(flow_rounds=1, flow_width=4))
#: Hops from the boundary within which vertices may move in a search on a rank.
NEAR = 12
#: Vertices of a band at most, and hops from the cuts within which they lie, at least and at most.
LARGEST, LEAST_HOPS, MOST_HOPS = 40_000, 2, 40
#: Coarse levels may exceed bounds so tight that less than one part in so many of all load is free.
SLACK = 200
#: PEs up to which tasks are moved along chains of PEs.
FEW = 256
#: Rounds of refinement per level, and of repair where the bounds do not hold.
ROUNDS, REPAIRS = 2, 12


@frozen(eq=False)
class Target:
    """Distances of the PEs as searches take them, and the maximum load of each PE."""

    distances: Distances
    caps: Int64

    @property
    def k(self) -> int:
        return len(self.caps)

    def loose(self, load: int) -> Target:
        """Return the target of coarse levels, whose heavy vertices need room to be moved at little loss."""
        total = int(self.caps.sum())
        more = max(0, load // SLACK - (total - load))
        parts = max(1, total // max(more, 1))
        return self if more == 0 else Target(self.distances, self.caps + -(-self.caps // parts))


def uncoarsen(
    rows: Rows, levels: list[Contracted], pe: Int32, target: Target, where: Allocation, history: History
) -> Int32:
    """Return int32[n], a mapping of the coarsest graph after refinement on all finer ones; collective."""
    fine = [rows, *(level.rows for level in levels)]
    loose = target.loose(rows.member.total(int(rows.loads.sum())))
    pe = refined(fine[-1], pe, loose if levels else target, where, history, rounds=0)
    for number in range(len(levels) - 1, -1, -1):
        pe = fine[number + 1].ask(levels[number].coarse, pe.astype(np.int64)).astype(np.int32)
        pe = refined(fine[number], pe, loose, where, history)
    if levels and loose is not target:
        pe = refined(rows, pe, target, where, history)
    return pe


def refined(
    rows: Rows, pe: Int32, target: Target, where: Allocation, history: History, *, rounds: int = ROUNDS
) -> Int32:
    """Repair the bounds of a mapping and lower its cost; collective."""
    pe = repaired(rows, pe, target, where)
    cost = cost_over_ranks(rows, where, pe)
    for number in range(rounds if where.k > 1 else 0):
        by_band = refine_band(rows, pe, target, where, number)
        tried, moved = by_band or refine_over_ranks(rows, pe, target, number, number)
        now = cost_over_ranks(rows, where, tried)
        if now > cost:  # only where the search had to round volumes or distances
            break
        pe, cost = tried, now
        history.moves += rows.member.total(moved)
        if by_band is not None:
            break
    history.levels.append(rows.total)
    history.costs.append(cost)
    return pe


def repaired(rows: Rows, pe: Int32, target: Target, where: Allocation) -> Int32:
    """Move tasks off overfull PEs, within the shares that the ranks agree on; collective."""
    if target.k <= FEW and not rows.member.total(int(np.count_nonzero(rows.loads != 1))):
        pe = evened(rows, pe, target)
    no_arcs = np.zeros(rows.n + 1, np.int64)
    alone = CommGraph.of_own(no_arcs, np.empty(0, np.int32), loads=rows.loads.copy(), undirected=True)
    for number in range(REPAIRS):
        loads: Int64 = rows.member.summed(group_sums(pe, rows.loads, target.k))
        if bool(np.all(loads <= target.caps)):
            break
        share = shares(rows, np.arange(target.k, dtype=np.int32), pe, target, number)
        pe = meet_bounds(alone, where, pe, rows.loads, share).pe
    return pe


def evened(rows: Rows, pe: Int32, target: Target) -> Int32:
    """Move tasks of load 1 off overfull PEs, along chains of neighbouring PEs to those with room; collective.

    The processes divide the moves between two PEs in proportion to the arcs that they hold between them, and
    take the tasks of least loss. O(k^2 + m / P) memory.
    """
    member, k = rows.member, target.k
    for _ in range(REPAIRS):
        spare = target.caps - member.summed(np.bincount(pe, minlength=k).astype(np.int64))
        if int(spare.min()) >= 0:
            break
        around = rows.with_ghosts(pe.astype(np.int64))
        vertex, to, weight = summed_pairs(
            rows.sources().astype(np.int64), around[rows.targets], rows.arc_weights()
        )
        inside = np.zeros(rows.n, np.int64)
        own = pe[vertex] == to
        inside[vertex[own]] = weight[own]
        vertex, to, loss = vertex[~own], to[~own], (inside[vertex] - weight)[~own]
        pair = pe[vertex] * np.int64(k) + to
        near = np.bincount(pair, minlength=k * k).astype(np.int64)
        most = member.summed(near)
        flow = _flow(most.reshape(k, k), spare).reshape(-1)
        before, most = member.before(near), np.maximum(most, 1)
        share = flow * (before + near) // most - flow * before // most
        order = np.lexsort((vertex, loss, pair))
        sorted_pair = pair[order]
        place = np.arange(len(order)) - np.searchsorted(sorted_pair, sorted_pair)
        chosen = order[place < share[sorted_pair]]
        chosen = chosen[np.unique(vertex[chosen], return_index=True)[1]]
        pe = pe.copy()
        pe[vertex[chosen]] = to[chosen]
    return pe


def _flow(most: Int64, spare: Int64) -> Int64:
    """Return int64[k, k], moves between PEs, at most `most`: overloads go to the nearest PEs with room."""
    flow, spare = np.zeros_like(most), spare.copy()
    while True:
        reached = np.where(spare < 0, np.arange(len(spare)), -1)
        queue = deque(np.flatnonzero(spare < 0).tolist())
        end = -1
        while queue and end < 0:
            at = queue.popleft()
            for to in np.flatnonzero((flow[at] < most[at]) & (reached < 0)).tolist():
                reached[to] = at
                queue.append(to)
                if spare[to] > 0:
                    end = to
                    break
        if end < 0:
            return flow
        path = [end]
        while spare[path[-1]] >= 0:
            path.append(int(reached[path[-1]]))
        steps = list(zip(path[1:], path, strict=False))
        amount = min(-int(spare[path[-1]]), int(spare[end]), *(int((most - flow)[step]) for step in steps))
        for step in steps:
            flow[step] += amount
        spare[path[-1]] += amount
        spare[end] -= amount


def refine_over_ranks(rows: Rows, pe: Int32, target: Target, number: int, seed: int) -> tuple[Int32, int]:
    """Return the PEs of own vertices after every rank has searched once, and how many moved; collective.

    Of two neighbours on different ranks only the one on the rank with precedence may move, so that the gains
    of all ranks add up exactly: J never rises. The free capacity of a PE is divided among the ranks that
    could use it, so that bounds hold exactly whatever the others do; what a rank moves away it may fill
    itself. One vertex of every PE stays, so that no PE becomes empty. What cannot move is contracted to a
    vertex per PE.
    """
    around = rows.with_ghosts(pe.astype(np.int64)).astype(np.int32)
    free = _without_precedence(rows, number) & _near_boundary(rows, around)
    free[_keepers(rows, pe, target.k)] = False
    share = shares(rows, around, pe, target, number)
    if not np.any(free):
        return pe, 0
    vertices = np.flatnonzero(free)
    problem, start = _local_problem(rows, around, vertices, target)
    stay = group_sums(pe[~free], rows.loads[~free], target.k)
    better, _ = refine_placement(
        problem, start, share - stay, SEARCH, control=RunControl(seed=(seed + rows.member.rank) % 2**63)
    )
    after = pe.copy()
    after[vertices] = better[: len(vertices)]
    return after, int(np.count_nonzero(after != pe))


def shares(rows: Rows, around: Int32, pe: Int32, target: Target, number: int) -> Int64:
    """Return int64[k], the load that own vertices may have on each PE; over all ranks that is within caps."""
    member = rows.member
    own = group_sums(pe, rows.loads, target.k)
    spare = target.caps - member.summed(own)
    wanted = np.zeros(target.k, np.int64)
    wanted[around] = 1
    count, before = member.summed(wanted), member.before(wanted)
    position = np.where(count > 0, (before + number) % np.maximum(count, 1), 0)
    share, rest = np.divmod(np.maximum(spare, 0), np.maximum(count, 1))
    extra = np.where(wanted > 0, share + (position < rest), 0)
    over = np.maximum(-spare, 0)  # moved away by the ranks of lowest number first
    if int(over.max(initial=0)) > 0:
        own = own - np.clip(over - member.before(own), 0, own)
    return own + extra


def _without_precedence(rows: Rows, number: int) -> Bool:
    """Tell which own vertices have no neighbour on a rank with precedence: the higher one in even rounds."""
    owner = np.searchsorted(rows.begins, rows.ghosts, "right") - 1
    first = owner > rows.member.rank if number % 2 == 0 else owner < rows.member.rank
    held_back = np.concatenate([np.zeros(rows.n, np.bool_), first])
    free = np.ones(rows.n, np.bool_)
    free[rows.sources()[held_back[rows.targets]]] = False
    return free


def _near_boundary(rows: Rows, around: Int32) -> Bool:
    """Tell which own vertices are within NEAR hops, of own vertices, from another PE."""
    sources, targets = rows.sources(), rows.targets
    near = np.zeros(len(around), np.bool_)
    near[sources[around[sources] != around[targets]]] = True
    for _ in range(NEAR):
        near[sources[near[targets]]] = True
    return near[: rows.n]


def _keepers(rows: Rows, pe: Int32, k: int) -> Int64:
    """Return own vertices that must stay: one for every PE, on the lowest rank that holds some of it."""
    own = np.bincount(pe, minlength=k).astype(np.int64)
    mine = (rows.member.before(own) == 0) & (own > 0)
    some = np.full(k, -1, np.int64)
    some[pe] = np.arange(rows.n)
    keepers: Int64 = some[mine]
    return keepers


def _local_problem(rows: Rows, around: Int32, vertices: Int64, target: Target) -> tuple[SearchProblem, Int32]:
    """Return the graph of the vertices that may move, with one fixed vertex per PE around them."""
    count = len(vertices)
    number = np.full(len(around), -1, np.int32)
    number[vertices] = np.arange(count)
    sources = rows.sources()
    arcs = np.flatnonzero(number[sources] >= 0)
    heads = rows.targets[arcs]
    ends = number[heads]
    outside = ends < 0
    pes, anchor = np.unique(around[heads[outside]], return_inverse=True)
    ends[outside] = count + anchor
    weights = np.ascontiguousarray(rows.arc_weights()[arcs])
    graph = _with_anchors(count + len(pes), number[sources[arcs]], ends, weights, outside)
    loads = np.concatenate([rows.loads[vertices], np.zeros(len(pes), np.int64)])
    start = np.concatenate([around[vertices], pes]).astype(np.int32)
    linear = held(None, np.arange(len(start)) >= count, start) if len(pes) else None
    return SearchProblem(graph, loads, target.distances, linear), start


def _with_anchors(n: int, tails: Int32, heads: Int32, weights: Int64, outside: Bool) -> Csr:
    """Return the graph of arcs, of which those to outside get an opposite arc as well."""
    indptr, columns, sums, _ = csr_from_arcs(
        n, np.concatenate([tails, heads[outside]]), np.concatenate([heads, tails[outside]]),
        np.concatenate([weights, weights[outside]]), None,
    )
    return Csr(indptr, columns, sums)


def refine_band(
    rows: Rows, pe: Int32, target: Target, where: Allocation, seed: int
) -> tuple[Int32, int] | None:
    """Return the PEs of own vertices after a refinement of the band, and how many moved; collective.

    The band is what lies around the cuts of the mapping. Every process gets its graph, in which one vertex
    per PE stands for all others, and searches with a seed of its own; the best result counts. None if the
    band is too large. O(LARGEST) memory and O((n + m) / P) work per hop besides the search.

    Source: after Chevalier and Pellegrini, "PT-Scotch: a tool for efficient parallel graph ordering", 2008.
    """
    around = rows.with_ghosts(pe.astype(np.int64)).astype(np.int32)
    near = _band(rows, around)
    if near is None:
        return None
    member = rows.member
    graph, loads, start, mine = _gathered_band(rows, around, near, target)
    fixed = np.arange(len(loads)) >= len(loads) - target.k
    problem = SearchProblem(graph, loads, target.distances, held(None, fixed, start))
    stay = member.summed(group_sums(pe[~near], rows.loads[~near], target.k))
    own_seed = int(derived_seeds((seed, 3), member.size)[member.rank])
    better, _ = refine_placement(
        problem, start, target.caps - stay, SEARCH, control=RunControl(seed=own_seed)
    )
    costs = member.all(arcs_distance_sum(graph, where, better))
    best = costs.index(min(costs))
    chosen = member.all(better if best == member.rank else None)[best]
    after = pe.copy()
    after[near] = chosen[mine]
    return after, int(np.count_nonzero(after != pe))


def _band(rows: Rows, around: Int32) -> Bool | None:
    """Tell which own vertices lie in the band, which grows until it would be too large."""
    sources, targets = rows.sources(), rows.targets
    near = np.zeros(rows.n, np.bool_)
    near[sources[around[sources] != around[targets]]] = True
    before: Bool = near
    for hops in range(MOST_HOPS + 1):
        if rows.member.total(int(np.count_nonzero(near))) > LARGEST:
            return None if hops <= LEAST_HOPS else before
        before = near.copy()
        reached = rows.with_ghosts(near.astype(np.int64)) > 0
        near[sources[reached[targets]]] = True
    return before


def _gathered_band(rows: Rows, around: Int32, near: Bool, target: Target) -> tuple[Csr, Int64, Int32, slice]:
    """Return graph, loads and PEs of the band, one vertex per PE at the end, and the range of own ones."""
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
    graph = _with_anchors(total + target.k, tails, ends, weights, ends >= total)
    loads = np.concatenate([loads, np.zeros(target.k, np.int64)])
    pe = np.concatenate([pe, np.arange(target.k, dtype=np.int32)])
    return graph, loads, pe, slice(first, first + len(vertices))
