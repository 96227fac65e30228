"""Work of kernels that must not grow with the square of their input, by their own counters."""

import numpy as np
import pytest

from helpers.graphs import grid
from hopbytes.kernels import repair
from hopbytes.kernels.base import USE_REFERENCE, compiled
from hopbytes.kernels.linear_cost import FORBIDDEN, LinearCost
from hopbytes.kernels.records import Csr, Distances

pytestmark = pytest.mark.skipif(USE_REFERENCE, reason="reference implementations count no work")


def tree(k):
    """Return distances of k PEs in nodes of 8."""
    costs = np.full(65, 10, np.int64)
    costs[:4] = 0, 1, 1, 1
    return Distances(np.arange(k, dtype=np.uint64), costs)


def ring(n):
    tasks = np.arange(n)
    targets = np.sort(np.stack([(tasks - 1) % n, (tasks + 1) % n], axis=1)).astype(np.int32).ravel()
    return Csr(np.arange(0, 2 * n + 1, 2), targets, None)


def allowed_on(sets):
    """Return the costs of tasks that may only be on the PEs of their set; None: on any."""
    blocks = [[] if pes is None else sorted(pes) for pes in sets]
    return LinearCost(
        np.cumsum([0, *map(len, blocks)]), np.array([p for pes in blocks for p in pes], np.int32),
        np.zeros(sum(map(len, blocks)), np.int64),
        np.array([0 if pes is None else FORBIDDEN for pes in sets], np.int64),
    )


def compared_when_restricted(k):
    """Every second PE holds two tasks: one must stay, the other may also be on one PE with room far away."""
    pe = np.repeat(np.arange(0, k, 2), 2).astype(np.int32)
    sets = [{int(p)} if task % 2 else {int(p), int((p + k // 2 + 1) % k)} for task, p in enumerate(pe)]
    moves, _, _, compared = repair(
        ring(k), None, pe, np.ones(k, np.int64), tree(k), np.zeros(1, np.int32), linear_cost=allowed_on(sets)
    )
    assert moves == k // 2
    assert np.array_equal(np.sort(pe), np.arange(k))
    return compared


def test_repair_of_restricted_tasks_compares_the_pes_they_list():
    """With a comparison of all k PEs per task the factor is 64, not 8."""
    few, many = compared_when_restricted(256), compared_when_restricted(2048)
    assert many <= 9 * few


def compared_for_donors(k):
    """Three eighths of the PEs are empty. Only the last one has tasks to give: all others stay in place."""
    pe = np.repeat(np.arange(k // 2), 2).astype(np.int32)
    pe[: 3 * k // 4] = pe[: 3 * k // 4] // 2
    given = np.arange(k) >= k - k // 8
    pe[given] = k - 1
    sets = [None if gives else {int(place)} for gives, place in zip(given, pe, strict=True)]
    moves, _, _, compared = repair(
        ring(k), None, pe, np.ones(k, np.int64), tree(k), np.zeros(1, np.int32), fill_empty=True,
        linear_cost=allowed_on(sets),
    )
    assert moves == k // 8 - 1
    return compared


def test_donors_that_have_nothing_to_give_are_left_out():
    """With a look at every PE that holds two tasks the factor is 16, not 4."""
    few, many = compared_for_donors(512), compared_for_donors(2048)
    assert many <= 5 * few


def compared_in_order(count):
    """A grid of groups with equal volumes: few different volumes to placed groups at any time."""
    edges = grid(int(count**0.5))
    ones, placed = np.ones(count, np.int64), np.empty(count, np.int32)
    compared = compiled.ptram_order((edges.indptr, edges.targets, None), ones, ones, placed)
    assert np.array_equal(np.sort(placed), np.arange(count))
    return compared


def test_the_order_of_ptram_compares_few_groups_per_step():
    """All pairs of 4,096 groups would be 8 million comparisons."""
    assert compared_in_order(1024) <= 5 * 1024
    assert compared_in_order(4096) <= 5 * 4096
