"""Baseline: tasks are assigned to the nodes in turn."""

from __future__ import annotations

import numpy as np

from hopbytes._arrays import Int32
from hopbytes._frozen import frozen
from hopbytes.algorithms.base import Bounds, Effort, Mapper, mappers
from hopbytes.algorithms.shared.sequential_assignment import room_for
from hopbytes.algorithms.two_level import nodes_of
from hopbytes.errors import UnsupportedError
from hopbytes.model.allocation import Allocation
from hopbytes.model.comm_graph import CommGraph
from hopbytes.util.options import check_types


@mappers.register("round_robin")
@frozen
class RoundRobin(Mapper):
    """Assign tasks in their own order to the nodes in turn, as launchers do with the option ``cyclic``.

    Parameters
    ----------
    turn : int
        Number of consecutive tasks that a node gets in its turn, >= 1.

    Notes
    -----
    Full nodes are skipped. Within a node PEs are filled in machine order. O(n log n + k).
    """

    turn: int = 1

    def __post_init__(self) -> None:
        check_types(self)
        if self.turn < 1:
            raise UnsupportedError(f"mapper 'round_robin': turn={self.turn}, expected an integer >= 1")

    def map(self, graph: CommGraph, where: Allocation, bounds: Bounds, effort: Effort) -> Int32:
        """Return int32[n], the PE of every task."""
        nodes = nodes_of(where)
        room = room_for(graph, bounds)
        seats = np.repeat(nodes.pes, room[nodes.pes])  # node by node, every PE as often as it has room
        node = nodes.of_pe[seats]
        place = np.arange(len(seats)) - np.searchsorted(node, node)
        pe: Int32 = seats[np.lexsort((place, node, place // self.turn))].astype(np.int32)
        return pe
