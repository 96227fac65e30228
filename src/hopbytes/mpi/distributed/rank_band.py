"""The band around the cuts of a mapping, refined as one graph on every process; the best result counts."""

from __future__ import annotations

import numpy as np

from hopbytes._arrays import Bool, Int32, Int64
from hopbytes.cost.objectives.comm_cost import arcs_distance_sum
from hopbytes.engine import RefinementSettings, SearchProblem, SearchSettings, refine_placement
from hopbytes.engine.control import RunControl
from hopbytes.kernels import csr_from_arcs
from hopbytes.kernels.linear_cost import held
from hopbytes.kernels.records import Csr
from hopbytes.model.allocation import Allocation
from hopbytes.model.capacities import group_sums
from hopbytes.mpi.distributed.rank_moves import Target
from hopbytes.mpi.distributed.slab import Rows
from hopbytes.util.random_numbers import derived_seeds

#: Vertices of a band at most, and hops from the cuts within which they lie, at least and at most.
LARGEST, LEAST_HOPS, MOST_HOPS = 40_000, 2, 40
SEARCH = RefinementSettings(cycles=0, search=SearchSettings(flow_rounds=1, flow_width=4))


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
        problem, start, target.caps - stay, SEARCH, control=RunControl(seed=own_seed)
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
