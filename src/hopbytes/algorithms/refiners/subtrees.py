"""Exchanges of all tasks of two units of the machine (nodes, packages, caches), level by level."""

from __future__ import annotations

import numpy as np

from hopbytes._arrays import Int32
from hopbytes._frozen import frozen
from hopbytes.algorithms.base import Bounds, Effort, Refiner, refiners
from hopbytes.algorithms.shared.quotient_graph import quotient_csr
from hopbytes.algorithms.shared.search_distances import cheaper, search_problem
from hopbytes.algorithms.shared.unit_distances import Units, units_of
from hopbytes.engine import SearchProblem, SwapSettings, swap_refine
from hopbytes.model.allocation import Allocation
from hopbytes.model.comm_graph import CommGraph


@refiners.register("subtrees")
@frozen
class Subtrees(Refiner):
    """Exchange the tasks of whole units, from the outermost level inwards and back, then of single PEs.

    Parameters
    ----------
    passes : int
        Maximum number of passes from the outermost level inwards and back. A level is skipped if nothing
        has changed since its last search.
    all_pairs_up_to : int
        With at most so many units on a level every pair of them is tried until none gains; with more,
        units near those of neighbours are tried (see the refiner ``swap``, option `neighbourhood`).
    singles : bool
        Exchange single tasks at the innermost point of a pass, too, if every PE has one task.

    Notes
    -----
    The tasks of a unit are contracted to one vertex and vertices are exchanged, so the distances inside the
    two units do not change. For this reason only units of the same structure with the same room are
    exchanged. Exchanges of children of the same unit have no effect. Schulz and Träff (2017) name such
    exchanges as future work. O(levels x (n + m)) plus the exchanges. On machines without levels (``table:``)
    only single tasks are exchanged.
    """

    passes: int = 2
    all_pairs_up_to: int = 1024
    singles: bool = True

    def refine(self, graph: CommGraph, where: Allocation, pe: Int32, bounds: Bounds, effort: Effort) -> Int32:
        """Return a mapping that costs no more."""
        if where.k < 2 or graph.n < 2:
            return pe
        levels: list[Units | None] = list(units_of(where, bounds))
        if bounds.exact and self.singles:  # without exact counts other refiners move single tasks
            levels.append(None)
        now, changes, searched = pe, 0, [-1] * len(levels)
        for _ in range(self.passes):
            if effort.used_up or all(last == changes for last in searched):
                break
            for at in [*range(len(levels)), *range(len(levels) - 2, -1, -1)]:
                if effort.used_up or searched[at] == changes:
                    continue  # nothing has changed since the last search of this level
                units = levels[at]
                if units is None:
                    moved = self._tasks(graph, where, now, bounds, effort)
                else:
                    moved = self._units(graph, where, now, bounds, effort, units)
                changes += not np.array_equal(moved, now)
                now, searched[at] = moved, changes
        return cheaper(graph, where, pe, now, bounds.linear_cost)

    def _tasks(
        self, graph: CommGraph, where: Allocation, pe: Int32, bounds: Bounds, effort: Effort
    ) -> Int32:
        """Return the mapping after exchanges of single tasks."""
        found = swap_refine(
            search_problem(graph, where, bounds), pe, bounds.room(graph.n),
            SwapSettings(all_pairs_up_to=self.all_pairs_up_to), control=effort.run_control(),
        )
        effort.count(swaps_evaluated=found.evaluations, swaps=found.swaps)
        return found.pe

    def _units(
        self, graph: CommGraph, where: Allocation, pe: Int32, bounds: Bounds, effort: Effort, units: Units
    ) -> Int32:
        """Return the mapping after exchanges of units of one level."""
        problem = search_problem(graph, where, bounds)
        linear_cost = problem.linear_cost
        own, kind = units.of_pe(), units.kind
        csr = quotient_csr(problem.csr, own[pe], units.count)
        if linear_cost is not None:
            linear_cost, staying = units.linear_cost(linear_cost, pe)
            kind = kind.copy()
            kind[staying] = kind.max() + 1 + np.arange(len(staying))
        # Kinds serve as loads and as maximum loads, so that only units of the same kind can be exchanged.
        found = swap_refine(
            SearchProblem(csr, kind, units.near, linear_cost), np.arange(units.count, dtype=np.int32), kind,
            SwapSettings(all_pairs_up_to=self.all_pairs_up_to), control=effort.run_control(),
        )
        effort.count(swaps_evaluated=found.evaluations, subtree_swaps=found.swaps)
        moved: Int32 = (pe + (units.start[found.pe] - units.start[:-1])[own[pe]]).astype(np.int32)
        return moved
