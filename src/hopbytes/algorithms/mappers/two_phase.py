"""Two phases: cut the tasks into as many blocks as there are PEs, then place the blocks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hopbytes._arrays import Int32
from hopbytes._util.options import build
from hopbytes.algorithms.base import Bounds, Effort, Mapper, mappers, refiners
from hopbytes.algorithms.mappers.dual_recursive_bipartitioning import bisected
from hopbytes.algorithms.mappers.multisection import Multisection
from hopbytes.algorithms.shared.bisection_tree import halved
from hopbytes.algorithms.shared.quotient_graph import quotient_graph
from hopbytes.errors import UnsupportedError
from hopbytes.model.allocation import Allocation
from hopbytes.model.comm_graph import CommGraph

MODELS = ("rb", "rms")
NO_REFINER = "none"


@mappers.register("two_phase")
@dataclass(frozen=True, slots=True)
class TwoPhase(Mapper):
    """Make a model, the graph of k blocks of tasks, and map it one block per PE.

    Parameters
    ----------
    model : str
        How blocks are made: ``rb`` by recursive bisection that does not know the machine, ``rms`` by
        recursive multisection along the machine, block i then being the one cut out for PE i. Without
        effect when there is one task per PE: each is a block.
    mapping : str
        Mapper of the blocks, with at most one option: ``top_down``, ``bottom_up:initial_partitions=8``.
    refine : str
        Refiner of that placement, ``n_cd:d=10``, or ``none``.
    initial_partitions : int
        Partitions of the coarse graph per cut of the model.

    Raises
    ------
    UnsupportedError
        An unknown model, mapper or refiner, or one that is two-phased itself.

    Notes
    -----
    The pipeline of Schulz and Träff (2017), whose experiments are its settings. Multisection with V-cycles
    (the presets) is better where there are many tasks per PE.
    """

    model: str = "rb"
    mapping: str = "top_down"
    refine: str = "n_cd"
    initial_partitions: int = 4

    def __post_init__(self) -> None:
        if self.model not in MODELS:
            raise UnsupportedError(f"model={self.model}, expected one of {', '.join(MODELS)}")
        if isinstance(build(mappers, self.mapping), TwoPhase):
            raise UnsupportedError("mapping=two_phase, expected a mapper of single blocks")
        if self.refine != NO_REFINER:
            build(refiners, self.refine)

    def map(self, graph: CommGraph, where: Allocation, bounds: Bounds, effort: Effort) -> Int32:
        """Return int32[n], the PE of every task."""
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
