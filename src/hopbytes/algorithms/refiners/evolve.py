"""An evolutionary search with a population of mappings, which runs until time or work is used up."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar

import numpy as np

from hopbytes._arrays import Int32
from hopbytes._frozen import frozen
from hopbytes.algorithms.base import MILLION, Bounds, Effort, Progress, Refiner, refiners
from hopbytes.algorithms.mappers.multisection import Multisection
from hopbytes.algorithms.shared.search_distances import is_dense, search_problem
from hopbytes.engine.partition import RefinementSettings, refine_placement
from hopbytes.engine.problem import FEW_TASKS, SearchSettings
from hopbytes.model.allocation import Allocation
from hopbytes.model.comm_graph import CommGraph
from hopbytes.util.random_numbers import derived_seeds


@refiners.register("evolve")
@frozen
class Evolve(Refiner):
    """Compute new mappings and recombine them with the best ones of a population.

    A step is a multisection in which the cuts of all members compete with new ones at every level and are
    recombined with them (:class:`hopbytes.algorithms.mappers.multisection.WarmStart`). Its result is then
    recombined with the best mapping: vertices that are together in both are contracted, and refinement under
    the distances of the machine chooses between the two mappings elsewhere. The best mapping therefore never
    gets worse. Recombination of partitions follows KaFFPaE (Sanders and Schulz, 2012), but the objective is
    the communication cost. With exact counts every other step is a new multisection, and ``swap`` replaces
    the recombination.

    On networks cuts see an approximation of the distances, so that a new mapping goes through the refiners
    ``place_blocks`` and ``vcycle`` first.

    The population needs the memory of `size` mappings.
    """

    option_groups: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "the population": ("size", "steps", "work"),
        "when it runs": ("slots_only", "dense_up_to", "dense_pattern_up_to"),
        "new mappings": ("repetitions", "initial_partitions"),
        "recombinations": ("chains", "flow_rounds", "flow_width", "overload_percent"),
        "one task per PE": ("perturbations", "subtrees", "repartitionings"),
        "partitions on networks": ("annealing_sweeps",),
    }
    size: int = 5  #: number of mappings in the population
    steps: int = 8  #: number of new mappings if nothing else ends the search
    #: Work in millions of scanned edges that limits the number of steps (approximately). If it does not
    #: suffice to fill the population, no step is made, since the first steps hardly improve the mapping. With
    #: 0 a time limit or a work limit of the run ends the search, otherwise `steps`.
    work: int = 0
    slots_only: bool = False  #: return partitions (many tasks per PE) unchanged, too
    #: mappings with exact counts and at most so many tasks are returned unchanged, since the refiner ``tabu``
    #: serves them
    dense_up_to: int = FEW_TASKS
    #: The same limit for patterns in which a task communicates with at least a quarter of all tasks on
    #: average. It has no effect with ``dense_up_to=0``.
    dense_pattern_up_to: int = 1024
    #: options of the refiner ``swap``, which follows every multisection if counts are exact; on networks also
    #: of ``place_blocks``, which places the blocks of every new partition
    perturbations: int = 1000
    subtrees: int = 0
    repartitionings: int = 0
    #: sweeps of annealing over the boundaries of PEs in new partitions on networks, see the refiner
    #: ``vcycle``
    annealing_sweeps: int = 300
    repetitions: int = 12  #: effort for each new mapping, see the mapper ``multisection``
    initial_partitions: int = 2
    #: number of independent sequences of V-cycles per recombination, see the refiner ``vcycle``
    chains: int = 2
    flow_rounds: int = 2  #: see :class:`hopbytes.engine.problem.SearchSettings`.
    flow_width: int = 4
    overload_percent: int = 10

    def refine(self, graph: CommGraph, where: Allocation, pe: Int32, bounds: Bounds, effort: Effort) -> Int32:
        if where.k < 2 or graph.n == 0 or (bounds.exact and graph.n <= self.dense_up_to):
            return pe
        if self.slots_only and not bounds.exact:
            return pe
        if bounds.exact and self.dense_up_to > 0 and graph.n <= self.dense_pattern_up_to and is_dense(graph):
            return pe
        population = _Population(graph, where, bounds, max(2, self.size), effort.threads)
        population.add(pe)
        endless = not self.work and (effort.deadline is not None or effort.work_limit is not None)
        most, step = self._affordable(graph), 0
        if not endless and most < min(self.steps, self.size + 1):
            return pe
        while not effort.used_up and (endless or step < most) and population.rank > (0, 0):
            before = effort.work.get("arcs", 0)
            if effort.progress is not None:
                effort.progress(f"evolve, J {population.rank[1]:,}", step, 0 if endless else most)
            self._step(population, step, effort)
            step += 1
            if endless and not effort.step_over(before):
                break
        effort.count(evolve_steps=step)
        return population.best

    def _affordable(self, graph: CommGraph) -> int:
        """Return the number of steps for which `work` suffices, at most `steps`."""
        if not self.work:
            return self.steps
        # The factor 350 was measured: scanned edges of a multisection per repetition, arc and task.
        each = (350 * self.repetitions + self.perturbations) * (
            graph.n + len(graph.symmetric_positive().targets)
        )
        return min(self.steps, self.work * MILLION // max(1, each))

    def _step(self, population: _Population, step: int, effort: Effort) -> None:
        seed = int(derived_seeds((effort.seed, step), 1)[0] >> 1)
        own = replace(effort, seed=seed, progress=_live(population, step, effort))
        graph, where, bounds = population.graph, population.where, population.bounds
        maker = Multisection(
            repetitions=self.repetitions, initial_partitions=self.initial_partitions,
            recombinations=max(1, self.repetitions - 1), flow_rounds=self.flow_rounds,
        )

        def new() -> Int32:
            if not bounds.exact:
                known = [pe for _, pe in population.members]
                # With as many recombinations as candidates every candidate takes part in one.
                more = replace(maker, recombinations=len(known) + self.repetitions)
                pe = more.again(graph, where, bounds, own, known)
            elif len(population.members) == population.size and step % 2:
                known = [population.best, population.another(seed)]
                pe = replace(maker, repetitions=1, recombinations=len(known) + 1).again(
                    graph, where, bounds, own, known
                )
            else:
                pe = maker.map(graph, where, bounds, own)
            return self._recombined(population, self._placed(population, pe, own), [], own)

        pe = own.whole(new)
        if pe is None:
            return
        population.add(pe)
        if bounds.exact:
            return
        best = population.best
        others = [other for other in (pe, population.another(seed)) if other is not best]
        better = own.whole(lambda: self._recombined(population, best, others, own))
        if better is not None:
            population.add(better)

    def _placed(self, population: _Population, pe: Int32, effort: Effort) -> Int32:
        """Return a new partition with its blocks placed and their boundaries annealed on a network."""
        graph, where, bounds = population.graph, population.where, population.bounds
        if graph.n <= where.k or where.machine.network() is None:
            return pe
        from hopbytes.algorithms.refiners.place_blocks import PlaceBlocks
        from hopbytes.algorithms.refiners.vcycle import VCycle

        place = PlaceBlocks(
            perturbations=self.perturbations, subtrees=self.subtrees, repartitionings=self.repartitionings
        )
        for step in (place, VCycle(cycles=1, annealing_sweeps=self.annealing_sweeps)):
            pe = step.refine(graph, where, pe, bounds, effort)
        return pe

    def _recombined(self, population: _Population, pe: Int32, others: list[Int32], effort: Effort) -> Int32:
        """Return `pe` after a V-cycle and after recombination with one of `others` after another."""
        graph, where, bounds = population.graph, population.where, population.bounds
        if bounds.exact:  # only exchanges keep the counts
            from hopbytes.algorithms.refiners.swap import Swap

            swap = Swap(
                perturbations=self.perturbations, subtrees=self.subtrees, repartitionings=self.repartitionings
            )
            return swap.refine(graph, where, pe, bounds, effort)
        search = SearchSettings(
            flow_rounds=self.flow_rounds, flow_width=self.flow_width, overload_percent=self.overload_percent
        )
        better, moves = refine_placement(
            search_problem(graph, where, bounds), pe, bounds.load,
            RefinementSettings(cycles=len(others) + 1, chains=self.chains, search=search),
            others=np.array(others, np.int32) if others else None, control=effort.run_control(),
        )
        effort.count(moves=moves)
        return better


def _live(population: _Population, step: int, effort: Effort) -> Progress | None:
    """Return a callback that reports the stages of a step with the cost of the best mapping."""
    report = effort.progress
    if report is None:
        return None

    def tell(stage: str, done: int, total: int) -> None:
        report(f"evolve, J {population.rank[1]:,}, step {step + 1}: {stage.partition(',')[0]}", done, total)

    return tell


class _Population:
    """Different mappings, the best first."""

    def __init__(
        self, graph: CommGraph, where: Allocation, bounds: Bounds, size: int, threads: int
    ) -> None:
        self.graph, self.where, self.bounds, self.size, self._threads = graph, where, bounds, size, threads
        self.members: list[tuple[tuple[int, int], Int32]] = []

    @property
    def best(self) -> Int32:
        return self.members[0][1]

    @property
    def rank(self) -> tuple[int, int]:
        """The load of the best mapping beyond its bounds, and its cost."""
        return self.members[0][0]

    def another(self, seed: int) -> Int32:
        """Return a member other than the best if there is one."""
        return self.members[1 + seed % (len(self.members) - 1) if len(self.members) > 1 else 0][1]

    def add(self, pe: Int32) -> None:
        """Insert a mapping unless a member has the same cost, since these are nearly always identical."""
        key = self.bounds.rank(self.graph, self.where, pe, self._threads)
        if all(key != other for other, _ in self.members):
            self.members.append((key, pe))
            self.members.sort(key=lambda member: member[0])
            del self.members[self.size :]
