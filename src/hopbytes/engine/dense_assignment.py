"""Dense quadratic assignment by a memetic search: a small population improved by tabu searches."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field, replace

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


def transplanted(one: Int32, other: Int32, places: Int64) -> Int32:
    """Return `other` with the tasks that `one` has on `places`.

    A task that loses its place gets the one that the new task leaves, so that tasks outside of the block
    stay where they are: the partially mapped crossover of Goldberg and Lingle (1985). If the parents hold
    the same groups of tasks on different groups of places, two whole groups are exchanged.
    """
    place, at = other.tolist(), np.argsort(other).tolist()
    source = np.argsort(one)[places].tolist()
    for here, task in zip(places.tolist(), source, strict=True):
        there, displaced = place[task], at[here]
        place[displaced], place[task] = there, here
        at[there], at[here] = displaced, task
    return np.array(place, np.int32)


def differences(rows: Int64) -> Int64:
    """Return by how much each two rows of a matrix differ, as int64[n, n]; O(n^3)."""
    return np.stack([np.abs(rows - row).sum(axis=1) for row in rows])


def crossed_block(rng: RandomNumbers, of_tasks: Int64, of_places: Int64, one: Int32, other: Int32) -> Int32:
    """Take the places of similar tasks, or the tasks of similar places, from one and the rest from the other.

    Places are similar if their distances to all places differ little, and tasks if their flows do. If tasks
    and places form groups, on several levels, blocks of any size cover whole groups, whose arrangement in a
    good parent the child inherits. A block holds between two and a third of all tasks; O(n log n).
    """
    n = len(one)
    by_tasks = rng.happens(0.5)
    difference = (of_tasks if by_tasks else of_places)[rng.below(n)]
    size = min(n, 2 + rng.below(max(1, n // 3 - 1)))
    # Equally similar ones are drawn at random.
    similar = np.lexsort((rng.words(n), difference))[:size]
    return transplanted(one, other, one[similar].astype(np.int64) if by_tasks else similar)


@dataclass(slots=True, eq=False)
class Population:
    """Different permutations; one that shares over `alike` places with a member competes with it only."""

    members: Int32
    costs: Int64
    alike: int
    fruitless_children: int = 0

    def add(self, place: Int32, cost: int, limit: int) -> None:
        """Let a child enter, in place of the worst member if full; reject duplicates and worse ones."""
        self.fruitless_children += 1
        rival = self._rival(place)
        if rival is None and len(self.members) < limit:
            self.members = np.vstack([self.members, place[None, :]])
            self.costs = np.append(self.costs, cost)
        else:
            rival = int(self.costs.argmax()) if rival is None else rival
            if cost >= self.costs[rival]:
                return
            self.members[rival], self.costs[rival] = place, cost
        self.fruitless_children = 0

    def _rival(self, place: Int32) -> int | None:
        """Return the member most like a permutation, if they are too much alike to be both members."""
        if not len(self.members):
            return None
        shared = np.count_nonzero(self.members == place, axis=1)
        nearest = int(shared.argmax())
        return nearest if shared[nearest] > self.alike else None


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
#: Consecutive children per member that do not enter the population, after which it is replaced.
FRUITLESS_CHILDREN = 4
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
    #: consecutive populations without a new best after which the search ends, regardless of the limits;
    #: larger populations count several times. Small problems are usually solved long before.
    renewals: int = 20


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
    problem: DenseProblem, start: Int32, *, limit: int | None = None,
    settings: EvolutionSettings = DEFAULT_EVOLUTION, control: RunControl = DEFAULT_CONTROL
) -> tuple[Int32, int]:
    """Search for a permutation of least cost, starting from a given one and from random ones.

    The memetic search follows Benlic and Hao (2015), but the spread of local optima determines the length of
    its tabu searches, and populations that no longer change are replaced by new ones. If local optima are
    diverse, larger populations compete, whose children are improved by descents only and inherit whole blocks
    as well; a new population is improved in the way whose last one has found the lower cost. With more than
    :data:`FEW_TASKS` tasks a single solution is improved by iterated local search.
    """
    if limit is None and control.deadline is None:
        raise ValueError("evolve needs a limit of work or a deadline")
    if problem.n < 2:
        return start.copy(), 0
    run = _Search(problem, start.copy(), RandomNumbers(control.seed), limit, control)
    if problem.n > FEW_TASKS:
        run.improve_best()
        return run.best, run.exchanges
    ways, first = run.prepare(settings)
    ends = [run.improve_population(first if way is ways[-1] else None, way) for way in ways]
    fruitless = 0
    while not run.over and fruitless < settings.renewals:
        before, best = run.least, ends.index(min(ends))
        if ways[best].blocks:
            size = min(2 * ways[best].size, max(settings.descending, MEMBERS_PER_TASK * problem.n))
            ways[best] = replace(ways[best], size=size)
        ends[best] = run.improve_population(None, ways[best])
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
        """Descend from random permutations; return how populations are improved, and a first population."""
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

    def improve_population(self, first: Int32 | None, way: _Way) -> int:
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
        most = FRUITLESS_CHILDREN * way.size
        while not self.over and len(pool.costs) > 1 and pool.fruitless_children < most:
            pairs = [self.rng.distinct(len(pool.costs), 2) for _ in range(way.width)]
            children = np.stack([self.child(pool.members[i], pool.members[j], way) for i, j in pairs])
            self.improve_generation(pool, children, way)
        return int(pool.costs.min(initial=NEVER))

    def improve_generation(self, pool: Population, begin: Int32, way: _Way) -> None:
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
        if way.blocks and self.rng.coins(1)[0]:
            if self.unlike is None:
                self.unlike = differences(self.problem.flow), differences(self.problem.distance)
            return crossed_block(self.rng, *self.unlike, one, other)
        return crossed_uniformly(self.rng, one, other)


def _relative_deviation(costs: list[int]) -> float:
    """Return the standard deviation over the mean, from exact sums: the same number on every processor."""
    total, count = sum(costs), len(costs)
    if total == 0:
        return 0.0
    variance = count * sum(cost * cost for cost in costs) - total * total
    return math.sqrt(variance / (total * total))
