"""Coarsening over all processes, a first solution on each of them, and refinement on the way back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from hopbytes._arrays import Int32, Int64
from hopbytes.algorithms.balancer import meet_bounds
from hopbytes.model.allocation import Allocation
from hopbytes.model.capacities import group_sums
from hopbytes.model.comm_graph import CommGraph
from hopbytes.mpi.distributed.check_slab import cost_over_ranks
from hopbytes.mpi.distributed.rank_band import refine_band
from hopbytes.mpi.distributed.rank_clusters import clusters_over_ranks
from hopbytes.mpi.distributed.rank_contraction import (
    Contracted,
    contract_over_ranks,
    gathered,
    of_coarse,
)
from hopbytes.mpi.distributed.rank_moves import Target, refine_over_ranks, shares
from hopbytes.mpi.distributed.slab import Rows
from hopbytes.util.random_numbers import derived_seeds

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
