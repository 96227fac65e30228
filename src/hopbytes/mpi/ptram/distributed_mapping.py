"""Maps on rank 0 with the searches distributed over the leaders of a communicator."""

from __future__ import annotations

from hopbytes.algorithms.base import mappers, refiners
from hopbytes.algorithms.mappers.ptram import HybridGreedy
from hopbytes.algorithms.refiners.refine_ptram import HottestLink
from hopbytes.model.allocation import Allocation
from hopbytes.model.comm_graph import CommGraph
from hopbytes.model.mapping import Mapping
from hopbytes.mpi.ptram.node_leaders import Leaders
from hopbytes.mpi.ptram.steps import LedGreedy, LedRefinement
from hopbytes.solve.map_tasks import map_tasks
from hopbytes.util.options import describe


def map_with_leaders(
    leaders: Leaders, graph: CommGraph, where: Allocation, mapper: HybridGreedy, refiner: HottestLink,
    seed: int = 0,
) -> Mapping:
    """Return the mapping of ``map_tasks(graph, where, [mapper, refiner], seed=seed)``.

    The leaders perform the searches. Call this function on rank 0 while the other ranks are in
    :meth:`Leaders.serve`. Rank 0 alone partitions the tasks among nodes, maps them inside nodes and verifies
    the result.
    """
    steps = LedGreedy(mapper, leaders), LedRefinement(refiner, leaders)
    mapping = map_tasks(graph, where, list(steps), seed=seed, threads=1)
    names = {"mapper": describe(mappers, mapper), "refine": [describe(refiners, refiner)]}
    return Mapping(mapping.pe, mapping.where, {**mapping.info, **names})
