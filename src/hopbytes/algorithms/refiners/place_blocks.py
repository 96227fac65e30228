"""Exchanges of the contents of whole PEs: the blocks of a partition are placed anew on the machine."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import fields
from typing import ClassVar

import numpy as np

from hopbytes._arrays import Int32, Int64
from hopbytes._frozen import frozen
from hopbytes.algorithms.balancer import meet_bounds
from hopbytes.algorithms.base import Bounds, Effort, Refiner, refiners
from hopbytes.algorithms.refiners.swap import Swap
from hopbytes.algorithms.shared.quotient_graph import quotient_graph
from hopbytes.algorithms.shared.search_distances import (
    SMALL_DEVIATION,
    cheaper,
    search_problem,
    unlike_a_tree,
)
from hopbytes.engine.partition import even_placement
from hopbytes.engine.slots import SwapSettings, swap_refine
from hopbytes.model.allocation import Allocation
from hopbytes.model.capacities import group_sums
from hopbytes.model.comm_graph import CommGraph

#: With more PEs, annealing replaces other starts: it begins so hot that they do not matter, and they take
#: longer.
MOST_PES_STARTED = 1024


@refiners.register("place_blocks")
@frozen
class PlaceBlocks(Refiner):
    """Place the tasks of every PE together on another PE, by the search for one task per PE.

    A partition into blocks of short boundaries says little about which blocks should be close together. On
    trees the cuts of the mapper ``multisection`` decide that, too, so there a descent suffices, also on fat
    trees, dragonflies and HyperX. On a torus or a mesh they see an approximation of the distances only, and
    whole blocks placed anew lower the cost by a quarter.

    If a block does not fit where the search puts it, because PEs have different capacities or have to hold
    different numbers of tasks, single tasks move on to PEs with room if the machine is a network. A search
    that exchanges only blocks that fit competes with that, and the cheapest mapping is returned. It is the
    given one if there are linear costs (fixed or restricted tasks, migration).
    """

    option_groups: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "descents": ("starts",),
        "annealing": ("chains", "steps", "anneal_up_to", "anneal_networks_up_to"),
        "exchanges of units": ("subtrees", "repartitionings"),
        "perturbations": ("perturbations",),
    }
    #: Options of the refiner ``swap``, which maps the quotient graph: its tasks are the blocks, the sets of
    #: tasks that share a PE. With more than 1024 PEs `starts` counts only where there is no annealing. On
    #: networks with more than `anneal_up_to` PEs the options count if distances are unlike those of a tree.
    starts: int = 1
    chains: int = 0
    steps: int = 2000
    anneal_up_to: int = 256
    anneal_networks_up_to: int = 0
    subtrees: int = 0
    repartitionings: int = 0
    perturbations: int = 100

    def refine(self, graph: CommGraph, where: Allocation, pe: Int32, bounds: Bounds, effort: Effort) -> Int32:
        if bounds.linear_cost is not None or where.k < 3 or graph.n <= where.k:
            return pe
        search, on_network = Swap(), where.machine.network() is not None
        if unlike_a_tree(where, SMALL_DEVIATION) or (on_network and where.k <= self.anneal_up_to):
            search = Swap(**{option.name: getattr(self, option.name) for option in fields(self)})
            if search.chains and MOST_PES_STARTED < where.k <= search.most_annealed(where):
                search = dataclasses.replace(search, starts=0)
        blocks = quotient_graph(graph, pe, where.k, effort.threads)
        one_each = np.ones(where.k, np.int64)
        order = np.arange(where.k, dtype=np.int32)
        place = search.refine(blocks, where, order, Bounds(one_each, one_each, exact=True), effort)
        if np.array_equal(place, order):
            return pe
        loads = None if bounds.exact else graph.loads
        held = group_sums(pe, loads, where.k, effort.threads)
        if np.all(held <= bounds.load[place]):
            return cheaper(graph, where, pe, place[pe], None)
        if not on_network or effort.used_up:
            return pe
        found = [pe, self._repaired(graph, where, place[pe], bounds, effort)]
        found.append(self._fitting(search, blocks, where, held, bounds, effort)[pe])
        return min(found, key=lambda mapping: bounds.rank(graph, where, mapping, effort.threads))

    def _repaired(
        self, graph: CommGraph, where: Allocation, pe: Int32, bounds: Bounds, effort: Effort
    ) -> Int32:
        """Return the mapping after moves of tasks to PEs with room; with exact counts along chains of PEs."""
        if bounds.exact:
            problem = search_problem(graph, where, bounds)
            pe, even = even_placement(problem, pe, bounds.load, control=effort.run_control())
            if even:
                return pe
        return meet_bounds(graph, where, pe, None if bounds.exact else graph.loads, bounds.load).pe

    def _fitting(
        self, search: Swap, blocks: CommGraph, where: Allocation, held: Int64, bounds: Bounds, effort: Effort
    ) -> Int32:
        """Return the PE of every block after exchanges of blocks that fit where they go."""
        order = np.arange(where.k, dtype=np.int32)
        problem = dataclasses.replace(search_problem(blocks, where, Bounds(bounds.load)), loads=held)
        chains = search.chains if where.k <= search.most_annealed(where) else 0
        settings = SwapSettings(
            search.all_pairs_up_to, search.neighbourhood, chains, search.steps, search.perturbations
        )
        found = swap_refine(problem, order, bounds.load, settings, control=effort.run_control())
        effort.count(swaps_evaluated=found.evaluations, swaps=found.swaps)
        return found.pe
