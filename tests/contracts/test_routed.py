"""What mappers and refiners that look at routes promise, on networks of every kind."""

import time

import numpy as np
import pytest

import hopbytes as hb
from helpers.strategies import random_graph
from helpers.thorough import most
from hopbytes.algorithms.base import Effort, mappers, refiners
from hopbytes.cost.objectives.comm_cost import objectives
from hopbytes.errors import UnsupportedError
from hopbytes.model.capacities import group_sums
from hopbytes.solve.feasible import enforce_bounds
from hopbytes.solve.formulate import formulate
from hopbytes.solve.map_tasks import map_tasks
from hopbytes.solve.presets import presets
from hopbytes.solve.problem import Request
from hopbytes.util.options import build, describe

MACHINES = [
    "torus:3x4@5:nodes=2 / package:2@2 core:2@1", "mesh:5x2@3 / core:3@1",
    "fattree:3x2x2:up=1x2x1 / core:2@1",
    "dragonfly:3x2x2@3 / core:2@1", "fattree:4x3:up=1x2:route=spread", "torus:2x3x2:bw=3x2x6 / core:2@1",
]
NEED_ROUTES = [name for name, kind in mappers.items() if kind.needs_routes]
REFINERS = [name for name, kind in refiners.items() if kind.needs_routes or kind.objective != "comm_cost"]
#: Work enough to see something, little enough for a test.
OPTIONS = {
    "congestion": "congestion:group_work=60,task_work=20", "routed": "routed:effort=1,second_start=true",
}


def random_problem(spec, seed, tasks_per_pe, scattered=False):
    rng = np.random.default_rng(seed)
    where = hb.allocate(spec)
    if scattered:
        where = where.select(np.sort(rng.choice(where.k, where.k - where.k // 4, replace=False)))
    graph = random_graph(rng, n=tasks_per_pe * where.k)
    problem = formulate(graph, where, Request(partition=True))
    start = rng.integers(0, problem.where.k, graph.n).astype(np.int32)
    pe, bounds, _ = enforce_bounds(problem, start, Effort())
    return problem, pe, bounds


@pytest.mark.parametrize("name", REFINERS)
@pytest.mark.parametrize("spec", MACHINES)
def test_the_objective_never_gets_worse_and_bounds_hold(spec, name):
    refiner = build(refiners, OPTIONS.get(name, name))
    goal = objectives[refiner.objective]()
    for seed, tasks_per_pe in ((1, 1), (2, 1), (3, 4)):
        problem, pe, bounds = random_problem(spec, seed, tasks_per_pe, scattered=seed == 2)
        before = pe.copy()
        after = refiner.refine(problem.graph, problem.where, pe, bounds, Effort(seed=seed))
        assert np.array_equal(pe, before), "the input is the caller's"
        worth = [goal.value(problem.graph, problem.where, each) for each in (after, before)]
        assert worth[0] <= worth[1]
        if bounds.exact:
            assert np.array_equal(np.bincount(after, minlength=problem.where.k), bounds.count)
        else:
            assert np.all(group_sums(after, problem.graph.loads, problem.where.k) <= bounds.load)
        again = refiner.refine(problem.graph, problem.where, pe, bounds, Effort(seed=seed, threads=3))
        assert again.tobytes() == after.tobytes()


@pytest.mark.parametrize("name", NEED_ROUTES)
@pytest.mark.parametrize("spec", MACHINES)
def test_mappers_place_every_task_within_bounds(spec, name):
    for seed, tasks_per_pe in ((1, 1), (2, 3)):
        problem, _, _ = random_problem(spec, seed, tasks_per_pe, scattered=seed == 2)
        runs = [
            map_tasks(problem.graph, problem.where, name, partition=True, seed=4, threads=threads)
            for threads in (1, 2)
        ]
        assert runs[0].pe.tobytes() == runs[1].pe.tobytes()
        assert runs[0].tasks_per_pe().min() >= 1
        assert build(mappers, describe(mappers, build(mappers, name))) == build(mappers, name)


@pytest.mark.parametrize("goal", list(objectives))
@pytest.mark.parametrize("preset", list(presets))
@pytest.mark.parametrize("number", most([0, 1], [None]))
def test_every_preset_follows_every_objective(number, preset, goal):
    """What is asked for is counted, ahead of chance, and no worse than where J was asked for."""
    if number is None:  # the machines take turns
        number = (list(presets).index(preset) + list(objectives).index(goal)) % 2
    spec = ("torus:3x3@4 / core:2@1", "fattree:4x3:up=1x2:route=spread@3 / core:2@1")[number]
    problem, _, _ = random_problem(spec, 5, 1)
    graph, where = problem.graph, problem.where
    found = map_tasks(graph, where, preset, objective=goal.replace("_", "-"))
    value = objectives[goal]().value
    assert found.info["objective"] == goal
    assert found.info["objective_value"] == value(graph, where, found.pe)
    assert found.info["objective_value"] <= value(graph, where, map_tasks(graph, where, "random").pe)
    plain = map_tasks(graph, where, preset)
    assert found.info["objective_value"] <= value(graph, where, plain.pe)


@pytest.mark.parametrize("goal", ["max_congestion", "max_messages", "hybrid"])
def test_annealing_goes_on_while_there_is_work_and_repeats_itself(goal):
    problem, pe, bounds = random_problem("torus:4x4@3 / core:2@1", 3, 1)
    once = build(refiners, f"routed:goal={goal},effort=1").refine(
        problem.graph, problem.where, pe, bounds, Effort(seed=2)
    )
    longer = build(refiners, f"routed:goal={goal},effort=1,anneal=true")
    efforts = [Effort(seed=2, work_limit=limit) for limit in (1_000_000, 1_000_000, 4_000_000)]
    found = [longer.refine(problem.graph, problem.where, pe, bounds, effort) for effort in efforts]
    assert found[0].tobytes() == found[1].tobytes()
    assert 1 <= efforts[0].work["anneal_rounds"] < efforts[2].work["anneal_rounds"]
    judge, hops = objectives[goal](), objectives["hops" if goal == "max_messages" else "hop_bytes"]()
    worth = [judge.value(problem.graph, problem.where, each) for each in (*found, once)]
    assert worth[2] <= worth[0] <= worth[3]
    ways = [hops.value(problem.graph, problem.where, each) for each in (found[2], pe)]
    assert ways[0] <= ways[1]
    unlimited = longer.refine(problem.graph, problem.where, pe, bounds, Effort(seed=2))
    assert unlimited.tobytes() == once.tobytes()


@pytest.mark.parametrize(
    "options",
    [*({"objective": name} for name in objectives if name != "comm_cost"),
     *({"method": ["identity", name]} for name in REFINERS if refiners[name].needs_routes),
     *({"method": name} for name in NEED_ROUTES)],
    ids=str,
)  # fmt: skip
def test_what_needs_links_says_so(options):
    graph = random_graph(np.random.default_rng(1), n=8)
    with pytest.raises(UnsupportedError, match="expected one with links, such as torus:"):
        map_tasks(graph, hb.allocate("node:2@10 core:4@1"), **options)


def test_weights_of_the_hybrid_metric():
    assert build(mappers, "ptram:weights=2/0/1/0.5").weights == "2/0/1/0.5"
    for wrong in ("1/1/1", "1/1/1/x", "1/1/1/-1", "1/1/1/inf"):
        with pytest.raises(UnsupportedError, match="four numbers >= 0"):
            build(mappers, f"ptram:weights={wrong}")


def test_annealing_ends_with_the_deadline():
    problem, pe, bounds = random_problem("torus:4x4@3 / core:2@1", 3, 1)
    effort = Effort(seed=2, deadline=time.monotonic() + 0.5)
    build(refiners, "routed:effort=1,anneal=true").refine(problem.graph, problem.where, pe, bounds, effort)
    assert effort.out_of_time
    assert effort.work["anneal_rounds"] >= 1
