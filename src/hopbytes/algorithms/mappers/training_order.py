"""The rank orders of training frameworks, of which the cheapest is taken."""

from __future__ import annotations

import numpy as np

from hopbytes._arrays import Int32
from hopbytes._frozen import frozen
from hopbytes.algorithms.base import Bounds, Effort, Mapper, mappers
from hopbytes.algorithms.shared.sequential_assignment import fill_in_order
from hopbytes.model.allocation import Allocation
from hopbytes.model.comm_graph import CommGraph
from hopbytes.patterns.ml import training_of
from hopbytes.patterns.rank_orders import rank_orders


@mappers.register("training_order")
@frozen
class TrainingOrder(Mapper):
    """Assign the tasks of a training job (``ml:``) in the rank order of Megatron-LM with the lowest J.

    All orders of tensor, context, data and pipeline parallelism are compared, Megatron-LM's default first.
    Other patterns are assigned in the order of their tasks. O(24 arcs).
    """

    def map(self, graph: CommGraph, where: Allocation, bounds: Bounds, effort: Effort) -> Int32:
        """Return the tasks in the order with the lowest J, the first of equal ones."""
        training = training_of(graph)
        orders = {} if training is None else rank_orders(training)
        tried = [
            fill_in_order(graph, bounds, np.argsort(rank, kind="stable"))
            for rank in orders.values()
            if len(rank) == graph.n
        ]
        tried = tried or [fill_in_order(graph, bounds, np.arange(graph.n, dtype=np.int64))]
        return min(tried, key=lambda pe: bounds.rank(graph, where, pe))
