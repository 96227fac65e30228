"""V-cycles: coarsening inside PEs, and moves of clusters between PEs during uncoarsening."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from hopbytes._arrays import Int32
from hopbytes._frozen import frozen
from hopbytes.algorithms.balancer import meet_bounds
from hopbytes.algorithms.base import Bounds, Effort, Refiner, refiners
from hopbytes.algorithms.shared.search_distances import cheaper, search_problem
from hopbytes.engine.partition import RefinementSettings, even_placement, refine_placement
from hopbytes.engine.problem import SEARCH_OPTIONS, SearchSettings
from hopbytes.engine.slots import MANY_PER_PE, WORK_OF_MANY, SwapSettings, swap_refine
from hopbytes.machines.distances import TreeDistance
from hopbytes.model.allocation import Allocation
from hopbytes.model.comm_graph import CommGraph

#: Temperatures at which annealing starts, in per cent of the mean volume of an arc. On a network the blocks
#: are further from their best shapes, since cuts see it as a tree.
TREE_HOT, NETWORK_HOT = 60, 100
#: The temperature at which annealing starts with exact counts, in the same unit.
EXACT_HOT = 60
#: Where exchanges are annealed: proposed exchanges per task and sweep, and the largest number of proposals of
#: all tasks together.
STEPS_PER_SWEEP, MOST_STEPS = 10, 4_000_000
#: The largest number of PEs on which presets anneal the places of blocks and of single tasks, if distances
#: are unlike those of a tree.
PLACED_UP_TO = 8192
#: Percentage of the losses that annealed exchanges accept at the start where places were annealed before, so
#: that these stay; elsewhere exchanges start hot.
EXCHANGES_HOT = 10
#: A task is exchanged with tasks of this many PEs around the PEs of its neighbours.
NEAR_PES = 8


@refiners.register("vcycle")
@frozen
class VCycle(Refiner):
    """Refine the communication cost by local search and minimum cuts on every level of V-cycles.

    Coarsening contracts only tasks of the same PE. There are no cycles with exact counts, because only
    exchanges can improve such mappings (see the refiner ``swap``); with several tasks per PE of a network
    their boundaries are annealed, chains of moves restore the counts, and exchanges follow. With fewer than 8
    tasks per PE, where moves would empty PEs, exchanges are annealed instead, ten per task and sweep, up to
    four millions; on up to 8192 PEs from a temperature that accepts a tenth of the losses. V-cycles follow
    Walshaw (2004), but gains are those of the communication cost instead of the edge cut.
    """

    option_groups: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "cycles": ("cycles", "chains", "coarsest", "most_tasks", "trees"),
        "annealing": ("annealing_sweeps",),
        "refinement": SEARCH_OPTIONS,
    }
    cycles: int = 1  #: number of V-cycles; with 0 only the graph of the tasks is refined
    chains: int = 1  #: number of independent sequences of cycles in parallel; the best result is kept
    coarsest: int = 40  #: number of clusters per PE at which coarsening stops
    most_tasks: int = 0  #: larger graphs are returned unchanged; with 0 there is no limit
    #: Whether mappings to machines whose distances are those of a tree are refined, too. Those of patterns
    #: with zero-load tasks always are, since such tasks are moved after mapping to keep their bound.
    trees: bool = True
    #: Sweeps of simulated annealing over the boundaries of PEs that follow the cycles if there are 16 PEs or
    #: more, with 8 to 2500 tasks each: on networks, and on trees whose nearest PEs carry at least a fifth of
    #: the cost, since distances grow little from level to level. 0 turns it off.
    annealing_sweeps: int = 0
    rounds: int = 10  #: see :class:`hopbytes.engine.problem.SearchSettings`.
    fruitless_moves: int = 40
    seeds: int = 25
    flow_rounds: int = 1
    flow_width: int = 4
    overload_percent: int = 0

    def refine(self, graph: CommGraph, where: Allocation, pe: Int32, bounds: Bounds, effort: Effort) -> Int32:
        zero_loads = graph.loads is not None and int(graph.loads.min(initial=1)) == 0
        left_out = not self.trees and isinstance(where.distance, TreeDistance) and not zero_loads
        if where.k < 2 or graph.n == 0 or 0 < self.most_tasks < graph.n or left_out:
            return pe
        if bounds.exact:
            return self._annealed(graph, where, pe, bounds, effort)
        if effort.progress is not None:
            effort.progress("refine", 0, 1)
        search = SearchSettings.of(self)
        on_network = where.machine.network() is not None
        better, moves = refine_placement(
            search_problem(graph, where, bounds, effort.threads), pe, bounds.load,
            RefinementSettings(
                self.cycles, self.chains, self.coarsest, self.annealing_sweeps,
                NETWORK_HOT if on_network else TREE_HOT, on_network, search,
            ),
            control=effort.run_control(),
        )
        effort.count(moves=moves)
        return cheaper(graph, where, pe, better, bounds.linear_cost)

    def _annealed(
        self, graph: CommGraph, where: Allocation, pe: Int32, bounds: Bounds, effort: Effort
    ) -> Int32:
        """Return a mapping with the same counts of several tasks per PE that costs no more."""
        several = where.k < graph.n and bounds.linear_cost is None and where.machine.network() is not None
        if not several or not self.annealing_sweeps:
            return pe
        problem = search_problem(graph, where, bounds, effort.threads)
        control, after = effort.run_control(), pe
        chains = steps = most_work = 0
        if graph.n < MANY_PER_PE * where.k:
            chains, steps = 1, min(STEPS_PER_SWEEP * self.annealing_sweeps, MOST_STEPS // graph.n)
        else:
            most_work = WORK_OF_MANY
            after, even = even_placement(
                problem, pe, bounds.load, self.annealing_sweeps, EXACT_HOT, control=control
            )
            if effort.used_up:
                return pe
            if not even:  # a PE has lost all of its tasks, so that no chain of moves ends there
                after = meet_bounds(graph, where, after, None, bounds.load).pe
        hot = EXCHANGES_HOT if where.k <= PLACED_UP_TO else 0
        settings = SwapSettings(0, NEAR_PES, chains, steps, most_work_per_arc=most_work, hot_percent=hot)
        found = swap_refine(problem, after, bounds.room(graph.n), settings, control=control)
        effort.count(swaps_evaluated=found.evaluations, swaps=found.swaps)
        return min((pe, found.pe), key=lambda mapping: bounds.rank(graph, where, mapping, effort.threads))
