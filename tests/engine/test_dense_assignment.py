"""Dense assignment: tabu search beside its definition, crossovers, populations."""

import itertools
import math
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hopbytes.engine import dense_assignment as dense
from hopbytes.engine.control import RunControl
from hopbytes.engine.dense_assignment import (
    BlockAnnealingSettings,
    DenseProblem,
    EvolutionSettings,
    Population,
    TabuSettings,
    anneal_blocks,
    evolve,
    tabu_many,
)
from hopbytes.util.random_numbers import RandomNumbers


def matrices(seed, n, largest, *, symmetric):
    """Flow and distance with diagonals; `symmetric` names those that are."""
    rng = np.random.default_rng(seed)
    found = []
    for name in ("flow", "distance"):
        matrix = rng.integers(0, largest, (n, n), endpoint=True)
        found.append(np.triu(matrix) + np.triu(matrix, 1).T if name in symmetric else matrix)
    return found


def true_cost(flow, distance, place, linear_cost=None):
    """The definition, in Python's integers."""
    n = len(flow)
    pairs = itertools.product(range(n), repeat=2)
    total = sum(int(flow[i, j]) * int(distance[place[i], place[j]]) for i, j in pairs)
    return total + (0 if linear_cost is None else sum(int(linear_cost[i, place[i]]) for i in range(n)))


def starts(seed, n, count):
    rng = np.random.default_rng(seed)
    return np.stack([rng.permutation(n) for _ in range(count)]).astype(np.int32)


SHAPES = [(), ("flow",), ("distance",), ("flow", "distance")]


@given(
    seed=st.integers(0, 2**32), n=st.integers(2, 12), symmetric=st.sampled_from(SHAPES),
    largest=st.sampled_from([1, 50, 2**11, 2**20, 2**24]), with_linear_cost=st.booleans(),
)
@settings(deadline=None, max_examples=60)
def test_the_change_is_exact(seed, n, symmetric, largest, with_linear_cost):
    # Larger and larger numbers make the compiled side use floats, narrow integers, doubles and wide integers.
    flow, distance = matrices(seed, n, largest, symmetric=symmetric)
    linear_cost = matrices(seed + 1, n, largest * largest, symmetric=())[0] if with_linear_cost else None
    problem = DenseProblem.build(flow, distance, linear_cost)
    begin = starts(seed, n, 3)
    chosen = TabuSettings(iterations=40)
    place, change, done = tabu_many(problem, begin, np.arange(3, dtype=np.uint64), chosen)
    for before, after, gained, moves in zip(begin, place, change, done, strict=True):
        assert sorted(after.tolist()) == list(range(n))
        difference = true_cost(flow, distance, after, linear_cost) - true_cost(
            flow, distance, before, linear_cost
        )
        assert difference == gained <= 0
        assert problem.cost(after) - problem.cost(before) == gained
        assert moves <= 40


def test_numbers_whose_sums_need_more_than_61_bits_lose_low_bits():
    """8 x 12 x 2^40 x 2^30 has 77 bits, 17 too many: distances keep 20 bits, and volumes lose the rest."""
    place = np.arange(4)
    distance = 2**30 + 4096 * place[:, None] + 2**20 * place
    flow = 2**40 + 128 * place[:, None] + 2**20 * place
    np.fill_diagonal(distance, 0)
    np.fill_diagonal(flow, 0)
    linear_cost = 2**50 + 2**17 * place[:, None] + place
    problem = DenseProblem.build(flow, distance, linear_cost)
    assert not problem.symmetric
    assert np.array_equal(problem.distance, distance >> 11)
    assert np.array_equal(problem.flow, flow >> 6)
    assert np.array_equal(problem.linear_cost, linear_cost >> 17)
    fits = DenseProblem.build(flow >> 20, distance)
    assert np.array_equal(fits.flow, flow >> 20)
    assert not len(fits.linear_cost)


@pytest.mark.parametrize("symmetric", SHAPES)
def test_every_kind_of_number_goes_the_same_way(symmetric):
    """Volumes times a constant change nothing but the type that holds them; 37 tasks leave steps unfilled."""
    flow, distance = matrices(12, 37, 9, symmetric=symmetric)
    chosen = TabuSettings(iterations=600)
    found = set()
    for scale in (1, 2**13, 2**29, 2**40):
        problem = DenseProblem.build(flow * scale, distance)
        place, change, done = tabu_many(problem, starts(2, 37, 2), np.arange(2, dtype=np.uint64), chosen)
        assert np.all(change % scale == 0)
        found.add((place.tobytes(), *(change // scale).tolist(), *done.tolist()))
    assert len(found) == 1


def search_by_definition(flow, distance, place, iterations, tenure):
    """Robust tabu search with one tenure, every cost from scratch; no two exchanges cost the same here."""
    def cost(p):
        return int((flow * distance[np.ix_(p, p)]).sum())

    place, left = place.copy(), {}
    now = best = cost(place)
    best_place = place.copy()
    for step in range(1, iterations + 1):
        chosen = None
        for i, j in itertools.combinations(range(len(place)), 2):
            other = place.copy()
            other[[i, j]] = other[[j, i]]
            after = cost(other)
            tabu = min(left.get((i, other[i]), -1), left.get((j, other[j]), -1)) >= step - 1
            if (not tabu or after < best) and (chosen is None or after < chosen[0]):
                chosen = (after, i, j, other)
        if chosen is None:
            break
        now, i, j, other = chosen
        left[i, place[i]] = left[j, place[j]] = step + tenure
        place = other
        if now < best:
            best, best_place = now, place.copy()
    return best_place


@pytest.mark.parametrize("symmetric", SHAPES)
def test_the_search_is_the_one_of_the_definition(symmetric):
    flow, distance = matrices(13, 18, 10**5, symmetric=symmetric)
    begin = starts(6, 18, 1)
    chosen = TabuSettings(iterations=80, tenure_low=30, tenure_high=30)
    place, _, _ = tabu_many(DenseProblem.build(flow, distance), begin, np.zeros(1, np.uint64), chosen)
    assert place[0].tolist() == search_by_definition(flow, distance, begin[0], 80, 5).tolist()


def block_annealing_by_definition(flow, distance, place, seed, descents, temperature):
    """Annealing by exchanges of blocks, every cost from scratch; no two exchanges cost the same here."""
    rng, n = RandomNumbers(seed), len(place)

    def cost(p):
        return int((flow * distance[np.ix_(p, p)]).sum())

    def exchanged(p, i, j):
        other = p.copy()
        other[[i, j]] = other[[j, i]]
        return other

    def descended(p):
        while True:
            better = min((exchanged(p, i, j) for i, j in itertools.combinations(range(n), 2)), key=cost)
            if cost(better) >= cost(p):
                return p
            p = better

    def blocks(similar):
        first = rng.below(n)
        sums, before = [0.0], 0
        for size in range(1, max(1, n // 3) + 1):
            after = similar.difference[first, similar.order[first, size]]
            sums.append(sums[-1] + ((after - before) / after / math.sqrt(size) if after > before else 0.0))
            before = after
        drawn = sums[-1] * (int(rng.words(1)[0] >> np.uint64(11)) / 2**53)
        size = 1 + sum(drawn >= border for border in sums[1:-1])
        block = similar.order[first, :size].tolist()
        while (second := rng.below(n)) in block:
            pass
        return block, [item for item in similar.order[second].tolist() if item not in block][:size]

    tasks, places = dense.Similarity.of_rows(flow), dense.Similarity.of_rows(distance)
    present = best = descended(place)
    for _ in range(descents):
        by_tasks = rng.below(2) == 0
        following = present
        for one, other in zip(*blocks(tasks if by_tasks else places), strict=True):
            at = np.argsort(following)
            following = exchanged(following, *((one, other) if by_tasks else (at[one], at[other])))
        following = descended(following)
        change = cost(following) - cost(present)
        if change > 0:
            drawn = (int(rng.words(1)[0] >> np.uint64(11)) + 0.5) / 2**53
            if change >= -temperature * math.log(drawn):
                continue
        present = following
        best = min(best, present, key=cost)
    return present, best


@pytest.mark.parametrize("temperature", [0.0, 3e10])
@pytest.mark.parametrize("symmetric", SHAPES)
def test_annealing_of_blocks_is_the_one_of_the_definition(symmetric, temperature):
    flow, distance = (matrix // 4 for matrix in matrices(14, 13, 10**6, symmetric=symmetric))
    np.fill_diagonal(flow, 0)
    np.fill_diagonal(distance, 0)
    begin, problem = starts(7, 13, 2), DenseProblem.build(flow, distance)
    # `build` adds both directions of one matrix of a symmetric problem, so that half of the sum is the cost.
    halves = 2 if problem.symmetric else 1
    tasks, places = dense.Similarity.of_rows(problem.flow), dense.Similarity.of_rows(problem.distance)
    last, best, _ = anneal_blocks(
        problem, tasks, places, begin, np.array([3, 4], np.uint64),
        BlockAnnealingSettings(10**6, 12, temperature / halves),
    )
    for i in range(2):
        expected = block_annealing_by_definition(
            problem.flow, problem.distance, begin[i], 3 + i, 12, temperature
        )
        assert [last[i].tolist(), best[i].tolist()] == [each.tolist() for each in expected]


@given(seed=st.integers(0, 2**32), n=st.integers(1, 6), symmetric=st.sampled_from(SHAPES))
@settings(deadline=None, max_examples=25)
def test_small_problems_are_solved(seed, n, symmetric):
    flow, distance = matrices(seed, n, 9, symmetric=symmetric)
    least = min(true_cost(flow, distance, p) for p in itertools.permutations(range(n)))
    problem, begin = DenseProblem.build(flow, distance), starts(seed, n, 1)[0]
    place, _ = evolve(problem, begin, limit=10**6, control=RunControl(seed % 100))
    assert true_cost(flow, distance, place) == least


def test_the_same_for_any_number_of_threads():
    flow, distance = matrices(6, 60, 99, symmetric=())
    problem = DenseProblem.build(flow, distance)
    begin = starts(3, 60, 1)[0]

    def run(seed, threads):
        costs = []
        control = RunControl(seed, threads, watch=costs.append)
        place, done = evolve(problem, begin, limit=10**6, control=control)
        return place.tobytes(), done, tuple(costs)

    assert len({run(8, threads) for threads in (1, 2, 5)}) == 1
    assert run(9, 1)[2] != run(8, 1)[2]


def test_the_work_done_before_a_deadline_repeats_the_answer():
    flow, distance = matrices(7, 60, 99, symmetric=("flow", "distance"))
    problem = DenseProblem.build(flow, distance)
    begin, booked = starts(4, 60, 1)[0], []
    control = RunControl(
        deadline=time.monotonic() + 0.2, spend=lambda arcs, whole: booked.append(arcs if whole else 0)
    )
    place, done = evolve(problem, begin, control=control)
    again, exchanges = evolve(problem, begin, limit=sum(booked))
    assert (again.tobytes(), exchanges) == (place.tobytes(), done)


def test_work_is_bounded():
    flow, distance = matrices(8, 30, 99, symmetric=("flow", "distance"))
    problem = DenseProblem.build(flow, distance)
    begin = starts(5, 30, 1)[0]
    for limit in (0, 1, 1000, 10**5):
        booked = [0]
        control = RunControl(spend=lambda arcs, whole, to=booked: to.append(arcs))
        place, _ = evolve(problem, begin, limit=limit, control=control)
        # Two searches that have begun build their matrices: n passes of n^2 / 8 arcs, and their beginning.
        assert sum(booked) <= limit + 2 * (5000 + 30 * (30 * 30 // 8 + 1))
        assert problem.cost(place) <= problem.cost(begin)


def test_a_spread_of_zero_is_no_division_by_it():
    flow = np.zeros((6, 6), np.int64)
    place, _ = evolve(
        DenseProblem.build(flow, flow), np.arange(6, dtype=np.int32), limit=5000,
        settings=EvolutionSettings(population=4),
    )
    assert sorted(place.tolist()) == list(range(6))


def permutations(seed, n, count):
    rng = RandomNumbers(seed)
    return [rng.permutation(n).astype(np.int32) for _ in range(count)]


@pytest.mark.parametrize("n", [1, 2, 3, 30])
def test_children_are_permutations_and_keep_what_parents_share(n):
    for seed in range(20):
        one, other = permutations(seed, n, 2)
        child = dense.crossed_uniformly(RandomNumbers(seed), one, other)
        assert child.dtype == np.int32
        assert sorted(child.tolist()) == list(range(n))
        assert np.array_equal(child[one == other], one[one == other])
        assert np.array_equal(dense.crossed_uniformly(RandomNumbers(seed), one, one), one)


def test_the_worst_member_leaves_and_equal_ones_do_not_enter():
    pool = Population(np.empty((0, 3), np.int32), np.empty(0, np.int64))
    for cost, place in ((5, [0, 1, 2]), (7, [1, 2, 0]), (7, [1, 2, 0]), (9, [2, 0, 1])):
        pool.add(np.array(place, np.int32), cost, 2)
    assert sorted(pool.costs.tolist()) == [5, 7]
    assert pool.fruitless_children == 2
    pool.add(np.array([0, 2, 1], np.int32), 6, 2)
    assert sorted(pool.costs.tolist()) == [5, 6]
    assert pool.fruitless_children == 0


def test_an_end_is_asked_for():
    problem = DenseProblem.build(*matrices(9, 4, 9, symmetric=()))
    with pytest.raises(ValueError, match="deadline"):
        evolve(problem, np.arange(4, dtype=np.int32))
