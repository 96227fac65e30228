"""Dense quadratic assignment by a memetic search: a small population improved by tabu searches."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from functools import partial

import numpy as np

from hopbytes._arrays import Int32, Int64, UInt64
from hopbytes._frozen import frozen
from hopbytes.engine.control import DEFAULT_CONTROL, MOST, SMALL, RunControl, interruptible
from hopbytes.engine.problem import FEW_TASKS
from hopbytes.kernels import checked_sum
from hopbytes.kernels.base import compiled
from hopbytes.util.random_numbers import RandomNumbers


@frozen
class TabuSettings:
    """The length and the parameters of a tabu search."""

    iterations: int  # number of exchanges of each search
    #: number of consecutive exchanges without a new best that ends a search; 0: never, 1: a descent
    fruitless: int = 0
    #: tabu tenure, in per cent of n: for so many exchanges a task does not return to a place that it left
    tenure_low: int = 90
    tenure_high: int = 110


@frozen(eq=False)
class DenseProblem:
    """A dense quadratic assignment problem in the form that compiled code takes; see :meth:`build`."""

    flow: Int64
    distance: Int64
    linear_cost: Int64
    symmetric: bool

    @property
    def n(self) -> int:
        return len(self.flow)

    @classmethod
    def build(cls, flow: Int64, distance: Int64, linear_cost: Int64 | None = None) -> DenseProblem:
        """Convert a problem to the form in which a search is fastest.

        If one matrix is symmetric, the other is replaced by the sum of both its directions, and pairs count
        once; if neither is, both directions are kept. Products of diagonals are added to the linear
        assignment costs. If sums could exceed 61 bits, all numbers lose low bits, so results must be compared
        with exact numbers.
        """
        n = len(flow)
        total, furthest = checked_sum(np.ascontiguousarray(flow).reshape(-1)), int(distance.max(initial=0))
        dearest = 0 if linear_cost is None else int(linear_cost.max(initial=0))
        shift = max(0, (8 * total * furthest + 8 * dearest).bit_length() - MOST.bit_length())
        if shift:
            less = min(shift, max(0, furthest.bit_length() - 20))
            distance, flow = distance >> less, flow >> (shift - less)
            linear_cost = None if linear_cost is None else linear_cost >> shift
        loops = np.diag(flow)[:, None] * np.diag(distance)[None, :]
        if linear_cost is not None:
            loops = loops + linear_cost
        flow, distance = flow.astype(np.int64), distance.astype(np.int64)
        np.fill_diagonal(flow, 0)
        np.fill_diagonal(distance, 0)
        flow_turns, distance_turns = np.array_equal(flow, flow.T), np.array_equal(distance, distance.T)
        if distance_turns:
            flow = flow + flow.T
        elif flow_turns:
            distance = distance + distance.T
        return cls(
            np.ascontiguousarray(flow), np.ascontiguousarray(distance),
            np.ascontiguousarray(loops) if loops.any() else np.empty((0, n), np.int64),
            symmetric=bool(flow_turns or distance_turns),
        )

    def cost(self, place: Int32) -> int:
        """Return the cost of a permutation, computed from scratch; O(n^2)."""
        # Clipping changes no place; it avoids a buffer, which took most of the time.
        apart = self.distance[place].take(place, axis=1, mode="clip")
        total = int(np.vdot(self.flow, apart)) // (2 if self.symmetric else 1)
        return total + (int(self.linear_cost[np.arange(self.n), place].sum()) if len(self.linear_cost) else 0)


def tabu_many(
    problem: DenseProblem, place: Int32, seeds: UInt64, settings: TabuSettings, *,
    control: RunControl = DEFAULT_CONTROL
) -> tuple[Int32, Int64, Int64]:
    """Search from several permutations, independently of each other."""
    flag, counted_work = control.flag(), np.zeros(1, np.int64)
    result = np.ascontiguousarray(place, np.int32).copy()
    change, done = np.zeros(len(seeds), np.int64), np.zeros(len(seeds), np.int64)
    interruptible(
        lambda: compiled.tabu_many(
            problem.flow.reshape(-1), problem.distance.reshape(-1), problem.linear_cost.reshape(-1),
            problem.symmetric, seeds, asdict(settings), control.threads,
            (flag, counted_work), result.reshape(-1), change, done,
        ),
        flag, control, _size(problem.n, len(seeds), settings.iterations), counted_work,
    )
    return result, change, done


@frozen(eq=False)
class Similarity:
    """By how much each two tasks or places differ, and for each one all of them, similar ones first."""

    difference: Int64  # int64[n, n]
    order: Int32  # int32[n, n]

    @classmethod
    def of_rows(cls, rows: Int64) -> Similarity:
        """Compare the rows of a matrix; O(n^3)."""
        difference = np.stack([np.abs(rows - row).sum(axis=1) for row in rows])
        order = np.argsort(difference, axis=1, kind="stable").astype(np.int32)
        return cls(difference, order)


@frozen
class BlockAnnealingSettings:
    """The length and the temperature of an annealing of blocks."""

    iterations: int  # the most exchanges of two tasks
    descents: int  # the most exchanges of two blocks, after each of which a descent follows
    temperature: float  # in units of the cost


def anneal_blocks(
    problem: DenseProblem, tasks: Similarity, places: Similarity, place: Int32, seeds: UInt64,
    settings: BlockAnnealingSettings, *, control: RunControl = DEFAULT_CONTROL
) -> tuple[Int32, Int32, Int64]:
    """Anneal several permutations by exchanges of blocks; return the last ones, the best ones, exchanges.

    Two blocks of similar tasks, or the tasks of two blocks of similar places, change places, and a descent
    follows. Places are similar if their distances to all places differ little, and tasks if their flows do.
    """
    flag, counted_work = control.flag(), np.zeros(1, np.int64)
    last = np.ascontiguousarray(place, np.int32).copy()
    best, done = last.copy(), np.zeros(len(seeds), np.int64)
    numbers = {"iterations": settings.iterations, "descents": settings.descents}
    interruptible(
        lambda: compiled.anneal_blocks(
            problem.flow.reshape(-1), problem.distance.reshape(-1), problem.linear_cost.reshape(-1),
            problem.symmetric, tasks.difference.reshape(-1), tasks.order.reshape(-1),
            places.difference.reshape(-1), places.order.reshape(-1), seeds, numbers,
            settings.temperature, control.threads, (flag, counted_work), last.reshape(-1), best.reshape(-1),
            done,
        ),
        flag, control, _size(problem.n, len(seeds), settings.iterations), counted_work,
    )
    return last, best, done


def _size(n: int, searches: int, iterations: int) -> int:
    """Return the size of a call in the units of :data:`SMALL`: below it, calls take a few milliseconds."""
    return min(SMALL, searches * (n + iterations) * n**2 // 1000)


def crossed_uniformly(rng: RandomNumbers, one: Int32, other: Int32) -> Int32:
    """Take the place of each task from either permutation; tasks whose places are taken get random ones."""
    n = len(one)
    order = rng.permutation(n)
    pick = rng.coins(n)
    same = one == other
    used = np.zeros(n, bool)
    used[one[same]] = True
    place = np.where(same, one, np.int32(-1))
    first, second = np.where(pick, one, other).tolist(), np.where(pick, other, one).tolist()
    taken, chosen = used.tolist(), place.tolist()
    for task in order[~same[order]].tolist():
        for choice in (first[task], second[task]):
            if not taken[choice]:
                chosen[task], taken[choice] = choice, True
                break
    place = np.array(chosen, np.int32)
    unplaced = np.flatnonzero(place < 0)
    place[unplaced] = rng.shuffled(np.flatnonzero(~np.array(taken))).astype(np.int32)
    return place


@dataclass(slots=True, eq=False)
class Population:
    """Different permutations."""

    members: Int32
    costs: Int64
    fruitless_children: int = 0

    def add(self, place: Int32, cost: int, limit: int) -> None:
        """Let a child enter, in place of the worst member if full; reject duplicates and worse ones."""
        self.fruitless_children += 1
        if (self.members == place).all(axis=1).any():
            return
        if len(self.members) < limit:
            self.members = np.vstack([self.members, place[None, :]])
            self.costs = np.append(self.costs, cost)
        else:
            worst = int(self.costs.argmax())
            if cost >= self.costs[worst]:
                return
            self.members[worst], self.costs[worst] = place, cost
        self.fruitless_children = 0


#: Searches per generation, a constant, so that the result does not depend on the number of threads.
WIDTH = 2
#: The spread of local optima (standard deviation over mean, times the root of n) from which on they count as
#: diverse. Good solutions then lie in few regions far apart, between which whole blocks have to be exchanged.
#: With a smaller spread all optima are nearly alike and longer searches gain more. (Averages over n terms
#: vary by one over the root of n.)
WIDE_SPREAD = 0.12
#: An annealing of blocks begins at this share of the cost per task and cools by this factor, so many times.
HOTTEST = 0.3
COOLING = 0.9
COOLINGS = 16
#: The descents per task of the longest annealing before the first population of tabu searches.
FIRST_ANNEALINGS = 16
#: Consecutive children per member that do not enter the population, after which it is replaced.
FRUITLESS_CHILDREN = 4
#: Above every cost.
NEVER = np.iinfo(np.int64).max


@frozen
class EvolutionSettings:
    """The parameters of the population (see :func:`evolve`)."""

    population: int = 16  # number of solutions that are kept
    #: the most descents per task in one annealing of blocks; the first one has one per task, and each of the
    #: next ones twice as many. 0: no annealing of blocks.
    descending: int = 1024
    short: int = 2  # exchanges of one tabu search over n, for diverse and for similar local optima
    long: int = 10
    #: consecutive populations and annealings of full length without a new best after which the search ends,
    #: regardless of the limits. Small problems are usually solved long before.
    renewals: int = 20


DEFAULT_EVOLUTION = EvolutionSettings()


def evolve(
    problem: DenseProblem, start: Int32, *, limit: int | None = None,
    settings: EvolutionSettings = DEFAULT_EVOLUTION, control: RunControl = DEFAULT_CONTROL
) -> tuple[Int32, int]:
    """Search for a permutation of least cost, starting from a given one and from random ones.

    The memetic search follows Benlic and Hao (2015), but the spread of local optima determines the length of
    its tabu searches, and populations that no longer change are replaced by new ones. If local optima are
    diverse, annealings of blocks compete, which exchange whole groups of tasks; what has ended with the lower
    cost comes next. With more than :data:`FEW_TASKS` tasks a single solution is improved by iterated local
    search.
    """
    if limit is None and control.deadline is None:
        raise ValueError("evolve needs a limit of work or a deadline")
    if problem.n < 2:
        return start.copy(), 0
    run = _Search(problem, start.copy(), RandomNumbers(control.seed), limit, control)
    if problem.n > FEW_TASKS:
        run.improve_best()
        return run.best, run.exchanges
    first = run.first_population(settings.population)
    spread = _relative_deviation([problem.cost(each) for each in first[1:]]) * math.sqrt(problem.n)
    diverse = spread > WIDE_SPREAD
    exchanges = problem.n * (settings.short if diverse else settings.long)
    ways: list[Callable[[], int]] = []
    ends: list[int] = []
    if diverse and settings.descending:
        ways.append(partial(run.anneal, settings.descending))
        ends.append(run.first_annealings(settings.descending))
    ways.append(partial(run.improve_population, settings.population, exchanges))
    ends.append(run.improve_population(settings.population, exchanges, first))
    fruitless = 0
    while not run.over and fruitless < settings.renewals:
        before, best = run.least, ends.index(min(ends))
        ends[best] = ways[best]()
        fruitless = 0 if run.least < before else fruitless + 1
    return run.best, run.exchanges


#: From permutations (one per row), a seed for each, the most exchanges and a control: improved permutations,
#: and their exchanges.
_Improvement = Callable[[Int32, UInt64, int, RunControl], tuple[Int32, Int64]]


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
    annealed: int = 0  # descents per task in the last annealing of blocks
    similar: tuple[Similarity, Similarity] = field(init=False)  # tasks and places, for the first annealing

    def __post_init__(self) -> None:
        self.least = self.problem.cost(self.best)

    def first_population(self, size: int) -> Int32:
        """Descend from random permutations; the first member is the given permutation."""
        found = [self.best[None, :]]
        while sum(map(len, found)) < size and not self.over:
            found.append(self.improve(self.random_permutations(WIDTH), 20 * self.problem.n, fruitless=1)[0])
        return np.vstack(found)

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

    def improve_population(self, size: int, iterations: int, first: Int32 | None = None) -> int:
        """Improve one population until it no longer changes; return its least cost."""
        n = self.problem.n
        pool = Population(np.empty((0, n), np.int32), np.empty(0, np.int64))
        for begin in range(0, size, WIDTH):
            if self.over:
                break
            width = min(WIDTH, size - begin)
            parents = self.random_permutations(width) if first is None else first[begin : begin + width]
            self.improve_generation(pool, parents, size, iterations)
        pool.fruitless_children = 0
        most = FRUITLESS_CHILDREN * size
        while not self.over and len(pool.costs) > 1 and pool.fruitless_children < most:
            pairs = [self.rng.distinct(len(pool.costs), 2) for _ in range(WIDTH)]
            children = [crossed_uniformly(self.rng, pool.members[i], pool.members[j]) for i, j in pairs]
            self.improve_generation(pool, np.stack(children), size, iterations)
        return int(pool.costs.min(initial=NEVER))

    def improve_generation(self, pool: Population, begin: Int32, size: int, iterations: int) -> None:
        for place, cost in zip(*self.improve(begin, iterations), strict=True):
            pool.add(place, int(cost), size)

    def first_annealings(self, most: int) -> int:
        """Anneal ever longer, until a population of tabu searches competes; return the least cost."""
        rows = self.problem.flow, self.problem.distance
        self.similar = Similarity.of_rows(rows[0]), Similarity.of_rows(rows[1])
        least = self.anneal(most)
        while not self.over and self.annealed < min(most, FIRST_ANNEALINGS):
            least = min(least, self.anneal(most))
        return least

    def anneal(self, most: int) -> int:
        """Anneal the best permutation and a random one, twice as long as the last time.

        What is best keeps its large groups and improves inside, while random ones find other arrangements.
        Returns the least cost if that has changed, otherwise the cost reached from the random permutation.
        """
        n, before, other = self.problem.n, self.least, NEVER
        self.annealed = min(most, max(1, 2 * self.annealed))
        descents, temperature = -(-self.annealed * n // COOLINGS), HOTTEST * self.least / n
        last = np.vstack([self.best, self.random_permutations(WIDTH - 1)])

        def search(
            begin: Int32, seeds: UInt64, iterations: int, control: RunControl
        ) -> tuple[Int32, Int64]:
            nonlocal last
            chosen = BlockAnnealingSettings(iterations, descents, temperature)
            last, best, done = anneal_blocks(
                self.problem, *self.similar, begin, seeds, chosen, control=control
            )
            return best, done

        for _ in range(COOLINGS):
            costs = self.search_from(last, descents * n, search)[1]
            other = min(other, int(costs[1:].min(initial=NEVER)))
            temperature *= COOLING
        return self.least if self.least < before else other

    def improve(self, begin: Int32, iterations: int, fruitless: int = 0) -> tuple[Int32, Int64]:
        """Search from all rows of `begin` by tabu searches or descents."""

        def search(
            begin: Int32, seeds: UInt64, iterations: int, control: RunControl
        ) -> tuple[Int32, Int64]:
            chosen = TabuSettings(iterations, fruitless=fruitless)
            place, _, done = tabu_many(self.problem, begin, seeds, chosen, control=control)
            return place, done

        return self.search_from(begin, iterations, search)

    def search_from(self, begin: Int32, iterations: int, search: _Improvement) -> tuple[Int32, Int64]:
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
            place, done = search(begin, seeds, iterations, replace(self.control, spend=spend, watch=None))
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


def _relative_deviation(costs: list[int]) -> float:
    """Return the standard deviation over the mean, from exact sums: the same number on every processor."""
    total, count = sum(costs), len(costs)
    if total == 0:
        return 0.0
    variance = count * sum(cost * cost for cost in costs) - total * total
    return math.sqrt(variance / (total * total))
