"""Exchanges of the contents of whole PEs: the blocks of a partition are placed anew on the machine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import ClassVar

import numpy as np

from hopbytes._arrays import Int32
from hopbytes._frozen import frozen
from hopbytes.algorithms.base import Bounds, Effort, Refiner, refiners
from hopbytes.algorithms.refiners.swap import Swap
from hopbytes.algorithms.shared.quotient_graph import quotient_graph
from hopbytes.algorithms.shared.search_distances import cheaper
from hopbytes.model.allocation import Allocation
from hopbytes.model.capacities import group_sums
from hopbytes.model.comm_graph import CommGraph


@refiners.register("place_blocks")
@frozen
class PlaceBlocks(Refiner):
    """Place the tasks of every PE together on another PE, by the search for one task per PE.

    Parameters
    ----------
    starts, chains, steps, anneal_up_to, subtrees, repartitionings, perturbations : int
        Options of the refiner ``swap``, which maps the quotient graph: its tasks are the blocks, the sets of
        tasks that share a PE.

    Notes
    -----
    A partition into blocks of short boundaries says little about which blocks should be close together. On
    trees the cuts of the mapper ``multisection`` decide that, too, so there a descent suffices. On a torus or
    a mesh they see an approximation of the distances only, and whole blocks placed anew lower the cost by a
    quarter.

    The mapping is returned unchanged if there are linear costs (fixed or restricted tasks, migration), or if
    a block does not fit where the search places it, which happens if PEs have different capacities or have
    to hold different numbers of tasks.

    O(n + m) for the quotient graph, then as for the refiner ``swap`` with one task per PE.
    """

    option_groups: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "descents": ("starts",),
        "annealing": ("chains", "steps", "anneal_up_to"),
        "exchanges of units": ("subtrees", "repartitionings"),
        "perturbations": ("perturbations",),
    }
    starts: int = 1
    chains: int = 0
    steps: int = 2000
    anneal_up_to: int = 256
    subtrees: int = 0
    repartitionings: int = 0
    perturbations: int = 100

    def refine(self, graph: CommGraph, where: Allocation, pe: Int32, bounds: Bounds, effort: Effort) -> Int32:
        """Return a mapping that costs no more."""
        if bounds.linear_cost is not None or where.k < 3 or graph.n <= where.k:
            return pe
        search = Swap()
        if where.machine.network() is not None:
            search = Swap(**{option.name: getattr(self, option.name) for option in fields(self)})
        blocks = quotient_graph(graph, pe, where.k)
        one_each = np.ones(where.k, np.int64)
        order = np.arange(where.k, dtype=np.int32)
        place = search.refine(blocks, where, order, Bounds(one_each, one_each, exact=True), effort)
        placed = place[pe]
        return cheaper(graph, where, pe, placed, None) if _fits(graph, placed, bounds) else pe


def _fits(graph: CommGraph, pe: Int32, bounds: Bounds) -> bool:
    """Return whether every PE holds as much as it may, or exactly as many tasks as it must."""
    if bounds.exact:
        return bounds.count is None or np.array_equal(
            np.bincount(pe, minlength=len(bounds.load)), bounds.count
        )
    return bool(np.all(group_sums(pe, graph.loads, len(bounds.load)) <= bounds.load))
