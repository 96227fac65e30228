"""Two-phase mapping: partition the tasks into as many blocks as there are PEs, then map the blocks."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from hopbytes._arrays import Int32
from hopbytes._frozen import frozen
from hopbytes.algorithms.base import Allowed, Bounds, Effort, Mapper, mappers, refiners
from hopbytes.algorithms.mappers.level_by_level import bisected, halved
from hopbytes.algorithms.mappers.multisection import Multisection
from hopbytes.algorithms.shared.quotient_graph import quotient_graph
from hopbytes.errors import UnsupportedError
from hopbytes.model.allocation import Allocation
from hopbytes.model.comm_graph import CommGraph
from hopbytes.util.options import build

NO_REFINER = "none"


@mappers.register("two_phase")
@frozen
class TwoPhase(Mapper):
    """Partition the tasks into k blocks and map the quotient graph with one block per PE.

    This is the pipeline of Schulz, Träff and von Kirchbach, "Better process mapping and sparse quadratic
    assignment", and the options are those of its experiments. ``rms`` is not in the version of 2017 by the
    first two, but in the extended one.
    Multisection with V-cycles (the presets) is better if there are many tasks per PE.
    """

    allowed: ClassVar[Allowed] = {"model": ("rb", "rms")}
    #: Partitioner of the tasks: ``rb`` is recursive bisection without regard to the machine, ``rms`` is
    #: recursive multisection along the machine, where block i is the one computed for PE i. With one task per
    #: PE every task is a block and this option has no effect.
    model: str = "rb"
    #: Mapper of the blocks with at most one option, for example ``bottom_up:initial_partitions=8``. The
    #: default is ``top_down``.
    mapping: str = "top_down"
    refine: str = "n_cd"  #: refiner of the mapping of blocks, for example ``n_cd:d=10``, or ``none``
    initial_partitions: int = 4  #: number of initial partitions of the coarsest graph per cut of the model

    def __post_init__(self) -> None:
        Mapper.__post_init__(self)
        if isinstance(build(mappers, self.mapping), TwoPhase):
            raise UnsupportedError("mapping=two_phase, expected another mapper")
        if self.refine != NO_REFINER:
            build(refiners, self.refine)

    def map(self, graph: CommGraph, where: Allocation, bounds: Bounds, effort: Effort) -> Int32:
        single = graph.n == where.k and bounds.exact
        block = np.arange(graph.n, dtype=np.int32) if single else self._blocks(graph, where, bounds, effort)
        model = graph if single else quotient_graph(graph, block, where.k)
        one_each = np.ones(where.k, np.int64)
        exact = Bounds(one_each, one_each, exact=True)
        pe = build(mappers, self.mapping).map(model, where, exact, effort)
        if self.refine != NO_REFINER:
            pe = build(refiners, self.refine).refine(model, where, pe, exact, effort)
        return pe[block]

    def _blocks(self, graph: CommGraph, where: Allocation, bounds: Bounds, effort: Effort) -> Int32:
        if self.model == "rms":
            return Multisection(initial_partitions=self.initial_partitions).map(graph, where, bounds, effort)
        every = np.arange(where.k)
        return bisected(
            halved([every.astype(np.int32)]), every, graph, bounds, effort, self.initial_partitions
        )
