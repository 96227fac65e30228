"""Work limits: where they stop, and that they repeat what a time limit gave."""

import warnings

import numpy as np
import pytest

import hopbytes as hb
from helpers.graphs import grid
from hopbytes.algorithms.base import LEAST_STEP, Effort
from hopbytes.errors import UnsupportedError

WHERE = hb.allocate("node:4@10 core:4@1")


def test_a_limit_begins_nothing_more_but_completes_a_placement():
    free = hb.map_tasks(grid(40), WHERE, "strong").info
    none = hb.map_tasks(grid(40), WHERE, "strong", limits=hb.Limits(work=0)).info
    assert 0 < none["work"]["arcs"] < free["work"]["arcs"] / 4
    assert "moves" not in none["work"]  # no V-cycle began
    assert none["deterministic"]


@pytest.mark.parametrize("limit", [1, 100_000, 2_000_000])
def test_a_limit_means_the_same_for_any_number_of_threads(limit):
    runs = [hb.map_tasks(grid(40), WHERE, "strong", threads=t, limits=hb.Limits(work=limit)) for t in (1, 2)]
    assert np.array_equal(runs[0].pe, runs[1].pe)
    assert runs[0].info["work"] == runs[1].info["work"]


def test_a_run_under_a_time_limit_says_how_to_repeat_it():
    timed = hb.map_tasks(grid(30), WHERE, "eco", seed=3, limits=hb.Limits(time=60))
    arcs = timed.info["work"]["arcs"]
    assert f"`Limits(work={arcs})`" in timed.info["notices"][-1]
    again = hb.map_tasks(grid(30), WHERE, "eco", seed=3, limits=hb.Limits(work=arcs))
    assert np.array_equal(timed.pe, again.pe)
    assert again.info["work"] == timed.info["work"]


def test_a_search_that_a_deadline_ends_is_not_called_repeatable():
    timed = hb.map_tasks(grid(60), WHERE, "strong", limits=hb.Limits(time=0))
    assert timed.info["work"]["cut_short"] > 0
    assert "not repeatable" in timed.info["notices"][-1]


def test_one_task_per_slot_goes_on_to_the_limit_and_repeats():
    """More tasks than the dense search takes: until the limit ends it, the same for any number of threads."""
    where = hb.allocate("node:12@100 package:6@10 core:7@1")
    number = np.random.default_rng(1).permutation(504).reshape(7, 8, 9)
    near = [np.take(number, range(6 + axis), axis).ravel() for axis in range(3)]
    far = [np.take(number, range(1, 7 + axis), axis).ravel() for axis in range(3)]
    cube = hb.CommGraph.from_edges(np.concatenate(near), np.concatenate(far))
    runs = [
        hb.map_tasks(cube, where, "best", threads=threads, seed=2, limits=hb.Limits(work=limit))
        for limit, threads in ((1, 1), (80_000_000, 1), (80_000_000, 2))
    ]
    assert np.array_equal(runs[1].pe, runs[2].pe)
    assert runs[1].info["work"]["evolve_steps"] > 10  # so many make up `strong`, which runs first
    assert runs[1].info["comm_cost"] < runs[0].info["comm_cost"]
    assert sorted(runs[1].pe.tolist()) == list(range(504))


@pytest.mark.parametrize("limit", [-1, 1.5, True, "3"])
def test_a_limit_is_a_whole_number(limit):
    with pytest.raises(UnsupportedError, match="limit of work"):
        hb.map_tasks(grid(3), WHERE, limits=hb.Limits(work=limit))


@pytest.mark.parametrize("distance", [0, 1])
@pytest.mark.parametrize("arcs", [0, 1])
def test_a_search_that_only_a_limit_ends_ends_where_there_is_nothing_to_look_at(arcs, distance):
    graph = hb.CommGraph.from_edges([0] * arcs, [1] * arcs, [5] * arcs, n=1000)
    mapping = hb.map_tasks(
        graph, hb.allocate(f"core:4@{distance}"), "best", partition=True, limits=hb.Limits(work=10**9)
    )
    assert mapping.info["comm_cost"] == 0
    assert mapping.info["work"].get("evolve_steps", 0) == 0


def test_steps_that_look_at_nothing_do_not_go_on_for_ever():
    mapping = hb.map_tasks(
        hb.CommGraph.from_edges([], [], [], n=16), WHERE, ["identity", "evolve:dense_up_to=0"],
        limits=hb.Limits(work=1)
    )
    assert mapping.info["comm_cost"] == 0


def test_a_step_of_an_endless_search_counts_even_if_it_looks_at_little():
    """Two tasks that must be apart: nothing is left to gain, and each step looks at a few arcs only."""
    graph = hb.CommGraph.from_edges([0], [1], [5], n=1000)
    mapping = hb.map_tasks(
        graph, hb.allocate("core:4@1"), ["identity", "evolve"], partition=True,
        constraints=hb.Constraints(fixed={0: 0, 1: 1}), limits=hb.Limits(work=200_000)
    )
    assert 0 < mapping.info["work"]["evolve_steps"] <= 200_000 // LEAST_STEP
    assert mapping.info["comm_cost"] == 5


@pytest.mark.parametrize("limits", [hb.Limits(time=0.05), hb.Limits(work=20_000)])
def test_a_limit_that_ends_a_partition_early_leaves_no_more_than_blocks_in_order(limits):
    where = hb.allocate(hierarchy="4:8:6", distance="1:10:100")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", hb.HopbytesWarning)  # a time limit says what it ended
        found = hb.map_tasks("stencil:60000x4", where, partition=True, limits=limits)
    in_order = hb.map_tasks("stencil:60000x4", where, "identity", partition=True)
    assert found.comm_cost <= in_order.comm_cost


def test_effort_is_used_up_by_work_or_time():
    effort = Effort(work_limit=5)
    effort.spend(4)
    assert not effort.used_up
    effort.spend(100, whole=False)
    assert effort.work == {"arcs": 4, "cut_short": 1}
    effort.spend(1)
    assert effort.used_up
    assert Effort(deadline=0.0).used_up
