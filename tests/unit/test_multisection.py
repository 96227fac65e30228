"""What multisection tells whoever watches, and how it divides its effort."""

from __future__ import annotations

import numpy as np
import pytest

import hopbytes as hb
from hopbytes.errors import UnsupportedError
from hopbytes.mappers.base import Bounds
from hopbytes.mappers.multisection import Multisection
from hopbytes.mappers.sections import levels_of, seam_distances, shares_of_cost
from hopbytes.unary import FORBIDDEN, Unary, from_entries


def grid(side: int) -> hb.CommGraph:
    vertex = np.arange(side * side).reshape(side, side)
    sources = np.r_[vertex[:, :-1].ravel(), vertex[:-1].ravel()]
    targets = np.r_[vertex[:, 1:].ravel(), vertex[1:].ravel()]
    return hb.CommGraph.from_edges(sources, targets, n=side * side)


def test_progress_names_the_level_the_groups_done_and_the_cost_so_far() -> None:
    calls: list[tuple[str, int, int]] = []
    mapping = hb.map_tasks(
        grid(40), hb.machine("node:3@10 core:4@1"), mapper="multisection", partition=True, seed=5,
        progress=lambda stage, done, total: calls.append((stage, done, total)),
    )
    starts = [(stage, total) for stage, done, total in calls if done == 0]
    assert starts[0] == ("level 1 of 2, J 0", 1)
    level, total = starts[-1]
    assert total == 3
    so_far = int(level.removeprefix("level 2 of 2, J ").replace(",", ""))
    outer = hb.evaluate(grid(40), mapping, baselines=False).to_dict()["levels"][0]
    assert so_far == 10 * outer["volume"]


def test_a_cut_that_decides_more_gets_a_larger_share() -> None:
    where = hb.machine("island:4@100 node:8@10 core:4@1")
    seams = seam_distances(where, where.groups())
    assert seams == [100, 10, 1]
    shares = shares_of_cost(seams, where.groups())
    assert shares[0] == 1.0
    assert shares[1] == pytest.approx(9 * 32**0.5 / (90 * 4**0.5))
    assert shares[2] == pytest.approx(1 * 128**0.5 / (90 * 4**0.5))


def test_the_last_cut_into_single_tasks_decides_nothing() -> None:
    where = hb.machine("node:4@10 core:4@1")
    one_each = np.ones(16, np.int64)
    shares = [level.share for level in levels_of(where, Bounds(one_each, one_each, exact=True), None)[0]]
    assert shares == [1.0, 0.0]
    two_each = 2 * one_each
    shares = [level.share for level in levels_of(where, Bounds(two_each, two_each, exact=True), None)[0]]
    assert 0 < shares[1] < 1


def test_outer_cuts_take_the_slack_that_inner_ones_do_not_need() -> None:
    where = hb.machine("island:4@100 node:8@10 core:4@1")
    bounds, loads, total = Bounds(np.full(128, 65)), np.ones(8192, np.int64), np.array([8192])
    outer, even = (levels_of(where, bounds, loads, even=even)[0][0] for even in (False, True))
    assert outer.caps(total, 0, exact=False).tolist() == [32 * 65] * 4
    assert even.caps(total, 0, exact=False).tolist() == [2058] * 4
    loads[0] = 4  # 31 PEs of each island may be left with 3 too little room for it
    heavy = levels_of(where, bounds, loads, even=False)[0][0]
    assert heavy.caps(total, 0, exact=False).tolist() == [2058] * 4
    assert heavy.sure.tolist() == [32 * 65 - 31 * 3] * 4
    nowhere_sure = Bounds(bounds.load, unary=forbidden_places(8192))
    assert levels_of(where, nowhere_sure, None, even=False)[0][0].sure.tolist() == [0] * 4


def forbidden_places(tasks: int) -> Unary:
    """Task 0 must not be on PE 3."""
    return from_entries(np.array([0]), np.array([3]), np.array([FORBIDDEN]), np.zeros(tasks, np.int64))


def test_more_room_outside_costs_less() -> None:
    where = hb.machine("node:4@100 package:4@10 core:4@1")
    cost = {
        slack: sum(
            hb.map_tasks(grid(64), where, mapper=f"multisection:slack={slack}", seed=seed).info["comm_cost"]
            for seed in range(3)
        )
        for slack in ("outer", "even")
    }
    assert cost["outer"] < cost["even"]


def test_unknown_slack_is_refused() -> None:
    with pytest.raises(UnsupportedError, match="slack 'inner'"):
        Multisection(slack="inner")


def test_machines_without_distance_share_evenly() -> None:
    where = hb.machine("node:4@0 core:2@0")
    groups = where.groups()
    assert shares_of_cost(seam_distances(where, groups), groups) == [1.0] * len(groups)


def test_a_search_from_no_seed_starts_from_one() -> None:
    mapping = hb.map_tasks(grid(40), hb.machine("node:3@10 core:4@1"), mapper="multisection:seeds=0", seed=5)
    assert mapping.info["balance"] == "met"


def test_hubs_leave_blocks_of_unlike_density_which_fast_finds_too() -> None:
    """Few tasks with nearly all neighbours, many with none: the room of a tenth is best used to the full."""
    rng, bits = np.random.default_rng(6), 11
    ends = np.zeros((2, 20_000), np.int64)
    for _ in range(bits):
        quarter = rng.choice(4, ends.shape[1], p=(0.57, 0.19, 0.19, 0.05))
        ends = 2 * ends + np.array([quarter // 2, quarter % 2])
    graph = hb.CommGraph.from_edges(*ends, n=1 << bits)
    where = hb.machine("node:4@100 core:16@1")
    cost = {
        preset: hb.map_tasks(graph, where, preset=preset, partition=True, imbalance=0.1).info["comm_cost"]
        for preset in ("fast", "eco")
    }
    assert cost["fast"] <= 1.1 * cost["eco"]
