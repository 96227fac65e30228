"""Mapping with the leaders of a communicator, on rank 0."""

from __future__ import annotations

from hopbytes._util.options import describe
from hopbytes.algorithms.base import mappers, refiners
from hopbytes.algorithms.mappers.ptram import HybridGreedy
from hopbytes.algorithms.refiners.refine_ptram import HottestLink
from hopbytes.model.allocation import Allocation
from hopbytes.model.comm_graph import CommGraph
from hopbytes.model.mapping import Mapping
from hopbytes.mpi.ptram.node_leaders import Leaders
from hopbytes.mpi.ptram.steps import LedGreedy, LedRefinement
from hopbytes.solve.map_tasks import map_tasks


def map_with_leaders(
    leaders: Leaders, graph: CommGraph, where: Allocation, mapper: HybridGreedy, refiner: HottestLink,
    seed: int = 0,
) -> Mapping:
    """Map as ``map_tasks(graph, where, mapper=mapper, refine=refiner, seed=seed)``, searched by leaders.

    Call it on rank 0 while the others are in :meth:`Leaders.serve`. Rank 0 alone partitions the tasks to
    nodes, places them inside nodes and verifies.

    Raises
    ------
    HopbytesError
        As :func:`hopbytes.map_tasks`; more leaders than nodes. The others still wait for orders.
    StrandedError
        A search broke off.
    """
    steps = LedGreedy(mapper, leaders), LedRefinement(refiner, leaders)
    mapping = map_tasks(graph, where, mapper=steps[0], refine=steps[1], seed=seed, threads=1)
    names = {"mapper": describe(mappers, mapper), "refine": [describe(refiners, refiner)]}
    return Mapping(mapping.pe, mapping.where, {**mapping.info, **names})
