"""What multisection tells whoever watches, and how it divides its effort."""

from __future__ import annotations

import numpy as np
import pytest

import hopbytes as hb
from hopbytes.mappers.base import Bounds
from hopbytes.mappers.sections import levels_of, seam_distances, shares_of_cost


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


def test_machines_without_distance_share_evenly() -> None:
    where = hb.machine("node:4@0 core:2@0")
    groups = where.groups()
    assert shares_of_cost(seam_distances(where, groups), groups) == [1.0] * len(groups)


def test_a_search_from_no_seed_starts_from_one() -> None:
    mapping = hb.map_tasks(grid(40), hb.machine("node:3@10 core:4@1"), mapper="multisection:seeds=0", seed=5)
    assert mapping.info["balance"] == "met"
