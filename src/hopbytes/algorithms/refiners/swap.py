"""Exchanges of tasks: the local search for one task per slot."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import ClassVar

import numpy as np

from hopbytes._arrays import Int32
from hopbytes._frozen import frozen
from hopbytes.algorithms.base import MILLION, Bounds, Effort, Refiner, mappers, refiners
from hopbytes.algorithms.shared.search_distances import (
    both_ways_differ,
    cheaper,
    is_dense,
    search_problem,
    unlike_a_tree,
)
from hopbytes.cost.objectives.comm_cost import CommCost
from hopbytes.engine.problem import FEW_TASKS
from hopbytes.engine.slots import MANY_PER_PE, WORK_OF_MANY, SwapSettings, swap_refine
from hopbytes.errors import UnsupportedError
from hopbytes.model.allocation import Allocation
from hopbytes.model.comm_graph import CommGraph
from hopbytes.util.options import build

#: Mappers whose results compete as starts, in this order; if more starts are requested, they are repeated
#: with other seeds.
START_MAPPERS = ("identity", "dual_recursive_bipartitioning", "bottom_up")
#: A start is discarded if it costs more than the best by more than this fraction (1 / 6), because a descent
#: from it is not expected to win.
START_MARGIN = 6
#: Further mappers on networks of nodes; on up to 1024 nodes, each is followed by exchanges of whole groups
#: between nodes.
START_MAPPERS_ON_NODES = ("ug", "curve", "multi_jagged")
#: On more nodes these groups are not exchanged: it takes longer than the descent that follows and gains
#: no more.
MOST_NODES_EXCHANGED = 1024
#: On networks of at most so many PEs annealing takes little time, whatever it gains.
SMALL_NETWORK = 256


@refiners.register("swap")
@frozen
class Swap(Refiner):
    """Exchange tasks by descent, annealing and perturbation; with one task per PE also from other starts.

    A gain is computed before an exchange is made (Schulz and Träff, 2017, make and undo it). It costs
    O(degree), but O(levels) for tasks of high degree on a tree, since their weights into the units of every
    level are kept. The computation ends early if another partner is certain to gain more. A queue holds the
    tasks whose neighbourhood has changed, and an upper bound on the gain of a task saves most evaluations.
    Annealing follows Kirkpatrick, Gelatt and Vecchi (1983); it proposes partners near
    neighbours, on any level of the machine.
    """

    option_groups: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "descents": ("all_pairs_up_to", "neighbourhood", "several_nearest", "starts"),
        "annealing": ("chains", "steps", "anneal_up_to", "anneal_networks_up_to"),
        "exchanges of units": ("subtrees", "repartitionings"),
        "perturbations": ("perturbations", "perturbation_work"),
        "tabu search": ("dense_pattern_up_to", "tabu_work", "one_way"),
    }
    #: with at most this many tasks the descent tries every pair, so its result is a local optimum with
    #: respect to exchanges (unless 2^32 scanned edges do not suffice, as for dense patterns of unequal
    #: volumes)
    all_pairs_up_to: int = 1024
    #: With more tasks, the candidates for an exchange are the tasks in the unit of at most this many PEs
    #: around the PE of a neighbour (on other machines than trees: on that many nearest PEs). Larger
    #: partitions (many tasks per PE) are returned unchanged, since the refiner ``vcycle`` serves them.
    neighbourhood: int = 64
    #: The same number where PEs of a network hold several tasks each, if it is smaller. The refiner
    #: ``vcycle`` ends with exchanges between 8 nearest PEs, after which more distant ones rarely gain.
    several_nearest: int = 64
    #: Number of mappings by other mappers (:data:`START_MAPPERS`) that compete with the given one; the search
    #: continues from the best one after a descent. On networks of nodes :data:`START_MAPPERS_ON_NODES` are
    #: used, too, and the best `starts` of all compete. This option and the next seven apply only to one task
    #: per PE.
    starts: int = 0
    chains: int = 0  #: number of independent annealing runs; the best result is kept
    steps: int = 3000  #: number of proposed exchanges per task in each annealing run
    anneal_up_to: int = 16384  #: with more tasks there is no annealing
    #: the same on networks of up to 256 PEs, and on larger ones whose distances are unlike those of a tree,
    #: as on a torus or a mesh, where annealing gains far more than on trees; with 0 `anneal_up_to` counts
    anneal_networks_up_to: int = 0
    #: number of passes of the refiner ``subtrees`` over the best start, before annealing and perturbation
    subtrees: int = 0
    #: number of partners per unit for the refiner ``pairwise_repartitioning``, which follows ``subtrees``
    repartitionings: int = 0
    #: Number of scanned edges for perturbation (iterated local search), per arc and task of the graph: a few
    #: neighbouring tasks are exchanged at random, a descent of their neighbourhood follows, and changes that
    #: raise the cost are undone. The phase ends early after a third of this work without a gain.
    perturbations: int = 0
    perturbation_work: int = 1000  #: maximum number of scanned edges for perturbation, in millions
    #: for dense patterns with more than :data:`FEW_TASKS` (400) and at most so many tasks, a short tabu
    #: search (the refiner ``tabu`` with twice as many exchanges as tasks) replaces all other phases, because
    #: it evaluates all pairs at the cost of one task here
    dense_pattern_up_to: int = 1024
    #: With at most 400 tasks a tabu search over at most so many million scanned edges, and with at most twice
    #: as many exchanges per task, replaces the other phases for dense patterns, because it reaches a lower
    #: cost in less time. 0 turns it off.
    tabu_work: int = 0
    #: Work in millions of scanned edges of a final tabu search (:class:`Tabu`) if neither volumes nor
    #: distances are symmetric. Exchanges use the mean of both directions, but tabu search is exact. It
    #: applies to one task per PE and up to 400 tasks; 0 turns it off.
    one_way: int = 20

    def refine(self, graph: CommGraph, where: Allocation, pe: Int32, bounds: Bounds, effort: Effort) -> Int32:
        found = self._refined(graph, where, pe, bounds, effort)
        if not self.one_way or effort.used_up or not both_ways_differ(graph, where):
            return found
        from hopbytes.algorithms.refiners.tabu import Tabu

        return Tabu(work=self.one_way).refine(graph, where, found, bounds, effort)

    def most_annealed(self, where: Allocation) -> int:
        """Return the largest number of tasks that are annealed on this machine."""
        if not self.anneal_networks_up_to or where.machine.network() is None:
            return self.anneal_up_to
        worth_it = where.k <= SMALL_NETWORK or unlike_a_tree(where)
        return self.anneal_networks_up_to if worth_it else self.anneal_up_to

    def _refined(
        self, graph: CommGraph, where: Allocation, pe: Int32, bounds: Bounds, effort: Effort
    ) -> Int32:
        if where.k < 2 or graph.n < 2 or not (bounds.exact or graph.n <= self.all_pairs_up_to):
            return pe
        if not (bounds.exact and graph.n == where.k) or effort.used_up:
            return self._exchange(graph, where, pe, bounds, effort)[0]
        least = 2 if self.tabu_work else FEW_TASKS + 1
        if least <= graph.n <= self.dense_pattern_up_to and is_dense(graph):
            from hopbytes.algorithms.refiners.tabu import Tabu

            if graph.n > FEW_TASKS:
                search = Tabu(work=2 * graph.n**3 // 8 // MILLION + 1)
            else:
                work = self.tabu_work
                search = Tabu(work=work, exchanges=2 * work, sparse_up_to=0, descending=16, renewals=2)
            found = search.refine(graph, where, pe, bounds, effort)
            return self._order_if_equal(graph, where, found, bounds)
        chains = self.chains if graph.n <= self.most_annealed(where) else 0
        if not self.starts + self.subtrees + self.repartitionings:
            return self._exchange(graph, where, pe, bounds, effort, chains, self.perturbations)[0]
        best, settled = self._best_start(graph, where, pe, bounds, effort)
        descended = best if settled else None
        if self.subtrees and not effort.used_up:
            from hopbytes.algorithms.refiners.units import Subtrees

            steps = Subtrees(self.subtrees, self.all_pairs_up_to, singles=False)
            best = steps.refine(graph, where, best, bounds, effort)
        if self.repartitionings and not effort.used_up:
            from hopbytes.algorithms.refiners.units import PairwiseRepartitioning

            best = PairwiseRepartitioning(partners=self.repartitionings).refine(
                graph, where, best, bounds, effort
            )
        if chains + self.perturbations > 0 and not effort.used_up:
            # All pairs were tried before; tasks that have moved since are reached through their neighbours.
            near = self if chains else replace(self, all_pairs_up_to=0)
            best, _ = near._exchange(
                graph, where, best, bounds, effort, chains, self.perturbations, settled=descended
            )
        return self._order_if_equal(graph, where, best, bounds)

    def _order_if_equal(self, graph: CommGraph, where: Allocation, best: Int32, bounds: Bounds) -> Int32:
        """Prefer the mapping in order, which is the launcher's default, if the best one is not better."""
        if not self.starts or bounds.linear_cost is not None:
            return best
        value, order = CommCost().value, np.arange(graph.n, dtype=np.int32)
        return order if value(graph, where, order) == value(graph, where, best) else best

    def _best_start(
        self, graph: CommGraph, where: Allocation, pe: Int32, bounds: Bounds, effort: Effort
    ) -> tuple[Int32, bool]:
        """Return the best mapping after a descent from each start, and whether that descent ended."""
        value = CommCost().value
        best, settled = self._exchange(graph, where, pe, bounds, effort)
        least = value(graph, where, best)
        for start in self._competitive(graph, where, bounds, effort):
            if value(graph, where, start) > least + least // START_MARGIN:
                continue
            end, ended = self._exchange(graph, where, start, bounds, effort)
            if (cost := value(graph, where, end)) < least:
                best, least, settled = end, cost, ended
        return best, settled

    def _competitive(
        self, graph: CommGraph, where: Allocation, bounds: Bounds, effort: Effort
    ) -> Iterator[Int32]:
        """Yield the competing starts; on networks of nodes only the `starts` cheapest of them."""
        if not self.starts or bounds.linear_cost is not None or where.machine.network() is None:
            yield from self._other_starts(graph, where, bounds, effort)
            return
        found = list(self._other_starts(graph, where, bounds, effort))
        costs = [CommCost().value(graph, where, start) for start in found]
        cheapest = sorted(range(len(found)), key=costs.__getitem__)[: self.starts]
        yield from (found[i] for i in sorted(cheapest))

    def _other_starts(
        self, graph: CommGraph, where: Allocation, bounds: Bounds, effort: Effort
    ) -> Iterator[Int32]:
        """Yield exact mappings by other mappers; none with a linear cost, which these mappers ignore."""
        if bounds.linear_cost is None:
            yield from _on_nodes(graph, where, bounds, effort)
        for i in range(self.starts if bounds.linear_cost is None else 0):
            if effort.used_up:
                return
            mapper = build(mappers, START_MAPPERS[i % len(START_MAPPERS)])
            seed = effort.seed + i // len(START_MAPPERS)
            start = mapper.map(graph, where, bounds, replace(effort, seed=seed, progress=None))
            if np.all(np.bincount(start, minlength=where.k) == 1):
                yield start

    def _exchange(
        self, graph: CommGraph, where: Allocation, pe: Int32, bounds: Bounds, effort: Effort,
        chains: int = 0, perturbations: int = 0, settled: Int32 | None = None,
    ) -> tuple[Int32, bool]:
        """Return a mapping after a descent, annealing and perturbations, and whether a descent alone ended.
        """
        problem = search_problem(graph, where, bounds, effort.threads)
        perturbations = min(
            perturbations, self.perturbation_work * MILLION // max(1, graph.n + len(problem.csr.targets))
        )
        reach = self.neighbourhood
        if graph.n > where.k and where.machine.network() is not None:
            reach = min(reach, self.several_nearest)
        settings = SwapSettings(
            self.all_pairs_up_to, reach, chains, self.steps, perturbations,
            WORK_OF_MANY if graph.n >= MANY_PER_PE * where.k else 0,
        )
        found = swap_refine(
            problem, pe, bounds.room(graph.n), settings, settled=settled, control=effort.run_control()
        )
        effort.count(swaps_evaluated=found.evaluations, swaps=found.swaps)
        better = cheaper(graph, where, pe, found.pe, bounds.linear_cost)
        return better, found.settled and better is found.pe


def _on_nodes(graph: CommGraph, where: Allocation, bounds: Bounds, effort: Effort) -> Iterator[Int32]:
    """Yield mappings by mappers that assign groups of tasks to the nodes of a network."""
    if where.machine.network() is None:
        return
    from hopbytes.algorithms.two_level.neighbourhood import MOST_SITES
    from hopbytes.machines.geometry import geometry_of

    nodes = len(np.unique(where.node_of_pe))
    if not 2 < nodes <= MOST_SITES:
        return
    for name in START_MAPPERS_ON_NODES:
        if effort.used_up or (mappers[name].needs_coordinates and geometry_of(where.machine) is None):
            continue
        quiet = replace(effort, progress=None)
        try:
            start = build(mappers, name).map(graph, where, bounds, quiet)
            if nodes <= MOST_NODES_EXCHANGED:
                start = build(refiners, "uwh").refine(graph, where, start, bounds, quiet)
        except UnsupportedError:  # tasks have no coordinates, or nodes have no route between them
            continue
        if np.all(np.bincount(start, minlength=where.k) == 1):
            yield start
