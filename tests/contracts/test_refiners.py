"""What every refiner in the registry promises: never worse, bounds kept, the same every time."""

import numpy as np
import pytest

import hopbytes as hb
from helpers.strategies import random_graph, random_machine
from hopbytes.algorithms.base import Effort, refiners
from hopbytes.cost.objectives.comm_cost import CommCost
from hopbytes.model.capacities import group_sums
from hopbytes.solve.feasible import enforce_bounds
from hopbytes.solve.formulate import formulate
from hopbytes.solve.map_tasks import map_tasks
from hopbytes.solve.problem import Request
from hopbytes.util.options import build, describe

#: Those that need routes have a contract of their own, test_routed.py.
REFINERS = [name for name, kind in refiners.items() if not kind.needs_routes]


def random_problem(seed, tasks_per_pe):
    """A random problem and a random placement that keeps its bounds as far as loads allow."""
    rng = np.random.default_rng(seed)
    where = hb.Allocation.whole(random_machine(rng, max_cores=40))
    graph = random_graph(rng, n=tasks_per_pe * where.k)
    problem = formulate(graph, where, Request(partition=True))
    start = rng.integers(0, problem.where.k, graph.n).astype(np.int32)
    pe, bounds, _ = enforce_bounds(problem, start, Effort())
    return problem, pe, bounds


@pytest.mark.parametrize("tasks_per_pe", [1, 2, 9])
@pytest.mark.parametrize("name", REFINERS)
def test_never_worse_and_within_the_bounds(name, tasks_per_pe):
    refiner, cost = build(refiners, name), CommCost()
    for seed in range(10):
        problem, pe, bounds = random_problem(seed, tasks_per_pe)
        before = pe.copy()
        after = refiner.refine(problem.graph, problem.where, pe, bounds, Effort(seed=seed))
        assert np.array_equal(pe, before), "the input is the caller's"
        assert cost.value(problem.graph, problem.where, after) <= cost.value(problem.graph, problem.where, pe)
        if bounds.exact:
            assert np.array_equal(np.bincount(after, minlength=problem.where.k), bounds.count)
        else:
            assert np.all(group_sums(after, problem.graph.loads, problem.where.k) <= bounds.load)


@pytest.mark.parametrize(
    ("name", "imbalance"),
    [*((name, 0) for name in ("chains", "evolve:dense_up_to=0", "n_cd", "n_p", "n_square", "swap")),
     *((name, "30%") for name in ("evolve", "swap", "vcycle"))],
)  # fmt: skip
def test_two_pes_suffice_to_bring_together_what_exchanges_much(name, imbalance):
    """Two groups of four, interleaved, with a light arc between them."""
    tasks = np.arange(8)
    volumes = 9 * (tasks[:, None] % 2 == tasks % 2)
    volumes[0, 1] = 1
    request = Request(partition=True, imbalance=imbalance)
    problem = formulate(hb.CommGraph.from_dense(volumes), hb.allocate("core:2"), request)
    start = np.repeat(np.arange(2), 4).astype(np.int32)
    after = build(refiners, name).refine(problem.graph, problem.where, start, problem.bounds, Effort())
    assert problem.bounds.exact == (imbalance == 0)
    assert problem.comm_cost(after) == 1


@pytest.mark.parametrize("name", REFINERS)
def test_the_same_for_any_number_of_threads(name):
    refiner = build(refiners, name)
    problem, pe, bounds = random_problem(3, 9)
    results = [
        refiner.refine(problem.graph, problem.where, pe, bounds, Effort(seed=5, threads=threads)).tobytes()
        for threads in (1, 2, 3, 7, 1)
    ]
    assert len(set(results)) == 1


@pytest.mark.parametrize("name", REFINERS)
def test_works_after_any_mapper_and_is_recorded(name):
    problem, _, _ = random_problem(11, 9)
    plain = map_tasks(problem.graph, problem.where, "random", partition=True)
    refined = map_tasks(problem.graph, problem.where, ["random", name], partition=True)
    assert refined.info["comm_cost"] <= plain.info["comm_cost"]
    assert refined.info["refine"] == [describe(refiners, build(refiners, name))]
