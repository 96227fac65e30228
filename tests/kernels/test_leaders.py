"""Kernels of PTRAM's leaders against their twins, bit for bit."""

import numpy as np
import pytest

from hopbytes import _core
from hopbytes.kernels import routes as leaders
from hopbytes.kernels.routes import Routes
from reference import leaders_reference as twin


def routes(rng, rows, links, split):
    start = np.concatenate([[0], np.cumsum(rng.integers(0, 6, rows))])
    over = rng.integers(0, links, start[-1])
    if not split:
        return Routes(start, over, None, None)
    below = rng.integers(1, 7, start[-1])
    return Routes(start, over, rng.integers(1, below + 1), below)


@pytest.fixture(params=[_core, twin], ids=["compiled", "twin"])
def kernel(request, monkeypatch):
    monkeypatch.setattr(leaders, "kernel", request.param)
    return request.param


@pytest.mark.parametrize("split", [False, True])
def test_sums_and_what_follows_from_them(monkeypatch, split):
    for seed in range(20):
        rng = np.random.default_rng(seed)
        links, rows, batches = int(rng.integers(1, 12)), int(rng.integers(1, 9)), int(rng.integers(0, 6))
        table, shift = routes(rng, rows, links, split), int(rng.integers(0, 20)) if split else 0
        flow_start = np.concatenate([[0], np.cumsum(rng.integers(0, 5, batches))]).astype(np.int64)
        row, volume = rng.integers(0, rows, flow_start[-1]), rng.integers(-2**20, 2**20, flow_start[-1])
        load = rng.integers(0, 2**30, links) * rng.integers(0, 2, links)
        prices = None if seed % 3 == 0 else rng.integers(1, 9, links)
        terms = np.array([*rng.random(4), 3.0, 7.0])
        found = []
        for each in (_core, twin):
            monkeypatch.setattr(leaders, "kernel", each)
            added = leaders.sum_over_routes(table, shift, links, flow_start, row, np.abs(volume))
            changes = leaders.sum_over_routes(table, shift, links, flow_start, row, volume)
            big = load + 2**50  # nothing falls below 0
            found.append([
                *added, *changes, leaders.hybrid_after_each(added, load, prices, terms),
                *leaders.peak_after_each(changes, big, prices), *leaders.peak_after_each(added, load, prices),
            ])
        assert all(a.tobytes() == b.tobytes() for a, b in zip(*found, strict=True)), seed


def test_known_answers(kernel):
    """Rows 0 and 1 share link 2; half of row 2 takes each of links 0 and 1."""
    table = Routes(
        np.array([0, 2, 4, 6]), np.array([0, 2, 1, 2, 0, 1]),
        np.ones(6, np.int64), np.array([1, 1, 1, 1, 2, 2]),
    )
    changes = leaders.sum_over_routes(
        table, 1, 3, np.array([0, 2, 3]), np.array([0, 1, 2]), np.array([5, -3, 7])
    )
    assert changes.start.tolist() == [0, 3, 5]
    assert changes.links.tolist() == [0, 2, 1, 0, 1]
    assert changes.amounts.tolist() == [10, 4, -6, 7, 7]
    top, count = leaders.peak_after_each(changes, np.array([1, 8, 3]), np.array([2, 1, 1]))
    assert (top.tolist(), count.tolist()) == ([22, 16], [1, 1])
    top, count = leaders.peak_after_each(changes, np.array([3, 19, 3]), np.array([2, 1, 1]))
    assert (top.tolist(), count.tolist()) == ([26, 26], [1, 1])
    _, count = leaders.peak_after_each(changes, np.array([6, 19, 3]), np.array([2, 1, 1]))
    assert count.tolist() == [1, 2]
    # Loads 8, 15, 3 at prices 2, 1, 1: hop-bytes 26, highest 16, mean 34 / 3, mean square 490 / 3.
    added = leaders.LinkChanges(*(part[start:] for part, start in zip(changes, (1, 3, 3), strict=True)))
    added = added._replace(start=np.array([0, 2]))
    value = leaders.hybrid_after_each(
        added, np.array([1, 8, 3]), np.array([2, 1, 1]), np.array([1.0, 2.0, 4.0, 0.0, 2.0, 1.0])
    )
    assert value.tolist() == [26.0 + 2.0 * (16 / 2.0) + 4.0 * (34 / 3 / 2.0)]
