"""Dense quadratic assignment by a memetic search: a small population improved by tabu searches."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

import numpy as np

from hopbytes._arrays import Int32, Int64
from hopbytes._frozen import frozen
from hopbytes.engine.control import DEFAULT_CONTROL, RunControl
from hopbytes.engine.crossovers import block, differences, uniform
from hopbytes.engine.population import Population
from hopbytes.engine.settings import FEW_TASKS
from hopbytes.engine.tabu_search import DenseProblem, TabuSettings, tabu_many
from hopbytes.util.random_numbers import RandomNumbers

#: Searches per generation, and descents, which are short. Constants, so that the result does not depend on
#: the number of threads.
WIDTH = 2
WIDTH_OF_DESCENTS = 8
#: The spread of local optima (standard deviation over mean, times the root of n) from which on they count as
#: diverse. Good solutions then lie in few regions far apart, and many short searches find the best region.
#: With a smaller spread all optima are nearly alike and longer searches gain more. (Averages over n terms
#: vary by one over the root of n.)
WIDE_SPREAD = 0.12
#: The most members of a population per task; with few tasks there are few local optima.
MEMBERS_PER_TASK = 8
#: Tenths of all places that two members of a population of descents may share. Without a bound such a
#: population consists of variants of one solution before blocks of others are tried.
ALIKE_TENTHS = 9
#: Above every cost.
NEVER = np.iinfo(np.int64).max


@frozen
class EvolutionSettings:
    """The parameters of the population (see :func:`evolve`)."""

    population: int = 16  # number of solutions that are kept
    #: number of solutions in the first population that is improved by descents; the next ones have twice as
    #: many each. 0: no such populations.
    descending: int = 64
    short: int = 2  # exchanges of one tabu search over n, for diverse and for similar local optima
    long: int = 10
    #: consecutive children per member that do not enter the population, after which it is replaced
    fruitless_children: int = 4
    #: consecutive populations without a new best after which the search ends, regardless of the limits;
    #: larger populations count several times. Small problems are usually solved long before.
    renewals: int = 20
    #: largest number of tasks for a population; for more tasks a single solution is improved
    population_up_to: int = FEW_TASKS


DEFAULT_EVOLUTION = EvolutionSettings()


@frozen
class _Way:
    """How a population is improved: its size, searches per generation, and whether blocks are crossed."""

    size: int
    iterations: int
    fruitless: int = 0
    width: int = WIDTH
    blocks: bool = False


def evolve(
    problem: DenseProblem,
    start: Int32,
    *,
    limit: int | None = None,
    settings: EvolutionSettings = DEFAULT_EVOLUTION,
    control: RunControl = DEFAULT_CONTROL,
) -> tuple[Int32, int]:
    """Search for a permutation of least cost, starting from a given one and from random ones.

    The memetic search follows Benlic and Hao (2015): children inherit the assignments that their parents have
    in common and half of the others from each (uniform crossover), and are improved by a tabu search. It
    differs in that the spread of local optima determines the length of these searches, populations that no
    longer change are replaced by new ones, and every generation consists of two children. If local optima are
    diverse, larger populations compete with these, whose members differ in a tenth of all places, and whose
    children are improved by descents only and inherit also whole blocks
    (:func:`hopbytes.engine.crossovers.block`); a new population is improved in the way
    whose last one has found the lower cost, and of descents with twice as many members. With more than
    `population_up_to` tasks a single solution is improved by iterated local search, whose perturbations grow
    while no better solution is found. An exchange takes O(n^2). The search ends by itself if new populations
    repeatedly find no lower cost.

    >>> ring = np.roll(np.eye(8, dtype=np.int64), 1, axis=1)
    >>> line = np.abs(np.subtract.outer(np.arange(8), np.arange(8)))
    >>> place, _ = evolve(DenseProblem.build(ring, line), np.arange(8, dtype=np.int32), limit=20_000)
    >>> int((ring * line[np.ix_(place, place)]).sum())
    14
    """
    if limit is None and control.deadline is None:
        raise ValueError("evolve needs a limit of work or a deadline")
    if problem.n < 2:
        return start.copy(), 0
    run = _Search(problem, start.copy(), RandomNumbers(control.seed), limit, control)
    if problem.n > settings.population_up_to:
        run.improve_best()
        return run.best, run.exchanges
    ways, first = run.prepare(settings)
    ends = [run.improve_population(first if way is ways[-1] else None, way, settings) for way in ways]
    fruitless = 0
    while not run.over and fruitless < settings.renewals:
        before, best = run.least, ends.index(min(ends))
        if ways[best].blocks:
            size = min(2 * ways[best].size, max(settings.descending, MEMBERS_PER_TASK * problem.n))
            ways[best] = replace(ways[best], size=size)
        ends[best] = run.improve_population(None, ways[best], settings)
        fruitless = 0 if run.least < before else fruitless + ways[best].size // settings.population
    return run.best, run.exchanges


@dataclass(slots=True, eq=False)
class _Search:
    """The state of a search: its limits, the best permutation so far, and the generations."""

    problem: DenseProblem
    best: Int32
    rng: RandomNumbers
    limit: int | None
    control: RunControl
    arcs: int = 0
    exchanges: int = 0
    over: bool = False
    least: int = field(init=False)
    unlike: tuple[Int64, Int64] | None = None  # of tasks and of places, computed for the first block

    def __post_init__(self) -> None:
        self.least = self.problem.cost(self.best)

    def prepare(self, settings: EvolutionSettings) -> tuple[list[_Way], Int32]:
        """Descend from random permutations; return how populations are improved, and a first population.

        The best permutation so far, which is usually a good initial mapping, is its first member.
        """
        n, found = self.problem.n, [self.best[None, :]]
        while sum(map(len, found)) < settings.population and not self.over:
            found.append(self.improve(self.random_permutations(WIDTH), 20 * n, fruitless=1)[0])
        members = np.vstack(found)
        spread = _relative_deviation([self.problem.cost(each) for each in members[1:]]) * math.sqrt(n)
        if spread <= WIDE_SPREAD:
            return [_Way(settings.population, n * settings.long)], members
        tabu = _Way(settings.population, n * settings.short)
        if not settings.descending:
            return [tabu], members
        descents = _Way(settings.descending, 20 * n, 1, WIDTH_OF_DESCENTS, blocks=True)
        return [descents, tabu], members

    def improve_best(self) -> None:
        """Improve the best permutation, perturbing it more strongly until a better one is found."""
        n, fruitless = self.problem.n, 0
        while not self.over:
            begin, before = self.best.copy(), self.least
            if fruitless:
                perturbed = self.rng.distinct(n, 2 + fruitless)
                begin[perturbed] = begin[self.rng.shuffled(perturbed)]
            self.improve(begin[None, :], 2 * n)
            fruitless = 0 if self.least < before else fruitless + 1

    def improve_population(self, first: Int32 | None, way: _Way, settings: EvolutionSettings) -> int:
        """Improve one population until it no longer changes; return its least cost."""
        n = self.problem.n
        alike = n * ALIKE_TENTHS // 10 if way.blocks else n - 1
        pool = Population(np.empty((0, n), np.int32), np.empty(0, np.int64), alike)
        for begin in range(0, way.size, way.width):
            if self.over:
                break
            width = min(way.width, way.size - begin)
            parents = self.random_permutations(width) if first is None else first[begin : begin + width]
            self.improve_generation(pool, parents, way)
        pool.fruitless_children = 0
        most = settings.fruitless_children * way.size
        while not self.over and len(pool.costs) > 1 and pool.fruitless_children < most:
            pairs = [self.rng.distinct(len(pool.costs), 2) for _ in range(way.width)]
            children = np.stack([self.child(pool.members[i], pool.members[j], way) for i, j in pairs])
            self.improve_generation(pool, children, way)
        return int(pool.costs.min(initial=NEVER))

    def improve_generation(self, pool: Population, begin: Int32, way: _Way) -> None:
        """Improve a generation and let it enter the population."""
        for place, cost in zip(*self.improve(begin, way.iterations, way.fruitless), strict=True):
            pool.add(place, int(cost), way.size)

    def improve(self, begin: Int32, iterations: int, fruitless: int = 0) -> tuple[Int32, Int64]:
        """Search from all rows of `begin`; an unfinished generation is discarded."""
        if self.limit is not None:
            left = (self.limit - self.arcs) // max(1, len(begin)) // (self.problem.n**2 // 8 + 1)
            iterations = min(iterations, left)
        whole = False

        def spend(arcs: int, finished: bool) -> None:
            nonlocal whole
            whole = finished
            self.arcs += arcs if finished else 0
            if self.control.spend is not None:
                self.control.spend(arcs, finished)

        if not self.over and iterations > 0 and len(begin):
            seeds = self.rng.words(len(begin)) >> np.uint64(1)
            place, _, done = tabu_many(
                self.problem, begin, seeds, TabuSettings(iterations, fruitless=fruitless),
                control=replace(self.control, spend=spend, watch=None),
            )
        if not whole:
            self.over = True
            return begin[:0], np.empty(0, np.int64)
        self.exchanges += int(done.sum())
        costs = np.array([self.problem.cost(each) for each in place], np.int64)
        if int(costs.min()) < self.least:
            self.best, self.least = place[int(costs.argmin())].copy(), int(costs.min())
            if self.control.watch is not None:
                self.control.watch(self.least)
        return place, costs

    def random_permutations(self, count: int) -> Int32:
        return np.stack([self.rng.permutation(self.problem.n) for _ in range(count)]).astype(np.int32)

    def child(self, one: Int32, other: Int32, way: _Way) -> Int32:
        """Cross two permutations; their common places stay."""
        if way.blocks and self.rng.coins(1)[0]:
            if self.unlike is None:
                self.unlike = differences(self.problem.flow), differences(self.problem.distance)
            return block(self.rng, *self.unlike, one, other)
        return uniform(self.rng, one, other)


def _relative_deviation(costs: list[int]) -> float:
    """Return the standard deviation over the mean, from exact sums: the same number on every processor."""
    total, count = sum(costs), len(costs)
    if total == 0:
        return 0.0
    variance = count * sum(cost * cost for cost in costs) - total * total
    return math.sqrt(variance / (total * total))
