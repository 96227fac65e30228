"""The refiner tabu on mapping problems: what it reads, what it refuses to touch, what it reaches."""

import itertools

import numpy as np
import pytest

import hopbytes as hb
from helpers.paths import SHARED
from hopbytes.algorithms.base import Bounds, Effort
from hopbytes.algorithms.refiners.tabu import Tabu, dense_flow
from hopbytes.cost.objectives.comm_cost import CommCost
from hopbytes.kernels.linear_cost import FORBIDDEN, from_entries
from hopbytes.machines.kinds.table import Table
from hopbytes.model.allocation import Allocation
from hopbytes.solve.map_tasks import map_tasks

PROBLEM = SHARED / "qaplib" / "bur26a.dat"


def test_asymmetric_with_diagonals_is_the_quadratic_assignment_problem():
    rng = np.random.default_rng(1)
    flow, distance = rng.integers(0, 30, (9, 9)), rng.integers(0, 30, (9, 9))
    graph = hb.CommGraph.from_dense(flow)
    found = map_tasks(graph, Table(distance), ["identity", "tabu:work=1"], partition=False)
    place = found.pe
    assert found.info["comm_cost"] == int((flow * distance[np.ix_(place, place)]).sum())
    assert found.info["comm_cost"] < int((flow * distance).sum())
    assert np.array_equal(dense_flow(graph), flow)
    assert hb.evaluate(graph, found).mapping.comm_cost == found.info["comm_cost"]


@pytest.mark.slow
@pytest.mark.parametrize("refiner", ["swap", "n_square", "vcycle", "tabu:work=1"])
def test_no_refiner_loses_on_distances_that_depend_on_the_direction(refiner):
    for seed in range(5):
        rng = np.random.default_rng(seed)
        flow, distance = rng.integers(0, 9, (6, 6)) ** 3, rng.integers(0, 9, (6, 6)) ** 3
        graph = hb.CommGraph.from_dense(flow)
        before = map_tasks(graph, Table(distance), "random", seed=seed, partition=False)
        after = map_tasks(graph, Table(distance), ["random", refiner], seed=seed, partition=False)
        assert after.info["comm_cost"] <= before.info["comm_cost"]


def test_what_is_not_one_task_per_pe_stays_as_it_is():
    graph = hb.CommGraph.from_dense(np.ones((6, 6), np.int64))
    where = hb.allocate("node:3@5 core:1@1")
    pe = np.array([0, 0, 1, 1, 2, 2], np.int32)
    counts = np.full(3, 2)
    assert Tabu().refine(graph, where, pe, Bounds(counts, counts, exact=True), Effort()) is pe
    ones = np.ones(3, np.int64)
    small = hb.CommGraph.from_dense(np.ones((3, 3), np.int64))
    order = np.array([2, 0, 1], np.int32)
    assert Tabu().refine(small, where, order, Bounds(ones), Effort()) is order
    assert Tabu(largest=2).refine(small, where, order, Bounds(ones, ones, exact=True), Effort()) is order


@pytest.mark.parametrize("machine", ["node:2@10 core:3@1", "torus:3x2", "mesh:6"])
def test_small_dense_patterns_are_solved(machine):
    """Presets end at the optimum, which all 720 permutations tell, by tabu search in place of annealing."""
    flow = np.triu(np.random.default_rng(5).integers(1, 1000, (6, 6)), 1)
    graph, where = hb.CommGraph.from_dense(flow + flow.T), hb.allocate(machine)
    cost = CommCost().value
    least = min(cost(graph, where, np.array(p, np.int32)) for p in itertools.permutations(range(6)))
    for preset in ("fast", "eco", "strong"):
        found = map_tasks(graph, where, preset)
        assert found.info["comm_cost"] == least
        assert found.info["work"]["tabu_exchanges"] > 0


@pytest.mark.parametrize("exchanges", [1, 3])
def test_exchanges_per_task_are_limited(exchanges):
    flow = np.random.default_rng(2).integers(0, 99, (20, 20))
    graph, where = hb.CommGraph.from_dense(flow), hb.allocate("torus:4x5")
    found = map_tasks(graph, where, ["identity", f"tabu:exchanges={exchanges},population=2"])
    assert 0 < found.info["work"]["tabu_exchanges"] <= exchanges * 20 * (20**2 // 8 + 1) // (20**2 // 8)


def test_fixed_and_forbidden_places_are_kept():
    rng = np.random.default_rng(3)
    graph = hb.CommGraph.from_dense(rng.integers(0, 50, (10, 10)))
    where = Allocation.whole(Table(rng.integers(1, 50, (10, 10))))
    # Task 4 must stay on PE 4; task 7 may not be on PE 2 and pays for every place but 9.
    rest = np.zeros(10, np.int64)
    rest[4], rest[7] = FORBIDDEN, 10**6
    linear_cost = from_entries(np.array([4, 7, 7]), np.array([4, 2, 9]), np.array([0, FORBIDDEN, 0]), rest)
    ones = np.ones(10, np.int64)
    start = np.arange(10, dtype=np.int32)
    bounds = Bounds(ones, ones, exact=True, linear_cost=linear_cost)
    place = Tabu(work=1).refine(graph, where, start, bounds, Effort(seed=1))
    assert place[4] == 4
    assert place[7] == 9
    assert CommCost().value(graph, where, place) < CommCost().value(graph, where, start)


def test_limits_of_the_whole_run_hold():
    rng = np.random.default_rng(5)
    graph = hb.CommGraph.from_dense(rng.integers(0, 50, (30, 30)))
    machine = Table(rng.integers(1, 50, (30, 30)))

    def work(refiner, **limits):
        found = map_tasks(
            graph, machine, ["identity", refiner], partition=False, limits=hb.Limits(**limits), seed=2
        )
        return found.info["work"].get("arcs", 0)

    assert work("tabu:work=1") <= 10**6 + 10**5
    assert work("tabu:work=0", work=400_000) <= 400_000 + 10**5
    assert work("tabu:work=1", work=0) == 0
    assert 10**6 < work("tabu:work=0") < 2 * 10**7
    assert work("tabu:work=0", time=0.3) > 0


@pytest.mark.shared
@pytest.mark.skipif(not PROBLEM.exists(), reason="no folder of developers' samples")
def test_the_known_optimum_of_an_asymmetric_problem_with_diagonals():
    numbers = np.array(PROBLEM.read_text().split(), dtype=np.int64)
    one, other = numbers[2:].reshape(2, 26, 26)
    assert np.diag(one).any()
    assert np.diag(other).any()
    graph = hb.CommGraph.from_dense(other)
    found = map_tasks(graph, Table(one), ["identity", "tabu:work=40"], partition=False)
    assert found.info["comm_cost"] == numbers[1] == 5_426_670


def test_more_than_400_tasks_are_searched_where_most_talk_to_each_other():
    """From a placement that no exchange of two tasks improves; and the same answer every time."""
    rng = np.random.default_rng(5)
    flow, distance = (np.triu(rng.integers(0, 100, (420, 420)), 1) for _ in range(2))
    graph, where = hb.CommGraph.from_dense(flow + flow.T), Table(distance + distance.T)
    descent = map_tasks(graph, where, ["identity", "tabu:work=40"], partition=False)
    again = map_tasks(graph, where, ["identity", "tabu:work=40"], partition=False)
    assert descent.pe.tobytes() == again.pe.tobytes()
    assert descent.info["work"]["tabu_exchanges"] > 0
    plain = map_tasks(graph, where, "identity", partition=False).info["comm_cost"]
    assert descent.info["comm_cost"] < 0.97 * plain
    ring = hb.CommGraph.from_edges(np.arange(420), (np.arange(420) + 1) % 420, n=420)
    sparse = map_tasks(ring, where, ["identity", "tabu:work=40"], partition=False)
    assert "tabu_exchanges" not in sparse.info["work"]


def test_work_ends_a_population_that_is_too_large_for_it():
    graph, where = hb.read("alltoall:16"), hb.allocate("node:4@10 core:4@1")
    few, endless = (
        map_tasks(graph, where, ["identity", f"tabu:work=1,population={size}"])
        for size in (100_000, 2**31 - 1)
    )
    assert few.info["work"] == endless.info["work"]
    assert np.array_equal(few.pe, endless.pe)
