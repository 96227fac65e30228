"""Exchanges of tasks that are close in the communication graph."""

from __future__ import annotations

import numpy as np

from hopbytes._arrays import Int32
from hopbytes._frozen import frozen
from hopbytes.algorithms.base import Bounds, Effort, Refiner, refiners
from hopbytes.algorithms.papers.pairs import search_pairs
from hopbytes.algorithms.shared.sequential_assignment import random_order
from hopbytes.engine.slots import NEAR_PAIRS
from hopbytes.errors import UnsupportedError
from hopbytes.model.allocation import Allocation
from hopbytes.model.comm_graph import CommGraph
from hopbytes.util.options import check_types


@refiners.register("n_cd")
@frozen
class NCd(Refiner):
    """Try pairs of tasks at most `d` edges apart in the communication graph: the neighbourhood N_C^d.

    Parameters
    ----------
    d : int
        Maximum distance of two tasks in edges, at least 1.

    Raises
    ------
    UnsupportedError
        If ``d`` is below 1.

    Notes
    -----
    The neighbourhood is that of Schulz and Träff (2017). It is enumerated when a task is visited and never
    stored, so memory is O(n) for any `d`. Tasks are first visited in random order. A pair without a gain is
    tried again only after an exchange has changed the cost of one of its tasks: those of the exchanged tasks
    and of their neighbours, so that the result is a true local optimum. The paper tries the pairs in random
    order and stops after as many consecutive failures as there are pairs; its program, KaHIP, tries again
    only pairs of the exchanged tasks.
    """

    d: int = 10

    def __post_init__(self) -> None:
        check_types(self)
        if self.d < 1:
            raise UnsupportedError(f"d={self.d}, expected an integer >= 1")

    def refine(self, graph: CommGraph, where: Allocation, pe: Int32, bounds: Bounds, effort: Effort) -> Int32:
        """Return a mapping that no exchange of two tasks within distance `d` improves."""
        order = random_order(graph.n, effort.seed).astype(np.int32)
        return search_pairs(NEAR_PAIRS, graph, where, pe, bounds, effort, reach=self.d, order=order)
