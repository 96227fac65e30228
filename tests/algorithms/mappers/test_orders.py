"""Mappers that assign tasks in an order: reverse Cuthill-McKee, nodes in turn, training frameworks."""

import numpy as np
import pytest

import hopbytes as hb
from helpers.machines import nodes
from hopbytes.cost.objectives.comm_cost import objectives
from hopbytes.errors import UnsupportedError
from hopbytes.machines.allocate.launcher_order import launcher_placement
from hopbytes.patterns.base import pattern
from hopbytes.patterns.ml import rank_orders, training_of
from hopbytes.solve.map_tasks import map_tasks


def test_rcm_brings_neighbours_of_a_shuffled_chain_together():
    rng = np.random.default_rng(5)
    number = rng.permutation(64)
    chain = hb.CommGraph.from_edges(number[:-1], number[1:], n=64)
    mapping = map_tasks(chain, nodes(8, 8), "rcm")
    assert mapping.info["comm_cost"] == 56 * 1 + 7 * 10  # the seven seams are all that crosses nodes


def test_round_robin_deals_tasks_to_nodes():
    where = hb.allocate("node:3 core:[2,1,2]")
    ring = hb.CommGraph.from_edges(np.arange(5), (np.arange(5) + 1) % 5)
    assert map_tasks(ring, where, "round_robin").pe.tolist() == [0, 2, 3, 1, 4]
    assert map_tasks(ring, where, "round_robin:turn=2").pe.tolist() == [0, 1, 2, 3, 4]
    for order, turn in (("cyclic", 1), ("plane=2", 2)):
        by_launcher = launcher_placement(hb.allocate("node:4 core:4"), 16, order)
        graph = pattern("stencil:4x4")
        mine = map_tasks(graph, hb.allocate("node:4 core:4"), f"round_robin:turn={turn}")
        assert np.array_equal(mine.pe, by_launcher.pe)


GRAPH = "ml:tp=4,pp=2,dp=4,ep=4,hidden=1024,layers=8,seq=1024,micro=2"


@pytest.mark.parametrize("goal", ["comm_cost", "max_congestion", "hop_bytes"])
def test_no_order_is_better_by_the_goal(goal):
    graph, where = hb.read(GRAPH), hb.allocate("rails:8x4:domain=3:pod=3:spines=1")
    found = hb.map_tasks(graph, where, f"training_order:goal={goal}", seed=1)
    judge = objectives[goal]()
    values = {
        name: judge.value(graph, where, rank.astype(np.int32))
        for name, rank in rank_orders(training_of(graph)).items()
    }
    assert judge.value(graph, where, found.pe) == min(values.values()) < max(values.values())


def test_other_patterns_stay_in_order():
    found = hb.map_tasks("stencil:4x8", "rails:8x4", "training_order:goal=max_congestion")
    assert found.pe.tolist() == list(range(32))


def test_goals_that_do_not_exist_and_machines_without_links():
    with pytest.raises(UnsupportedError, match="speed"):
        hb.map_tasks(GRAPH, "rails:8x4", "training_order:goal=speed")
    with pytest.raises(UnsupportedError, match="has no links"):
        hb.map_tasks(GRAPH, "node:8 gpu:4", "training_order:goal=max_congestion")
