"""Exchanges over pairs of tasks of a neighbourhood, one at a time or in chains."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from hopbytes._arrays import Int32
from hopbytes._frozen import frozen
from hopbytes.algorithms.base import MILLION, Allowed, Bounds, Effort, Refiner, refiners
from hopbytes.algorithms.shared.search_distances import cheaper, search_problem
from hopbytes.algorithms.shared.sequential_assignment import random_order
from hopbytes.engine.slots import chain_search, pair_search
from hopbytes.errors import UnsupportedError
from hopbytes.kernels.records import ALL_PAIRS, BLOCKS, LISTED_PAIRS, NEAR_PAIRS, Csr
from hopbytes.model.allocation import Allocation
from hopbytes.model.comm_graph import CommGraph

#: Largest number of arcs that are scanned to list pairs at one more edge of distance.
MOST_SCANNED = 2**28


@refiners.register("n_square")
@frozen
class NSquare(Refiner):
    """Try all pairs of tasks in cyclic order until none gains: the neighbourhood N^2.

    The order is that of Heider (1972): the pair (i, j) is followed by (i, j + 1), and the last j by
    (i + 1, i + 2). The search ends after n(n-1)/2 consecutive pairs without a gain. Pairs inside an innermost
    unit of a tree are skipped. A gain takes O(degree) and is computed before an exchange is made. A round has
    O(n^2) pairs, so the refiner is feasible for a few thousand tasks.
    """

    def refine(self, graph: CommGraph, where: Allocation, pe: Int32, bounds: Bounds, effort: Effort) -> Int32:
        return search_pairs(ALL_PAIRS, graph, where, pe, bounds, effort)


@refiners.register("n_p")
@frozen
class NP(Refiner):
    """Try all pairs inside blocks of consecutive tasks: the pruned neighbourhood N_p.

    The neighbourhood is that of Brandfass, Alrutz and Gerhold (2013). The blocks are searched one after the
    other as by the refiner ``n_square``, until a round over all blocks has no gain. O(n x block) pairs per
    round.
    """

    allowed: ClassVar[Allowed] = {"block": range(2, 2**31)}
    block: int = 64  #: number of tasks per block, at least 2; the last block may be smaller

    def refine(self, graph: CommGraph, where: Allocation, pe: Int32, bounds: Bounds, effort: Effort) -> Int32:
        return search_pairs(BLOCKS, graph, where, pe, bounds, effort, reach=self.block)


@refiners.register("n_cd")
@frozen
class NCd(Refiner):
    """Try pairs of tasks at most `d` edges apart in the communication graph: the neighbourhood N_C^d.

    The neighbourhood is that of Schulz and Träff (2017). With ``order=tasks`` it is enumerated when a task is
    visited and never stored. Tasks are first visited in random order. A pair without a gain is tried again
    only after an exchange has changed the cost of one of its tasks: those of the exchanged tasks and of their
    neighbours, so that the result is a true local optimum. ``order=pairs`` is the search of the paper, which
    tries the pairs in random order, again and again, and stops after as many consecutive failures as there
    are pairs: also a local optimum. KaHIP, the paper's program, tries again only pairs of exchanged tasks.
    """

    allowed: ClassVar[Allowed] = {"d": range(1, 2**31), "order": ("tasks", "pairs")}
    d: int = 10  #: maximum distance of two tasks in edges, at least 1
    #: ``tasks``: task by task from a queue, in O(n) memory. ``pairs``: one random order of all pairs as in
    #: the paper, in O(pairs) memory.
    order: str = "tasks"

    def refine(self, graph: CommGraph, where: Allocation, pe: Int32, bounds: Bounds, effort: Effort) -> Int32:
        if self.order == "pairs":
            pairs = _near_pairs(graph.symmetric_positive(effort.threads), self.d)
            turns = pairs[random_order(len(pairs), effort.seed)].reshape(-1)
            return search_pairs(LISTED_PAIRS, graph, where, pe, bounds, effort, order=turns)
        order = random_order(graph.n, effort.seed).astype(np.int32)
        return search_pairs(NEAR_PAIRS, graph, where, pe, bounds, effort, reach=self.d, order=order)


def _near_pairs(csr: Csr, d: int) -> Int32:
    """Return int32[pairs, 2], the pairs u < v of vertices at most `d` edges apart, sorted."""
    from scipy.sparse import csr_array, eye_array

    ones = np.ones(len(csr.targets), bool)
    step = csr_array((ones, csr.targets, csr.indptr), shape=(csr.n, csr.n)) + eye_array(csr.n, dtype=bool)
    near, degree = step, np.diff(step.indptr)
    for _ in range(d - 1):
        scanned = int(degree[near.indices].sum())
        if scanned > MOST_SCANNED:
            what = f"more than {MOST_SCANNED} arcs lead to tasks at most d={d} edges apart"
            raise UnsupportedError(f"order=pairs: {what}, expected a smaller d, or order=tasks")
        further = near @ step
        if further.nnz == near.nnz:
            break
        near = further
    near.sort_indices()
    sources = np.repeat(np.arange(csr.n, dtype=np.int32), np.diff(near.indptr))
    later = sources < near.indices
    return np.column_stack([sources[later], near.indices[later]]).astype(np.int32)


def search_pairs(
    kind: int, graph: CommGraph, where: Allocation, pe: Int32, bounds: Bounds, effort: Effort,
    reach: int = 0, order: Int32 | None = None,
) -> Int32:
    """Run one search, count its work, and return a mapping that costs no more."""
    if where.k < 2 or graph.n < 2:
        return pe
    found = pair_search(
        kind, search_problem(graph, where, bounds), pe, bounds.room(graph.n), reach=reach, order=order,
        control=effort.run_control(),
    )
    effort.count(swaps_evaluated=found.evaluations, swaps=found.swaps)
    return cheaper(graph, where, pe, found.pe, bounds.linear_cost)


@refiners.register("chains")
@frozen
class Chains(Refiner):
    """Make the best exchange, lock its tasks, continue with their neighbours; keep the best prefix.

    A chain begins at every task, in random order, and again if a chain nearby had a gain. The candidates of a
    step are exchanges of the neighbours of moved tasks with tasks in the innermost units of their neighbours.
    Kernighan and Lin (1970) proposed such chains for bisections. Here a step costs
    O(degree^3 x tasks of an innermost unit) and not O(n^2).
    """

    #: number of exchanges without a new best state after which a chain ends and returns to its best state
    fruitless_moves: int = 10
    work: int = 1000  #: maximum number of scanned edges, in millions

    def refine(self, graph: CommGraph, where: Allocation, pe: Int32, bounds: Bounds, effort: Effort) -> Int32:
        if where.k < 2 or graph.n < 2 or effort.used_up:
            return pe
        order = random_order(graph.n, effort.seed).astype(np.int32)
        found = chain_search(
            search_problem(graph, where, bounds), pe, bounds.room(graph.n), order,
            self.fruitless_moves, self.work * MILLION, control=effort.run_control(),
        )
        effort.count(swaps_evaluated=found.evaluations, swaps=found.swaps)
        return cheaper(graph, where, pe, found.pe, bounds.linear_cost)
