"""The mapper ``rcm``: tasks in reverse Cuthill-McKee order."""

from __future__ import annotations

import numpy as np

from hopbytes import kernels
from hopbytes._arrays import Int32
from hopbytes._frozen import frozen
from hopbytes.algorithms.base import Bounds, Effort, Mapper, mappers
from hopbytes.algorithms.shared.sequential_assignment import fill_in_order
from hopbytes.model.allocation import Allocation
from hopbytes.model.comm_graph import CommGraph


@mappers.register("rcm")
@frozen
class Rcm(Mapper):
    """Assign tasks in reverse Cuthill-McKee order like `identity`, so that neighbours are close together.

    Notes
    -----
    The order (Cuthill and McKee, 1969) depends on which tasks communicate, but not on their volumes.
    O(n log n + m log m).
    """

    def map(self, graph: CommGraph, where: Allocation, bounds: Bounds, effort: Effort) -> Int32:
        """Return blocks of the reordered task list, in machine order."""
        if graph.n == 0:
            return np.empty(0, np.int32)
        order = kernels.reverse_cuthill_mckee(graph.symmetric_positive())
        return fill_in_order(graph, bounds, order.astype(np.int64))
