"""Bounds and constraints: tasks without load, forbidden PEs, agreement with the current mapping."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_bipartite_matching

import hopbytes as hb
from helpers.graphs import grid
from hopbytes.algorithms.multisection.hierarchy import fixed_loads
from hopbytes.cost.objectives.comm_cost import CommCost
from hopbytes.errors import HopbytesError, InfeasibleError
from hopbytes.model.allocation import SlotUse
from hopbytes.solve.feasible import (
    check_fixed_loads,
    evict_forbidden,
    excess,
    feasible,
    relabel_units,
    verify,
    zero_load_excess,
)
from hopbytes.solve.formulate import formulate
from hopbytes.solve.problem import Constraints, Request

WHERE = hb.allocate("node:4@10 core:4@1")
WIDTH = 48
SIDE = np.arange(WIDTH * WIDTH) % WIDTH
LOADS = {
    "half": (SIDE < WIDTH // 2).astype(np.int64),
    "heavy half": np.where(SIDE < WIDTH // 2, 1 + SIDE % 7, 0),
    "scattered": np.random.default_rng(0).integers(0, 2, WIDTH * WIDTH),
    "few": (np.arange(WIDTH * WIDTH) % 12 == 0).astype(np.int64) * 5,
}


@pytest.mark.parametrize("name", LOADS)
def test_both_bounds_hold_and_searches_know_them(name):
    graph = grid(WIDTH, loads=LOADS[name])
    found = hb.map_tasks(graph, WHERE)
    zero_load = np.bincount(found.pe[LOADS[name] == 0], minlength=16)
    assert zero_load.max() <= -(-103 * np.count_nonzero(LOADS[name] == 0) // 1600)
    assert found.info["balance"] == "met"
    assert zero_load_excess(formulate(graph, WHERE, Request()), found.pe) == 0


def linear_cost_of(where, n, **constraints):
    return Constraints(**constraints).checked(n, where).linear_cost(n, where.k)


def one_each(where):
    return np.arange(where.k, dtype=np.int32), np.ones(where.k, np.int64)


def fixed_every_second(where, rng):
    places = rng.permutation(where.k).tolist()
    return {"fixed": {task: places[task] for task in range(0, where.k, 2)}}


@pytest.mark.parametrize("seed", range(60))
def test_a_mapping_is_found_if_and_only_if_there_is_a_matching(seed):
    rng = np.random.default_rng(seed)
    where = hb.allocate("node:3@10 core:4@1")
    barred = rng.random((12, 12)) < rng.choice([0.3, 0.6, 0.8])
    barred[np.arange(12), rng.integers(0, 12, 12)] = False
    cost = linear_cost_of(where, 12, forbidden=np.argwhere(barred))
    matched = maximum_bipartite_matching(csr_array((~barred).astype(np.int8)), perm_type="column")
    if int(matched.min()) < 0:
        with pytest.raises(InfeasibleError, match="allow more PEs"):
            evict_forbidden(where, *_arguments(where), cost, exact=True)
        return
    found = evict_forbidden(where, *_arguments(where), cost, exact=True)
    assert sorted(found.tolist()) == list(range(12))
    assert not barred[np.arange(12), found].any()


def _arguments(where):
    start, caps = one_each(where)
    return start, None, caps


@pytest.mark.parametrize("spec", ["node:40@10 core:10@1", "torus:20x20@2 / core:1"])
def test_the_nearest_pe_with_room_is_taken_however_many_there_are(spec):
    """More PEs have room than 256, and the nearest of them has the highest number."""
    where = hb.allocate(spec)
    k, cost = where.k, linear_cost_of(where, 1, forbidden=[(0, where.k - 1)])
    distance = [where.distance.between(k - 1, pe) for pe in range(k - 1)]
    found = evict_forbidden(where, np.array([k - 1], np.int32), None, np.ones(k, np.int64), cost, exact=False)
    assert distance[found[0]] == min(distance)


def test_fixed_tasks_may_fill_a_pe():
    where, fixed = hb.allocate("core:3"), {0: 2, 1: 2, 3: 0}
    cost, loads = linear_cost_of(where, 4, fixed=fixed), np.array([4, 3, 9, 2])
    assert fixed_loads(cost, loads, 3).tolist() == [2, 0, 7]
    assert fixed_loads(cost, None, 3).tolist() == [1, 0, 2]
    check_fixed_loads(loads, np.array([2, 1, 7]), cost)
    for given_loads, caps, unit, what in (
        (loads, [2, 1, 6], 5, "fixed to PE 2 sum to 35, but it may carry 30"),
        (None, [1, 1, 1], 1, "fixed to PE 2 sum to 2, but it may hold 1"),
        (None, [0, 1, 1], 7, "fixed to PE 0 sum to 7, but it may carry 0"),
    ):
        with pytest.raises(InfeasibleError, match=what):
            check_fixed_loads(given_loads, np.array(caps), cost, unit)


@settings(max_examples=80, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_violations_are_those_of_the_definition(seed):
    """Loads and tasks without load beyond their bounds, empty PEs of a partition, closed PEs, counts."""
    rng = np.random.default_rng(seed)
    n, partition = int(rng.integers(1, 10)), bool(rng.random() < 0.6)
    loads = rng.integers(0, 4, n) if rng.random() < 0.7 else None
    graph = hb.CommGraph.from_edges([0], [n - 1], n=n, loads=loads)
    where = hb.allocate("core:3@1")
    barred = [(0, int(rng.integers(3)))] if rng.random() < 0.3 else None
    request = Request(partition=partition, use=SlotUse(oversubscribe=not partition))
    problem = formulate(graph, where, request, Constraints(forbidden=barred).checked(n, where))
    k, bounds = problem.where.k, problem.bounds
    pe = rng.integers(0, k, n).astype(np.int32)
    task_loads, counts = problem.graph.task_loads(), np.bincount(pe, minlength=k)
    over = max(0, int((np.bincount(pe, task_loads, k) - bounds.load).max()))
    idle, most_idle = np.bincount(pe[task_loads == 0], minlength=k), problem.zero_load_bounds
    idlers = 0 if most_idle is None else max(0, int((idle - most_idle).max()))
    empty = int(np.count_nonzero(counts == 0)) if partition and n >= k else 0
    assert excess(problem, pe) == over + idlers + empty * (n + int(task_loads.sum()))
    closed = barred is not None and problem.pes[pe[0]] == barred[0][1]
    wrong_counts = bounds.exact and not np.array_equal(counts, bounds.count)
    broken = closed or wrong_counts or (bounds.linear_cost is None and bool(idlers or empty))
    assert feasible(problem, pe) == (over == 0 and not broken)
    if broken:
        with pytest.raises(HopbytesError, match="internal error"):
            verify(problem, pe)
    else:
        verify(problem, pe)
    outside = pe.copy()
    outside[-1] = k
    for wrong in (outside, -1 - outside, pe[:-1]):
        with pytest.raises(HopbytesError, match="not every one"):
            verify(problem, wrong)


@pytest.mark.parametrize("spec", ["core:4", "node:2@10 core:2@1"])
@pytest.mark.parametrize("seed", range(6))
def test_only_units_with_the_same_bounds_are_renamed_and_more_tasks_stay(spec, seed):
    rng, where = np.random.default_rng(seed), hb.allocate(spec)
    caps, pe = rng.choice([1, 2], 4), rng.integers(0, 4, 9).astype(np.int32)
    current = rng.integers(-1, 4, 9).astype(np.int32)
    names = [
        np.array(each) for each in permutations(range(4))
        if np.array_equal(caps[list(each)], caps)
        and ("node" not in spec or (each[0] // 2 == each[1] // 2 and each[2] // 2 == each[3] // 2))
    ]

    def agree(placed):
        return int(np.count_nonzero(placed == current))

    found = relabel_units(where, pe, current, caps)
    assert any(np.array_equal(name[pe], found) for name in names)
    assert agree(found) >= agree(pe)
    if "node" not in spec:  # with several levels the outer one is decided first
        assert agree(found) == max(agree(name[pe]) for name in names)


def test_many_fixed_tasks_take_no_longer_than_a_mapping_of_free_ones():
    """Half of 2,400 processes are fixed, and no search may begin: all of them are where they belong."""
    graph, where = hb.read("stencil:60x40"), hb.allocate("node:100@10 core:24@1")
    constraints = Constraints(**fixed_every_second(where, np.random.default_rng(1)))
    mapping = hb.map_tasks(graph, where, "fast", constraints=constraints, limits=hb.Limits(work=0))
    assert all(mapping.pe[task] == pe for task, pe in constraints.fixed.items())


def cost_of(graph, pe):
    return CommCost().value(graph, TREE, pe)


TREE = hb.allocate("node:4@10 core:4@1")


class TestRemapping:
    def test_nothing_moves_when_moving_is_dear_and_all_is_rearranged_when_it_is_free(self):
        graph = grid(24)
        start = hb.map_tasks(graph, TREE, "random", seed=1)
        dear = hb.map_tasks(graph, TREE, constraints=hb.Constraints(initial=start, migration_price=10**6))
        assert dear.info["migrations"] == 0
        assert dear.info["migration_cost"] == 0
        free = hb.map_tasks(graph, TREE, constraints=hb.Constraints(initial=start))
        assert free.info["comm_cost"] <= 1.05 * hb.map_tasks(graph, TREE).info["comm_cost"]
        assert free.info["migrations"] == np.count_nonzero(free.pe != start.pe)

    def test_dearer_moves_are_fewer_moves(self):
        graph = grid(24)
        start = hb.map_tasks(graph, TREE, "identity").pe
        found = [
            hb.map_tasks(
                graph, TREE, constraints=hb.Constraints(initial=start, migration_price=price)
            ).info for price in (0, 5, 20, 100)
        ]
        migrations = [info["migrations"] for info in found]
        assert migrations == sorted(migrations, reverse=True)
        assert found[0]["migrations"] > 0
        for price, info in zip((0, 5, 20, 100), found, strict=True):
            assert info["migration_cost"] == price * info["migrations"]
            worst = cost_of(graph, start)
            assert info["comm_cost"] + info["migration_cost"] <= worst

    def test_a_placement_renamed_over_equal_nodes_comes_back(self):
        graph = grid(24)
        best = hb.map_tasks(graph, TREE, "strong", seed=2)
        elsewhere = ((best.pe // 4 + 1) % 4 * 4 + (best.pe % 4 + 2) % 4).astype(np.int32)
        assert np.array_equal(relabel_units(TREE, best.pe, elsewhere, np.ones(16, np.int64)), elsewhere)
        again = hb.map_tasks(
            graph, TREE, "strong", constraints=hb.Constraints(initial=elsewhere, migration_price=1)
        )
        assert again.info["migrations"] < graph.n / 10

    def test_processes_stay_on_the_slots_they_have(self):
        graph = grid(3)
        start = np.array([15, 14, 13, 11, 9, 8, 7, 6, 5], np.int32)
        moved = hb.map_tasks(graph, TREE, constraints=hb.Constraints(initial=start, migration_price=3))
        assert set(moved.pe.tolist()) == set(start.tolist())
        assert moved.info["comm_cost"] + 3 * moved.info["migrations"] <= cost_of(graph, start)


@pytest.mark.parametrize("mapper", ["identity", "random"])
def test_mappers_that_know_nothing_of_single_tasks_still_keep_both_bounds(mapper):
    found = hb.map_tasks(grid(WIDTH, loads=LOADS["half"]), WHERE, [mapper, "vcycle"])
    assert np.bincount(found.pe[LOADS["half"] == 0], minlength=16).max() <= 75


def test_fixed_tasks_stay_where_they_are_beside_idle_ones():
    fixed = {0: 5, WIDTH - 1: 9}
    found = hb.map_tasks(grid(WIDTH, loads=LOADS["half"]), WHERE, constraints=hb.Constraints(fixed=fixed))
    assert (found.pe[0], found.pe[WIDTH - 1]) == (5, 9)


def test_without_room_the_pe_with_the_most_room_is_taken():
    where = hb.allocate("core:4@1")
    cost = linear_cost_of(where, 3, forbidden=[(0, 0), (0, 1)])
    start, loads = np.array([0, 2, 3], np.int32), np.array([9, 4, 2])
    found = evict_forbidden(where, start, loads, np.array([9, 99, 5, 5]), cost, exact=False)
    assert found.tolist() == [3, 2, 3]  # PE 1 has more room, but is closed to task 0
