"""Compiled refinement: never worse, caps kept, minimum cuts optimal where they see everything."""

import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.engine_cases import FLOWS_ONLY, cost_of, csrs, distances, edges, random_csr, refined, sums
from helpers.graphs import grid_csr
from hopbytes.engine.control import MOST, RunControl, rescale_to_63_bits
from hopbytes.engine.partition import RefinementSettings, refine_placement
from hopbytes.engine.problem import SearchProblem, SearchSettings
from hopbytes.kernels.records import Distances

KINDS = ["tree", "table", "flat"]


@pytest.mark.parametrize("kind", KINDS)
@given(csr=csrs(), k=st.integers(1, 20), cycles=st.integers(0, 2), seed=st.integers(0, 99), data=st.data())
@settings(deadline=None, max_examples=60)
def test_never_worse_and_within_the_caps(kind, csr, k, cycles, seed, data):
    n = len(csr.indptr) - 1
    matrix, near = distances(kind, k, np.random.default_rng(seed))
    pe = np.array(data.draw(st.lists(st.integers(0, k - 1), min_size=n, max_size=n)), np.int32)
    loads = data.draw(st.none() | st.lists(st.integers(0, 2**40), min_size=n, max_size=n))
    loads = None if loads is None else np.array(loads, np.int64)
    caps = np.array(sums(pe, loads, k)) + data.draw(st.integers(0, 4))
    for search in (SearchSettings(flow_rounds=2), SearchSettings(seeds=1, fruitless_moves=3), FLOWS_ONLY):
        before = pe.copy()
        better = refined(csr, pe, caps, near, loads, cycles=cycles, search=search, seed=seed, coarsest=2)
        assert np.array_equal(pe, before), "the input is the caller's"
        assert better.min() >= 0
        assert better.max() < k
        assert cost_of(csr, matrix, better) <= cost_of(csr, matrix, pe)
        assert np.all(np.array(sums(better, loads, k)) <= caps)


def test_many_cycles_on_a_small_graph_can_be_watched():
    """They take seconds, during which Ctrl-C and a deadline must be heard."""
    csr, seen = grid_csr(4), []
    _, near = distances("flat", 4, np.random.default_rng(1))
    refine_placement(
        SearchProblem(csr, None, near), np.arange(16, dtype=np.int32) % 4, np.full(4, 4, np.int64),
        RefinementSettings(cycles=200_000),
        control=RunControl(deadline=time.monotonic() + 0.3, watch=seen.append),
    )
    assert seen


@pytest.mark.parametrize("kind", KINDS)
def test_search_finds_what_one_move_can_gain(kind):
    rng = np.random.default_rng(3)
    csr = random_csr(rng, 60)
    matrix, near = distances(kind, 6, rng)
    pe = rng.integers(0, 6, 60).astype(np.int32)
    caps = np.full(6, 60)
    better = refined(csr, pe, caps, near)
    here = cost_of(csr, matrix, better)
    for v in range(60):
        around = {int(better[u]) for u in csr.targets[csr.indptr[v] : csr.indptr[v + 1]]}
        for p in around - {int(better[v])}:
            other = better.copy()
            other[v] = p
            assert cost_of(csr, matrix, other) >= here


def test_overfull_blocks_are_drained_where_there_is_room():
    rng = np.random.default_rng(4)
    for k in (3, 40):
        _, near = distances("tree", k, rng)
        csr = edges(400, [(v, v + 1) for v in range(200)])  # half of the tasks are isolated
        pe = np.zeros(400, np.int32)
        pe[:100] = k - 1
        caps = [-(-400 // k)] * k
        assert max(sums(refined(csr, pe, caps, near), None, k)) <= caps[0]


def test_a_task_next_to_hundreds_of_blocks_moves_to_the_heaviest_one():
    k = 300
    weights = np.ones(k - 1, np.int64)
    weights[200] = 50
    csr = edges(k, [(0, v) for v in range(1, k)], weights)
    pe = np.arange(k, dtype=np.int32)
    costs = Distances(table=(1 - np.eye(k, dtype=np.int64)).reshape(-1))
    better = refined(csr, pe, [1] * 201 + [2] + [1] * (k - 202), costs)
    assert better[0] == 201 == better[201]


@pytest.mark.parametrize("kind", KINDS)
def test_sums_near_2_to_the_63_neither_wrap_nor_worsen(kind):
    for seed in range(10):
        rng = np.random.default_rng(seed)
        csr = random_csr(rng, 20, per_task=2, heaviest=9)
        matrix, near = distances(kind, 5, rng)
        scale = (2**63 - 1) // max(1, int(csr.weights.sum()) * max(1, int(matrix.max())))
        large = csr._replace(weights=csr.weights * scale)
        pe = rng.integers(0, 5, 20).astype(np.int32)
        caps = np.array(sums(pe, None, 5)) + 2
        better = refined(large, pe, caps, near, search=SearchSettings(flow_rounds=2))
        # All weights are multiples of one number, so rounding cannot change the order of placements much.
        assert cost_of(large, matrix, better) <= cost_of(large, matrix, pe)


@given(st.lists(st.integers(1, 2**62), min_size=1, max_size=6), st.integers(0, 2**62))
def test_moderate_numbers_stay_within_the_limit(weights, furthest):
    weights, near = np.array(weights, np.int64), np.array([0, furthest // 3, furthest])
    seen, seen_near = rescale_to_63_bits(weights, len(weights), near)
    total = sum(map(int, weights)) * furthest
    if total < MOST:
        assert seen is weights
        assert seen_near is near
    assert sum(map(int, seen)) * int(seen_near.max()) <= MOST
    assert seen.min() >= 1
    assert (furthest == 0 or seen_near.max() >= 1)
    assert np.all(np.argsort(seen_near, kind="stable") == [0, 1, 2])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("k", [2, 9, 20])
def test_searches_of_a_batch_find_the_same_on_any_number_of_threads(kind, k):
    """Rows of weights for few blocks, sums of near ones for many; boundaries long enough for batches."""
    rng = np.random.default_rng(k)
    csr = grid_csr(60)
    matrix, near = distances(kind, k, rng)
    pe = (np.arange(3600) * k // 3600).astype(np.int32)
    mixed = rng.random(3600) < 0.2
    pe[mixed] = rng.permutation(pe[mixed])
    caps = np.array(sums(pe, None, k)) + 4
    found = [
        refined(csr, pe, caps, near, cycles=0, search=SearchSettings(seeds=5), seed=1, threads=threads)
        for threads in (1, 2, 5)
    ]
    assert cost_of(csr, matrix, found[0]) < cost_of(csr, matrix, pe)
    assert np.all(np.array(sums(found[0], None, k)) <= caps)
    assert all(np.array_equal(found[0], other) for other in found[1:])
