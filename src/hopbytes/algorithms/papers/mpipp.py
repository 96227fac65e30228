"""MPIPP: exchanges of tasks in random mappings."""

from __future__ import annotations

from functools import partial
from typing import ClassVar

import numpy as np

from hopbytes._arrays import Int32, Int64
from hopbytes._frozen import frozen
from hopbytes.algorithms.base import Bounds, Effort, Mapper, mappers
from hopbytes.algorithms.papers.locked_passes import LockedPasses
from hopbytes.algorithms.shared.quotient_graph import with_isolated
from hopbytes.algorithms.shared.sequential_assignment import fill_in_order, random_order
from hopbytes.cost.objectives.comm_cost import CommCost
from hopbytes.engine import interruptible
from hopbytes.errors import UnsupportedError
from hopbytes.kernels.best_swap import best_swap
from hopbytes.kernels.records import Csr
from hopbytes.model.allocation import Allocation
from hopbytes.model.comm_graph import CommGraph

#: Limit of the entries of the tables of n x k and k x k numbers, 8 bytes each.
MOST_ENTRIES = 2**27


@mappers.register("mpipp")
@frozen
class Mpipp(Mapper):
    """Improve random mappings by repeating the best exchange of two tasks; return the best result.

    Parameters
    ----------
    starts : int
        Number of random mappings to start from: 1 and 5 are MPIPP.1 and MPIPP.5 of the TreeMatch paper.
    free : bool
        Exchange tasks with free PEs, too, if there are fewer tasks than PEs and the caller does not prescribe
        the PEs. The paper exchanges only the cores of two processes: with ``free=no`` the start uses random
        PEs of the machine, and the search stays on them.
    passes : bool
        Make passes as in the original (:class:`hopbytes.algorithms.papers.locked_passes.LockedPasses`): in a
        pass every task moves once, also at a loss, and the best prefix is kept. This is feasible for a few
        hundred tasks.

    Raises
    ------
    UnsupportedError
        If there are more than 2^27 pairs of a task and a PE.

    Notes
    -----
    Chen et al., "MPIPP: an automatic profile-guided parallel process mapping toolset" (ICS 2006), as
    Jeannot and Mercier (Euro-Par 2010) describe it: the search stops when no single exchange has a gain. If
    neither the pattern nor the distances are symmetric, the mean of the two directions is used for both.
    """

    starts: int = 1
    free: bool = True
    passes: bool = False
    chooses_slots: ClassVar[bool] = True

    def map(self, graph: CommGraph, where: Allocation, bounds: Bounds, effort: Effort) -> Int32:
        """Return int32[n], the PE of every task."""
        if max(graph.n, where.k) * where.k > MOST_ENTRIES:
            raise UnsupportedError(
                f"mapper 'mpipp': {graph.n} tasks on {where.k} PEs, expected at most {MOST_ENTRIES} pairs"
            )
        table = _symmetric(where.distance.matrix())
        everywhere = graph.n < where.k and not bounds.exact and bounds.linear_cost is None
        cost, best = CommCost(), None
        for start in range(max(1, self.starts)):
            seed = (effort.seed + start * 0x9E3779B97F4A7C15) % 2**64
            if everywhere:  # tasks that do not exist represent the free PEs
                pe = random_order(where.k, seed).astype(np.int32)[: None if self.free else graph.n]
            else:
                pe = fill_in_order(graph, bounds, random_order(graph.n, seed))
            pe = self._improved(graph.symmetric_positive(), table, pe, effort)[: graph.n]
            if best is None or cost.value(graph, where, pe) < cost.value(graph, where, best):
                best = pe
            if effort.used_up:
                break
        assert best is not None
        return best

    def _improved(self, csr: Csr, table: Int64, pe: Int32, effort: Effort) -> Int32:
        tasks, csr, n = len(csr.indptr) - 1, with_isolated(csr, len(pe)), len(pe)
        if self.passes:
            return self._by_passes(LockedPasses(csr, table, tasks), pe, effort)
        each = max(64, n)  # number of exchanges between two checks of the limits
        control = effort.run_control()
        while not effort.used_up and n > 1:
            flag = control.flag()
            search = partial(best_swap, csr, table, pe, each, flag)
            pe, made = interruptible(search, flag, control, n * n)
            effort.count(exchanges=made)
            effort.spend(n * (n + made), whole=not flag[0])
            if made < each:
                break
        return pe


    def _by_passes(self, search: LockedPasses, pe: Int32, effort: Effort) -> Int32:
        saved, pairs = 1, len(pe) ** 2

        def ended() -> bool:
            if effort.used_up:
                return True
            effort.spend(pairs)  # each exchange compares all pairs, so one pass may use up the limit
            return False

        while saved > 0 and not effort.used_up:
            effort.spend(pairs)
            pe, saved, made = search.once(pe, ended)
            effort.count(exchanges=made, passes=1)
        return pe


def _symmetric(table: Int64) -> Int64:
    return table if np.array_equal(table, table.T) else table + table.T
