"""The refiner swap with all it has: other starts, anneals, shakes."""

import itertools
import time

import numpy as np
import pytest

import hopbytes as hb
from helpers.machines import nodes
from hopbytes.algorithms.shared.search_distances import both_ways_differ
from hopbytes.cost.objectives.comm_cost import CommCost
from hopbytes.machines.kinds.table import Table
from hopbytes.solve.map_tasks import map_tasks

ALL = "swap:starts=4,chains=3,steps=1000,perturbations=200"


def sparse(n, arcs, seed):
    rng = np.random.default_rng(seed)
    return hb.CommGraph.from_edges(
        rng.integers(0, n, arcs), rng.integers(0, n, arcs), rng.integers(1, 50, arcs), n=n
    )


def test_eight_tasks_on_two_nodes_end_at_the_optimum():
    """Against all 35 ways to cut eight tasks in halves."""
    where = nodes(2, 4)
    for seed in range(10):
        graph, costs = sparse(8, 20, seed), []
        for half in itertools.combinations(range(1, 8), 3):
            pe = np.empty(8, np.int32)
            first = [0, *half]
            pe[first], pe[np.setdiff1d(range(8), first)] = range(4), range(4, 8)
            costs.append(CommCost().value(graph, where, pe))
        found = map_tasks(graph, where, ["random", ALL], seed=seed)
        assert found.info["comm_cost"] == min(costs)


def test_work_is_counted_and_a_limit_on_time_is_kept():
    graph, where = sparse(512, 3000, 2), nodes(32, 16)
    began = time.monotonic()
    limited = map_tasks(
        graph, where, ["random", "swap:chains=8,steps=10000000,perturbations=1000000000"],
        limits=hb.Limits(time=0.3)
    )
    assert time.monotonic() - began < 20  # without the limit: hours
    assert 0 < limited.info["work"]["swaps"] < limited.info["work"]["swaps_evaluated"]


def test_several_tasks_per_pe_are_exchanged_but_never_annealed():
    graph, where = sparse(60, 200, 3), nodes(4, 5)
    where = where.using(oversubscribe=True)
    plain = map_tasks(graph, where, ["random", "swap"], seed=1)
    assert map_tasks(graph, where, ["random", ALL], seed=1).pe.tolist() == plain.pe.tolist()
    assert plain.info["comm_cost"] < map_tasks(graph, where, "random", seed=1).info["comm_cost"]


def test_tasks_that_gain_nothing_by_moving_stay_in_order():
    """All-to-all costs the same everywhere."""
    everyone = np.argwhere(~np.eye(12, dtype=bool))
    graph = hb.CommGraph.from_edges(everyone[:, 0], everyone[:, 1], n=12)
    assert map_tasks(graph, nodes(3, 4), "eco").pe.tolist() == list(range(12))


@pytest.mark.parametrize("preset", ["fast", "eco"])
def test_presets_see_both_directions_where_neither_side_is_symmetric(preset):
    """Means of distances mislead here; the cheapest of all 5040 placements is found all the same."""
    for seed in range(3):
        rng = np.random.default_rng(seed)
        distances = rng.integers(1, 100, (7, 7))
        volumes = rng.integers(0, 100, (7, 7)) * (rng.random((7, 7)) < 0.5)
        np.fill_diagonal(distances, 0)
        np.fill_diagonal(volumes, 0)
        orders = [np.array(order) for order in itertools.permutations(range(7))]
        least = min(int((volumes * distances[np.ix_(order, order)]).sum()) for order in orders)
        where = hb.Allocation.whole(Table(distances))
        mapping = map_tasks(hb.CommGraph.from_dense(volumes), where, preset, partition=False)
        assert mapping.info["comm_cost"] == least


def test_one_way_distances_need_one_way_volumes_to_matter():
    distances = np.array([[0, 1], [3, 0]])
    where, even = hb.Allocation.whole(Table(distances)), hb.Allocation.whole(Table(distances + distances.T))
    one_way = hb.CommGraph.from_edges([0], [1], [5])
    both_ways = hb.CommGraph.from_edges([0, 1], [1, 0], [5, 5])
    uneven = hb.CommGraph.from_edges([0, 1], [1, 0], [5, 4])
    cases = [(graph, place) for graph in (one_way, both_ways, uneven) for place in (where, even)]
    assert [both_ways_differ(*case) for case in cases] == [True, False, False, False, True, False]


def test_evolve_takes_no_steps_that_its_work_is_not_enough_for():
    """A step of 360 looks per arc and task: with work for fewer than fill a population there are none."""
    graph, where = sparse(400, 1200, 1), nodes(25, 16)
    each = 360 * (len(graph.symmetric_positive().targets) + graph.n)
    for work in (3, 8):
        evolve = f"evolve:steps=9,repetitions=1,perturbations=10,dense_up_to=0,work={work}"
        done = map_tasks(graph, where, ["random", evolve], partition=False).info["work"]
        affordable = work * 10**6 // each
        assert done.get("evolve_steps", 0) == (affordable if work == 8 else 0)
        assert (affordable > 5) == (work == 8)


def test_shakes_end_with_their_work():
    graph, where = sparse(256, 1200, 4), nodes(32, 8)
    found = {
        options: map_tasks(graph, where, ["random", f"swap:{options}"], partition=False).info
        for options in ("perturbations=0", "perturbations=500,perturbation_work=0", "perturbations=500")
    }
    none, kept, shaken = (each["comm_cost"] for each in found.values())
    assert none == kept > shaken
