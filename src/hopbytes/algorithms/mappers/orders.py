"""Baselines: tasks in the order of their numbers, and in the rank orders of training frameworks."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from hopbytes import kernels
from hopbytes._arrays import Int32
from hopbytes._frozen import frozen
from hopbytes.algorithms.base import Allowed, Bounds, Effort, Mapper, mappers
from hopbytes.algorithms.shared.sequential_assignment import fill_in_order, random_order, room_for
from hopbytes.algorithms.two_level.groups import nodes_of
from hopbytes.cost.objectives.comm_cost import objectives
from hopbytes.model.allocation import Allocation
from hopbytes.model.comm_graph import CommGraph
from hopbytes.patterns.ml import rank_orders, training_of
from hopbytes.util.options import check_types


@mappers.register("identity")
@frozen
class Identity(Mapper):
    """Assign tasks in their own order; each PE gets its count of tasks or its share of the load.

    Most launchers do this by default (block by node, then core). O(n).
    """

    def map(self, graph: CommGraph, where: Allocation, bounds: Bounds, effort: Effort) -> Int32:
        return fill_in_order(graph, bounds)


@mappers.register("random")
@frozen
class Random(Mapper):
    """Assign tasks in random order like `identity`: uniform among the mappings with the same counts.

    The order comes from a hash of seed and task number and not from the generator of a library, so it does
    not depend on library versions. O(n log n).
    """

    def map(self, graph: CommGraph, where: Allocation, bounds: Bounds, effort: Effort) -> Int32:
        return fill_in_order(graph, bounds, random_order(graph.n, effort.seed))


@mappers.register("rcm")
@frozen
class Rcm(Mapper):
    """Assign tasks in reverse Cuthill-McKee order like `identity`, so that neighbours are close together.

    The order (Cuthill and McKee, 1969) depends on which tasks communicate, but not on their volumes.
    O(n log n + m log m).
    """

    def map(self, graph: CommGraph, where: Allocation, bounds: Bounds, effort: Effort) -> Int32:
        if graph.n == 0:
            return np.empty(0, np.int32)
        order = kernels.reverse_cuthill_mckee(graph.symmetric_positive())
        return fill_in_order(graph, bounds, order.astype(np.int64))


@mappers.register("round_robin")
@frozen
class RoundRobin(Mapper):
    """Assign tasks in their own order to the nodes in turn, as launchers do with the option ``cyclic``.

    Full nodes are skipped. Within a node PEs are filled in machine order. O(n log n + k).
    """

    allowed: ClassVar[Allowed] = {"turn": range(1, 2**31)}
    turn: int = 1  #: number of consecutive tasks that a node gets in its turn, >= 1

    def map(self, graph: CommGraph, where: Allocation, bounds: Bounds, effort: Effort) -> Int32:
        nodes = nodes_of(where)
        room = room_for(graph, bounds)
        seats = np.repeat(nodes.pes, room[nodes.pes])  # node by node, every PE as often as it has room
        node = nodes.of_pe[seats]
        place = np.arange(len(seats)) - np.searchsorted(node, node)
        pe: Int32 = seats[np.lexsort((place, node, place // self.turn))].astype(np.int32)
        return pe


@mappers.register("training_order")
@frozen
class TrainingOrder(Mapper):
    """Assign the tasks of a training job (``ml:``) in the rank order of Megatron-LM with the lowest J.

    All orders of tensor, context, data and pipeline parallelism are compared, Megatron-LM's default first.
    Other patterns are assigned in the order of their tasks. O(24 arcs), for objectives of links times the
    length of a route.
    """

    #: the objective by which orders are compared; of equal ones the one with the lowest J is taken
    goal: str = "comm_cost"

    def __post_init__(self) -> None:
        check_types(self)
        objectives[self.goal]  # an unknown name is reported at once

    def map(self, graph: CommGraph, where: Allocation, bounds: Bounds, effort: Effort) -> Int32:
        training = training_of(graph)
        orders = {} if training is None else rank_orders(training)
        tried = [
            fill_in_order(graph, bounds, np.argsort(rank, kind="stable"))
            for rank in orders.values()
            if len(rank) == graph.n
        ]
        tried = tried or [fill_in_order(graph, bounds)]
        if self.goal == "comm_cost":
            return min(tried, key=lambda pe: bounds.rank(graph, where, pe))
        goal = objectives[self.goal]()

        def worth(pe: Int32) -> tuple[int, int | float, int]:
            over, cost = bounds.rank(graph, where, pe)
            return over, goal.value(graph, where, pe), cost

        return min(tried, key=worth)
