"""Top-down construction: perfectly balanced partitions along the machine, from the outermost level in."""

from __future__ import annotations

from dataclasses import dataclass

from hopbytes._arrays import Int32
from hopbytes.algorithms.base import Bounds, Effort, Mapper, mappers
from hopbytes.algorithms.mappers.multisection import Multisection
from hopbytes.model.allocation import Allocation
from hopbytes.model.comm_graph import CommGraph


@mappers.register("top_down")
@dataclass(frozen=True, slots=True)
class TopDown(Mapper):
    """Cut the tasks once along every level of the machine, outermost first, every part exactly full.

    Parameters
    ----------
    initial_partitions : int
        Partitions of the coarse graph per cut.

    Notes
    -----
    Schulz and Träff (2017). The mapper ``multisection`` with one run per cut and nothing else: what
    that paper calls Top-Down, to compare with. O(levels x (n + m)) for meshes.
    """

    initial_partitions: int = 4

    def map(self, graph: CommGraph, where: Allocation, bounds: Bounds, effort: Effort) -> Int32:
        """Return int32[n], the PE of every task."""
        return Multisection(initial_partitions=self.initial_partitions).map(graph, where, bounds, effort)
