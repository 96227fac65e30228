"""The rank orders of training frameworks, of which the cheapest is taken."""

from __future__ import annotations

import numpy as np

from hopbytes._arrays import Int32
from hopbytes._frozen import frozen
from hopbytes.algorithms.base import Bounds, Effort, Mapper, mappers
from hopbytes.algorithms.shared.sequential_assignment import fill_in_order
from hopbytes.cost.objectives.comm_cost import objectives
from hopbytes.model.allocation import Allocation
from hopbytes.model.comm_graph import CommGraph
from hopbytes.patterns.ml import rank_orders, training_of
from hopbytes.util.options import check_types


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
