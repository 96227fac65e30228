"""GreedyAllC: the task that talks most next, on the PE where it is cheapest."""

from __future__ import annotations

from dataclasses import dataclass, replace

from hopbytes._arrays import Int32
from hopbytes.algorithms.base import Bounds, Effort, Mapper, mappers
from hopbytes.algorithms.shared.sequential_assignment import room_for
from hopbytes.engine import SearchProblem
from hopbytes.engine.slots import place_greedily
from hopbytes.machines.common.lowering import kernel_distances
from hopbytes.model.allocation import Allocation
from hopbytes.model.comm_graph import CommGraph


@mappers.register("greedy_all_c")
@dataclass(frozen=True, slots=True)
class GreedyAllC(Mapper):
    """Place the task that talks most with those placed on the free PE where this costs least.

    Notes
    -----
    Glantz, Meyerhenke and Noe (2015): as ``mueller_merbach``, but the PE minimises the sum over placed
    partners of volume times distance. Ties go to the smaller distance to all PEs in use, then to the
    smaller number (the paper leaves them open). On a tree only subtrees that hold a partner are looked
    into: O(degree x levels) a task; on a table O(k x degree).
    """

    def map(self, graph: CommGraph, where: Allocation, bounds: Bounds, effort: Effort) -> Int32:
        """Return int32[n], the PE of every task."""
        problem = SearchProblem(graph.symmetric_positive(), distances=kernel_distances(where))
        control = replace(effort.run_control(), spend=None)
        return place_greedily(problem, room_for(graph, bounds), linked=True, control=control)
