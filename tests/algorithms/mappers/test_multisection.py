"""What multisection tells whoever watches, and how it divides its effort."""

import numpy as np
import pytest

import hopbytes as hb
from helpers.errors import mentions
from helpers.graphs import grid
from hopbytes.algorithms.base import Bounds
from hopbytes.algorithms.mappers.multisection import Multisection
from hopbytes.algorithms.multisection.hierarchy import (
    cut_distances,
    levels_of,
    shares_of_cost,
    unexpected_shares,
)
from hopbytes.errors import UnsupportedError
from hopbytes.kernels.linear_cost import FORBIDDEN, LinearCost, from_entries


def test_progress_names_the_level_the_groups_done_and_the_cost_so_far() -> None:
    calls: list[tuple[str, int, int]] = []
    mapping = hb.map_tasks(
        grid(40), hb.allocate("node:3@10 core:4@1"), "multisection", partition=True, seed=5,
        progress=lambda stage, done, total: calls.append((stage, done, total))
    )
    starts = [(stage, total) for stage, done, total in calls if done == 0]
    assert starts[0] == ("level 1 of 2, J 0", 1)
    level, total = starts[-1]
    assert total == 3
    so_far = int(level.removeprefix("level 2 of 2, J ").replace(",", ""))
    outer = hb.evaluate(grid(40), mapping, baselines=False).to_dict()["levels"][0]
    assert so_far == 10 * outer["volume"]


def test_outer_cuts_take_the_slack_that_inner_ones_do_not_need() -> None:
    where = hb.allocate("island:4@100 node:8@10 core:4@1")
    bounds, loads, total = Bounds(np.full(128, 65)), np.ones(8192, np.int64), np.array([8192])
    outer, even = (levels_of(where, bounds, loads, even=even)[0][0] for even in (False, True))
    assert outer.caps(total, 0, exact=False).tolist() == [32 * 65] * 4
    assert even.caps(total, 0, exact=False).tolist() == [2058] * 4
    loads[0] = 4  # 31 PEs of each island may be left with 3 too little room for it
    heavy = levels_of(where, bounds, loads, even=False)[0][0]
    assert heavy.caps(total, 0, exact=False).tolist() == [2058] * 4
    assert heavy.sure.tolist() == [32 * 65 - 31 * 3] * 4
    nowhere_sure = Bounds(bounds.load, linear_cost=forbidden_places(8192))
    assert levels_of(where, nowhere_sure, None, even=False)[0][0].sure.tolist() == [0] * 4


def test_shares_come_from_volumes_whose_sum_in_both_directions_needs_more_than_64_bits() -> None:
    pair = hb.CommGraph.from_edges([0], [1], [2**62])
    levels, _ = levels_of(hb.allocate("node:2@100 core:2@10"), Bounds(np.ones(4, np.int64)), None)
    found = [level.share for level in unexpected_shares(levels, pair, np.array([0, 1], np.int32))]
    assert found == [0.0, 1.0]


def test_light_edges_between_heavy_pieces_are_found() -> None:
    """Sixteen pieces of a ring, volumes from 10 to 10^6, hang together by edges of volume 1: J is 16."""
    rng, n = np.random.default_rng(5), 480
    task, name = np.arange(n), rng.permutation(n)
    volumes = np.where(task % 30 == 29, 1, 10 ** rng.uniform(1, 6, n)).astype(np.int64)
    ring = hb.CommGraph.from_edges(name, np.roll(name, -1), volumes)
    for seed in range(4):
        mapping = hb.map_tasks(ring, hb.allocate("core:16"), seed=seed, partition=True, imbalance=0.1)
        assert mapping.info["comm_cost"] == 16


def forbidden_places(tasks: int) -> LinearCost:
    """Task 0 must not be on PE 3."""
    return from_entries(np.array([0]), np.array([3]), np.array([FORBIDDEN]), np.zeros(tasks, np.int64))


def test_unknown_slack_is_refused() -> None:
    with pytest.raises(UnsupportedError, match=mentions("slack=inner", "outer", "even")):
        Multisection(slack="inner")


def test_machines_without_distance_share_evenly() -> None:
    where = hb.allocate("node:4@0 core:2@0")
    assert shares_of_cost(cut_distances(where, where.groups()), [8]) == [1.0]


def test_a_search_from_no_seed_starts_from_one() -> None:
    mapping = hb.map_tasks(grid(40), hb.allocate("node:3@10 core:4@1"), "multisection:seeds=0", seed=5)
    assert mapping.info["balance"] == "met"


def test_the_largest_number_of_bisections_is_not_the_smallest():
    """One more than 2^31 - 1 repetitions would be a negative number, and the search would end at once."""
    mapping = hb.map_tasks(
        "stencil:30x30", hb.allocate("core:70", oversubscribe=True),
        f"multisection:bisection_repetitions={2**31 - 1},repetitions=2", threads=1,
        limits=hb.Limits(time=1)
    )
    assert mapping.info["work"]["cut_short"] > 0


def test_a_child_may_hold_the_tasks_that_are_fixed_inside_it() -> None:
    """36 of 40 tasks are fixed to the first node, which may hold 28 as long as any task may go anywhere."""
    where, tasks = hb.allocate("node:2@10 core:2@1"), np.arange(36)
    fixed = from_entries(tasks, tasks % 2, np.zeros(36, np.int64), np.repeat([FORBIDDEN, 0], [36, 4]))
    room = np.full(4, 20)
    free, held = (levels_of(where, Bounds(room, linear_cost=each), None)[0][0] for each in (None, fixed))
    assert free.caps(np.array([40]), 0, exact=False).tolist() == [28, 28]
    assert held.caps(np.array([40]), 0, exact=False).tolist() == [36, 28]
