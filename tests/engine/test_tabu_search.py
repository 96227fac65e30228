"""Tabu search on dense assignment problems: changes are exact in every number type, optima are found."""

import itertools
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hopbytes.engine import RunControl
from hopbytes.engine.dense_assignment import DenseProblem, EvolutionSettings, TabuSettings, evolve, tabu_many
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
    perturbed=st.booleans(),
)
@settings(deadline=None, max_examples=60)
def test_the_change_is_exact(seed, n, symmetric, largest, with_linear_cost, perturbed):
    # Larger and larger numbers make the compiled side use floats, narrow integers, doubles and wide integers.
    flow, distance = matrices(seed, n, largest, symmetric=symmetric)
    linear_cost = matrices(seed + 1, n, largest * largest, symmetric=())[0] if with_linear_cost else None
    problem = DenseProblem.build(flow, distance, linear_cost)
    begin = starts(seed, n, 3)
    chosen = TabuSettings(iterations=40, fruitless_before_perturbation=7 if perturbed else 0, aspiration=15)
    place, change, done = tabu_many(problem, begin, np.arange(3, dtype=np.uint64), chosen)
    for before, after, gained, moves in zip(begin, place, change, done, strict=True):
        assert sorted(after.tolist()) == list(range(n))
        difference = true_cost(flow, distance, after, linear_cost) - true_cost(
            flow, distance, before, linear_cost
        )
        assert difference == gained <= 0
        assert problem.cost(after) - problem.cost(before) == gained
        assert moves >= 40


@pytest.mark.parametrize("symmetric", SHAPES)
def test_every_kind_of_number_goes_the_same_way(symmetric):
    """Volumes times a constant change nothing but the type that holds them; 37 tasks leave steps unfilled."""
    flow, distance = matrices(12, 37, 9, symmetric=symmetric)
    chosen = TabuSettings(
        iterations=600, fruitless_before_perturbation=40, most_perturbation=6, aspiration=500
    )
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


@given(seed=st.integers(0, 2**32), n=st.integers(1, 6), symmetric=st.sampled_from(SHAPES))
@settings(deadline=None, max_examples=25)
def test_small_problems_are_solved(seed, n, symmetric):
    flow, distance = matrices(seed, n, 9, symmetric=symmetric)
    least = min(true_cost(flow, distance, p) for p in itertools.permutations(range(n)))
    problem, begin = DenseProblem.build(flow, distance), starts(seed, n, 1)[0]
    place, _ = evolve(problem, begin, limit=10**6, control=RunControl(seed % 100))
    assert true_cost(flow, distance, place) == least


def test_a_descent_ends_where_no_exchange_helps():
    flow, distance = matrices(4, 15, 50, symmetric=("flow",))
    problem = DenseProblem.build(flow, distance)
    descent = TabuSettings(iterations=10_000, fruitless=1)
    place, _, done = tabu_many(problem, starts(1, 15, 1), np.zeros(1, np.uint64), descent)
    assert done[0] < 200
    here = problem.cost(place[0])
    for i, j in itertools.combinations(range(15), 2):
        other = place[0].copy()
        other[[i, j]] = other[[j, i]]
        assert problem.cost(other) >= here


def test_tabu_goes_on_where_a_descent_stays():
    flow, distance = matrices(5, 25, 99, symmetric=("flow", "distance"))
    problem = DenseProblem.build(flow, distance)
    begin, seeds = starts(2, 25, 8), np.arange(8, dtype=np.uint64)
    descents = tabu_many(problem, begin, seeds, TabuSettings(5000, fruitless=1))[1]
    searches = tabu_many(problem, begin, seeds, TabuSettings(5000))[1]
    assert np.all(searches < descents)


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


def test_a_small_problem_ends_by_itself():
    flow, distance = matrices(11, 7, 9, symmetric=("flow",))
    _, done = evolve(DenseProblem.build(flow, distance), np.arange(7, dtype=np.int32), limit=10**12)
    assert done < 10**6


def test_an_end_is_asked_for():
    problem = DenseProblem.build(*matrices(9, 4, 9, symmetric=()))
    with pytest.raises(ValueError, match="deadline"):
        evolve(problem, np.arange(4, dtype=np.int32))


def test_a_spread_of_zero_is_no_division_by_it():
    flow = np.zeros((6, 6), np.int64)
    place, _ = evolve(
        DenseProblem.build(flow, flow), np.arange(6, dtype=np.int32), limit=5000,
        settings=EvolutionSettings(population=4),
    )
    assert sorted(place.tolist()) == list(range(6))


def test_groups_find_their_places():
    """Flows within and between groups fit distances exactly, so the least cost is zero."""
    group = np.arange(48) // 6
    colour = np.arange(48) % 2
    apart = 20 + np.abs(np.subtract.outer(group, group)) * (group[:, None] != group[None, :])
    same = colour[:, None] == colour[None, :]
    order = RandomNumbers(5).permutation(48)
    flow, distance = (apart * same)[np.ix_(order, order)], apart * ~same
    for descending in (0, 64):
        place, _ = evolve(
            DenseProblem.build(flow, distance), starts(1, 48, 1)[0], limit=5_000_000,
            settings=EvolutionSettings(descending=descending), control=RunControl(4),
        )
        assert true_cost(flow, distance, place) == 0
