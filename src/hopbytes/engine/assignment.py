"""Dense quadratic assignment by a small population of tabu searches, until its work or its time is spent."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from hopbytes._arrays import Int32, Int64
from hopbytes.engine.control import Spend
from hopbytes.engine.settings import FEW_TASKS
from hopbytes.engine.tabu_search import DenseProblem, TabuSettings, tabu_many

#: Searches of one generation. A constant, so that the answer does not depend on the number of threads.
WIDTH = 2
#: From this spread of local optima on (standard deviation over mean, times the root of n) good solutions
#: lie in few valleys far apart: many short searches find the valley. Below, all optima are nearly
#: alike and a search gains by staying longer. (Averages over n terms scatter by one over the root of n.)
WIDE_SPREAD = 0.12


@dataclass(frozen=True, slots=True)
class EvolutionSettings:
    """How to breed (see :func:`evolve`).

    Parameters
    ----------
    population : int
        Solutions kept.
    short, long : int
        Exchanges of one tabu search over n, for wide and for narrow spread of local optima.
    fruitless_generations : int
        Children in a row that enter nothing, per member, after which the population is renewed.
    crowd : int
        Most tasks for which there is time for a population; with more, one placement is searched on and on.
    renewals : int
        Populations in a row without a new best after which the search ends, limits or not; small
        problems are solved long before.
    """

    population: int = 16
    short: int = 2
    long: int = 10
    fruitless_generations: int = 4
    renewals: int = 20
    crowd: int = FEW_TASKS


@dataclass(slots=True, eq=False)
class _Population:
    members: Int32
    costs: Int64
    fruitless_generations: int = 0

    def add(self, place: Int32, cost: int, limit: int) -> None:
        """Take a child in, in place of the worst one when full; twins and the worse stay out."""
        self.fruitless_generations += 1
        same_cost = self.costs == cost
        if np.any(np.all(self.members[same_cost] == place, axis=1)):
            return
        if len(self.members) < limit:
            self.members = np.vstack([self.members, place[None, :]])
            self.costs = np.append(self.costs, cost)
        else:
            worst = int(self.costs.argmax())
            if cost >= self.costs[worst]:
                return
            self.members[worst], self.costs[worst] = place, cost
        self.fruitless_generations = 0


def evolve(
    problem: DenseProblem,
    start: Int32,
    *,
    seed: int = 0,
    limit: int | None = None,
    deadline: float | None = None,
    threads: int = 1,
    settings: EvolutionSettings = EvolutionSettings(),
    spend: Spend | None = None,
    watch: Callable[[int], None] | None = None,
) -> tuple[Int32, int]:
    """Search for a permutation of least cost, starting from a given one and from random ones.

    Parameters
    ----------
    problem : DenseProblem
    start : int32[n]
        A permutation of the places.
    seed : int
        All randomness derives from it; the answer does not depend on `threads`.
    limit : int, optional
        Work after which no further search begins, in arcs (eight pairs of tasks count as one arc); the
        last searches are cut so that they do not go far beyond.
    deadline : float, optional
        ``time.monotonic()`` to stop at. Searches at work then are thrown away, so that a `limit` of the
        work done by the others gives the same permutation again.
    spend : callable, optional
        Told the work of every generation.
    watch : callable, optional
        Told the cost whenever a better permutation is found.

    Returns
    -------
    int32[n], int
        The best permutation met, never worse than `start`, and the exchanges made.

    Raises
    ------
    ValueError
        Neither `limit` nor `deadline`.

    Notes
    -----
    Memetic search after Benlic and Hao (2015): children take over what their parents agree on and half of
    the rest from each (uniform crossover), and are improved by a tabu search. Differences: how long those
    searches are is decided by the spread of local optima, populations that no longer change are given up
    for fresh ones, and generations of two are bred side by side. Of more than `crowd` tasks one placement is
    searched on from its best, the farther from there the longer nothing better was found. O(n^2) per
    exchange. The search of a population ends by itself when fresh populations keep ending at no better cost.

    Examples
    --------
    >>> ring = np.roll(np.eye(8, dtype=np.int64), 1, axis=1)
    >>> line = np.abs(np.subtract.outer(np.arange(8), np.arange(8)))
    >>> place, _ = evolve(DenseProblem.build(ring, line), np.arange(8, dtype=np.int32), limit=20_000)
    >>> int((ring * line[np.ix_(place, place)]).sum())
    14
    """
    if limit is None and deadline is None:
        raise ValueError("evolve needs an amount of work or a deadline")
    if problem.n < 2:
        return start.copy(), 0
    run = _Run(problem, start.copy(), np.random.default_rng(seed), limit, deadline, threads, spend, watch)
    if problem.n > settings.crowd:
        run.follow()
        return run.best, run.exchanges
    length, first = run.prepare(settings)
    run.breed(first, length, settings)
    barren = 0
    while not run.over and barren < settings.renewals:
        before = run.least
        run.breed(None, length, settings)
        barren = 0 if run.least < before else barren + 1
    return run.best, run.exchanges


@dataclass(slots=True, eq=False)
class _Run:
    """What is left to do, the best so far, and one generation at a time."""

    problem: DenseProblem
    best: Int32
    rng: np.random.Generator
    limit: int | None
    deadline: float | None
    threads: int
    tell_work: Spend | None
    tell_cost: Callable[[int], None] | None
    arcs: int = 0
    exchanges: int = 0
    over: bool = False
    least: int = field(init=False)

    def __post_init__(self) -> None:
        self.least = self.problem.cost(self.best)

    def prepare(self, settings: EvolutionSettings) -> tuple[int, Int32]:
        """Descend from random permutations: a first population, and how long to search.

        The best permutation so far, which somebody made with care, comes first.
        """
        n, found = self.problem.n, [self.best[None, :]]
        while sum(map(len, found)) < settings.population and not self.over:
            found.append(self.improve(self.randomly(WIDTH), 20 * n, fruitless=1)[0])
        members = np.vstack(found)
        costs = np.array([self.problem.cost(each) for each in members[1:]], np.float64)
        spread = costs.std() / max(costs.mean(), 1.0) * np.sqrt(n) if len(costs) else 0.0
        return n * (settings.short if spread > WIDE_SPREAD else settings.long), members

    def follow(self) -> None:
        """Search from the best, then from ever farther around it until something better is found."""
        n, barren = self.problem.n, 0
        while not self.over:
            begin, before = self.best.copy(), self.least
            if barren:
                shaken = self.rng.choice(n, min(n, 2 + barren), replace=False)
                begin[shaken] = begin[self.rng.permutation(shaken)]
            self.improve(begin[None, :], 2 * n)
            barren = 0 if self.least < before else barren + 1

    def breed(self, first: Int32 | None, length: int, settings: EvolutionSettings) -> None:
        """Raise one population until it no longer changes."""
        size = settings.population
        pool = _Population(np.empty((0, self.problem.n), np.int32), np.empty(0, np.int64))
        for begin in range(0, size, WIDTH):
            if self.over:
                break
            parents = self.randomly(WIDTH) if first is None else first[begin : begin + WIDTH]
            self.rear(pool, parents, length, size)
        pool.fruitless_generations = 0
        limit = settings.fruitless_generations * size
        while not self.over and len(pool.costs) > 1 and pool.fruitless_generations < limit:
            pairs = [self.rng.choice(len(pool.costs), 2, replace=False) for _ in range(WIDTH)]
            self.rear(pool, np.stack([self.child(*pool.members[pair]) for pair in pairs]), length, size)

    def rear(self, pool: _Population, begin: Int32, length: int, size: int) -> None:
        """Improve a generation and let it into the population."""
        for place, cost in zip(*self.improve(begin, length), strict=True):
            pool.add(place, int(cost), size)

    def improve(self, begin: Int32, iterations: int, fruitless: int = 0) -> tuple[Int32, Int64]:
        """Search from all rows of `begin`; of a generation that was not finished nothing remains."""
        if self.limit is not None:
            left = (self.limit - self.arcs) // max(1, len(begin)) // (self.problem.n**2 // 8 + 1)
            iterations = min(iterations, left)
        whole = False

        def spend(arcs: int, finished: bool) -> None:
            nonlocal whole
            whole = finished
            self.arcs += arcs if finished else 0
            if self.tell_work is not None:
                self.tell_work(arcs, finished)

        if not self.over and iterations > 0 and len(begin):
            seeds = self.rng.integers(0, 2**63, len(begin), dtype=np.uint64)
            place, _, done = tabu_many(
                self.problem, begin, seeds, TabuSettings(iterations, fruitless=fruitless),
                threads=self.threads, deadline=self.deadline, spend=spend,
            )
        if not whole:
            self.over = True
            return begin[:0], np.empty(0, np.int64)
        self.exchanges += int(done.sum())
        costs = np.array([self.problem.cost(each) for each in place], np.int64)
        if int(costs.min()) < self.least:
            self.best, self.least = place[int(costs.argmin())].copy(), int(costs.min())
            if self.tell_cost is not None:
                self.tell_cost(self.least)
        return place, costs

    def randomly(self, count: int) -> Int32:
        return np.stack([self.rng.permutation(self.problem.n) for _ in range(count)]).astype(np.int32)

    def child(self, one: Int32, other: Int32) -> Int32:
        """Cross two permutations: what is equal stays, the rest comes from either, what clashes is drawn."""
        n = len(one)
        turn = self.rng.permutation(n)
        pick = self.rng.random(n) < 0.5
        used, place = np.zeros(n, bool), np.full(n, -1, np.int32)
        same = one == other
        place[same] = one[same]
        used[one[same]] = True
        for task in turn[~same[turn]]:
            pair = (one[task], other[task]) if pick[task] else (other[task], one[task])
            for wish in pair:
                if not used[wish]:
                    place[task], used[wish] = wish, True
                    break
        homeless = np.flatnonzero(place < 0)
        place[homeless] = self.rng.permutation(np.flatnonzero(~used)).astype(np.int32)
        return place
