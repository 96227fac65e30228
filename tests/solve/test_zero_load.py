"""Tasks without load: bounded in number, and placed where they belong instead of moved there afterwards."""

import numpy as np
import pytest

import hopbytes as hb
from helpers.graphs import grid
from hopbytes.algorithms.base import Effort
from hopbytes.kernels.linear_cost import FORBIDDEN, from_entries, held
from hopbytes.solve.feasible import enforce_bounds, zero_load_excess
from hopbytes.solve.formulate import formulate
from hopbytes.solve.presets import presets
from hopbytes.solve.problem import Request

WHERE = hb.allocate("node:4@10 core:4@1")
WIDTH = 48
SIDE = np.arange(WIDTH * WIDTH) % WIDTH
LOADS = {
    "half": (SIDE < WIDTH // 2).astype(np.int64),
    "heavy half": np.where(SIDE < WIDTH // 2, 1 + SIDE % 7, 0),
    "scattered": np.random.default_rng(0).integers(0, 2, WIDTH * WIDTH),
    "few": (np.arange(WIDTH * WIDTH) % 12 == 0).astype(np.int64) * 5,
}


def moved_afterwards(graph):
    """Cost when idle tasks are free for all searches and spread by repair alone."""
    problem, chain = formulate(graph, WHERE, Request()), presets["eco"]()
    effort = Effort(0, 1)
    pe = chain.mapper.map(problem.graph, problem.where, problem.bounds, effort)
    pe, bounds, _ = enforce_bounds(problem, pe, effort)
    for refiner in chain.refiners:
        pe = refiner.refine(problem.graph, problem.where, pe, bounds, effort)
    return problem.comm_cost(enforce_bounds(problem, pe, effort)[0])


@pytest.mark.parametrize("name", LOADS)
def test_both_bounds_hold_and_searches_know_them(name):
    graph = grid(WIDTH, loads=LOADS[name])
    found = hb.map_tasks(graph, WHERE)
    zero_load = np.bincount(found.pe[LOADS[name] == 0], minlength=16)
    assert zero_load.max() <= -(-103 * np.count_nonzero(LOADS[name] == 0) // 1600)
    assert found.info["balance"] == "met"
    assert zero_load_excess(formulate(graph, WHERE, Request()), found.pe) == 0
    # Both are heuristics, so that neither is always ahead.
    assert found.info["comm_cost"] <= 1.05 * moved_afterwards(graph)


def test_a_half_without_load_costs_far_less_than_when_it_is_moved_afterwards():
    graph = grid(WIDTH, loads=LOADS["half"])
    assert hb.map_tasks(graph, WHERE).info["comm_cost"] < 0.85 * moved_afterwards(graph)


def test_the_same_placement_for_any_number_of_threads():
    graph = grid(WIDTH, loads=LOADS["half"])
    placed = [hb.map_tasks(graph, WHERE, threads=threads).pe for threads in (1, 2, 3)]
    assert np.array_equal(placed[0], placed[1])
    assert np.array_equal(placed[0], placed[2])


@pytest.mark.parametrize("mapper", ["identity", "random"])
def test_mappers_that_know_nothing_of_single_tasks_still_keep_both_bounds(mapper):
    found = hb.map_tasks(grid(WIDTH, loads=LOADS["half"]), WHERE, [mapper, "vcycle"])
    assert np.bincount(found.pe[LOADS["half"] == 0], minlength=16).max() <= 75


def test_fixed_tasks_stay_where_they_are_beside_idle_ones():
    fixed = {0: 5, WIDTH - 1: 9}
    found = hb.map_tasks(grid(WIDTH, loads=LOADS["half"]), WHERE, constraints=hb.Constraints(fixed=fixed))
    assert (found.pe[0], found.pe[WIDTH - 1]) == (5, 9)


def test_holding_tasks_keeps_what_they_cost_where_they_are():
    linear_cost = from_entries(np.array([0, 1]), np.array([2, 1]), np.array([4, 3]), np.array([9, 0, 7]))
    still = held(linear_cost, np.array([True, False, True]), np.array([0, 1, 3], np.int32))
    assert still.at(np.array([0, 1, 3], np.int32)).tolist() == [9, 3, 7]
    assert still.at(np.array([2, 2, 2], np.int32)).tolist() == [FORBIDDEN, 0, FORBIDDEN]
    assert held(None, np.array([True]), np.array([1], np.int32)).at(np.array([0], np.int32))[0] == FORBIDDEN
