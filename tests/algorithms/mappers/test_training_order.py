"""The rank orders of training frameworks, compared by J and by other objectives."""

from __future__ import annotations

import numpy as np
import pytest

import hopbytes as hb
from hopbytes.cost.objectives.base import objectives
from hopbytes.errors import UnsupportedError
from hopbytes.patterns.ml import rank_orders, training_of

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


def test_the_goals_differ():
    """Racks of twelve GPUs with one spine switch."""
    graph, where = hb.read(GRAPH), hb.allocate("rails:8x4:domain=3:pod=3:spines=1")
    by_cost, by_load = (
        hb.map_tasks(graph, where, f"training_order:goal={goal}").pe.tolist()
        for goal in ("comm_cost", "max_congestion")
    )
    assert by_cost != by_load


def test_other_patterns_stay_in_order():
    found = hb.map_tasks("stencil:4x8", "rails:8x4", "training_order:goal=max_congestion")
    assert found.pe.tolist() == list(range(32))


def test_goals_that_do_not_exist_and_machines_without_links():
    with pytest.raises(UnsupportedError, match="speed"):
        hb.map_tasks(GRAPH, "rails:8x4", "training_order:goal=speed")
    with pytest.raises(UnsupportedError, match="has no links"):
        hb.map_tasks(GRAPH, "node:8 gpu:4", "training_order:goal=max_congestion")
