"""The mapper that coarsens once: its levels, what single tasks cost on them, and what it finds."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hopbytes as hb
from helpers.engine_cases import random_csr
from helpers.graphs import grid
from hopbytes.engine import RunControl, SearchProblem
from hopbytes.engine.partition import coarsen_once
from hopbytes.kernels.linear_cost import FORBIDDEN, from_entries


def coarsened(csr, loads=None, caps=(40,) * 4, seed=0, linear_cost=None):
    problem = SearchProblem(csr, loads, linear_cost=linear_cost)
    return coarsen_once(problem, np.array(caps), per_block=5, fewest=20, control=RunControl(seed))


def test_levels_shrink_until_few_vertices_are_left():
    maps = coarsened(grid(30).symmetric_positive(), caps=(250,) * 4, seed=3)
    sizes = [len(level) for level in maps] + [int(maps[-1].max()) + 1]
    assert sizes[0] == 900
    assert 15 <= sizes[-1] <= 25
    for level, after in zip(maps, sizes[1:], strict=True):
        assert np.array_equal(np.unique(level), np.arange(after))
    again = coarsened(grid(30).symmetric_positive(), caps=(250,) * 4, seed=3)
    assert all(np.array_equal(one, other) for one, other in zip(maps, again, strict=True))


def test_a_small_graph_has_no_levels():
    assert coarsened(grid(4).symmetric_positive()) == []


@given(seed=st.integers(0, 200))
def test_clusters_stay_light(seed):
    rng = np.random.default_rng(seed)
    csr, loads = random_csr(rng, 300), rng.integers(1, 4, 300)
    for level in (maps := coarsened(csr, loads, caps=(160,) * 4, seed=seed)):
        loads = np.bincount(level, loads).astype(np.int64)
    assert loads.max() <= 40
    assert len(maps) > 0


def test_tasks_that_may_not_go_to_the_same_places_do_not_meet():
    tasks = np.arange(0, 900, 2)
    linear_cost = from_entries(tasks, tasks * 0, tasks * 0 + FORBIDDEN, np.zeros(900, np.int64))
    cluster = np.arange(900)
    for level in coarsened(grid(30).symmetric_positive(), caps=(250,) * 4, linear_cost=linear_cost):
        cluster = level[cluster]
    assert not np.intersect1d(cluster[::2], cluster[1::2]).size
    assert len(np.unique(cluster)) < 300


@given(seed=st.integers(0, 500))
def test_costs_of_clusters_are_sums(seed):
    """Against a sum task by task on every PE; clusters hold tasks of one kind."""
    rng = np.random.default_rng(seed)
    n, k = 20, 6
    cost = rng.integers(0, 9, (n, k))
    cost[:5, 3:] = FORBIDDEN
    cost[5:10, 1] = FORBIDDEN
    usual = np.array([FORBIDDEN] * 5 + rng.integers(0, 9, n - 5).tolist())
    linear_cost = from_entries(np.repeat(np.arange(n), k), np.tile(np.arange(k), n), cost.ravel(), usual)
    cluster = np.concatenate([rng.integers(0, 2, 5), rng.integers(2, 4, 5), rng.integers(4, 7, 10)])
    coarse = linear_cost.contracted(cluster.astype(np.int32), 7)
    for pe in range(k):
        expected = [sum(cost[cluster == c, pe].tolist()) for c in range(7)]
        found = coarse.at(np.full(7, pe, np.int32)).tolist()
        assert [min(value, FORBIDDEN) for value in found] == [min(value, FORBIDDEN) for value in expected]


@pytest.mark.parametrize(("per_block", "most"), [(5, 1.5), (100, 1.35), (10**6, 1.35)])
def test_cuts_on_coarse_graphs_are_good_cuts(per_block, most):
    """Far below a random placement, and near what multisection finds, however early it cuts."""
    where = hb.allocate("node:4@100 package:4@10 core:4@1")
    graph = grid(72)
    options = f"integrated:per_block={per_block},fewest=500"
    mapping = hb.map_tasks(graph, where, options, seed=2)
    multisection = hb.map_tasks(graph, where, "multisection", seed=2)
    assert mapping.info["balance"] == "met"
    assert mapping.info["comm_cost"] < most * multisection.info["comm_cost"]


def test_fixed_and_forbidden_places_are_kept_on_every_machine():
    for spec in ("node:2@100 package:2@10 core:4@1", "torus:4x2 / core:2@1"):
        where = hb.allocate(spec)
        fixed = {0: 3, 1599: 8, 800: 0}
        mapping = hb.map_tasks(
            grid(40), where, "integrated:per_block=20,fewest=100",
            constraints=hb.Constraints(fixed=fixed, forbidden=[(5, 1), (6, 1)])
        )
        assert {task: int(mapping.pe[task]) for task in fixed} == fixed
        assert mapping.pe[5] != 1 != mapping.pe[6]
