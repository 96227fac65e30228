"""Compiled exchanges: never worse, counts and caps kept, a true local optimum when all pairs are tried."""

import itertools
from dataclasses import asdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hopbytes as hb
from helpers.engine_cases import cost_of, csrs, distances, random_csr, sums, swapped
from hopbytes import _core
from hopbytes.engine.control import RunControl
from hopbytes.engine.problem import Call, SearchProblem
from hopbytes.engine.slots import SwapSettings, swap_refine
from hopbytes.kernels.records import Distances
from hopbytes.machines.distances import kernel_distances

KINDS = ["tree", "table", "flat"]


def change_of(csr, matrix, pe, u, v):
    """Cost difference if u and v exchange their PEs, from scratch."""
    other = pe.copy()
    other[u], other[v] = pe[v], pe[u]
    return cost_of(csr, matrix, other) - cost_of(csr, matrix, pe)


def may_swap(pe, loads, caps, u, v):
    shift = int(loads[v] - loads[u])
    held = sums(pe, loads, len(caps))
    return held[pe[u]] + max(shift, 0) <= caps[pe[u]] and held[pe[v]] - min(shift, 0) <= caps[pe[v]]


@pytest.mark.parametrize("kind", KINDS)
@given(csr=csrs(max_tasks=14), k=st.integers(1, 8), seed=st.integers(0, 99), data=st.data())
@settings(deadline=None, max_examples=60)
def test_ends_where_no_exchange_gains(kind, csr, k, seed, data):
    n = len(csr.indptr) - 1
    matrix, near = distances(kind, k, np.random.default_rng(seed))
    pe = np.array(data.draw(st.lists(st.integers(0, k - 1), min_size=n, max_size=n)), np.int32)
    better = swapped(csr, pe, [n] * k, near, seed=seed)
    assert np.array_equal(np.bincount(better, minlength=k), np.bincount(pe, minlength=k))
    assert cost_of(csr, matrix, better) <= cost_of(csr, matrix, pe)
    for u, v in itertools.combinations(range(n), 2):
        assert change_of(csr, matrix, better, u, v) >= 0


@pytest.mark.parametrize("kind", KINDS)
def test_caps_hold_where_loads_differ(kind):
    gained = 0
    for seed in range(15):
        rng = np.random.default_rng(seed)
        csr = random_csr(rng, 24)
        matrix, near = distances(kind, 5, rng)
        loads = rng.integers(0, 6, 24)
        pe = rng.integers(0, 5, 24).astype(np.int32)
        caps = np.array(sums(pe, loads, 5)) + 1
        better = swapped(csr, pe, caps, near, loads, seed=seed)
        assert np.all(np.array(sums(better, loads, 5)) <= caps)
        assert np.array_equal(np.bincount(better, minlength=5), np.bincount(pe, minlength=5))
        gained += cost_of(csr, matrix, pe) - cost_of(csr, matrix, better)
        # An exchange that did not fit may fit after another one elsewhere: what is left is what is full.
        left = [
            (u, v) for u, v in itertools.combinations(range(24), 2)
            if change_of(csr, matrix, better, u, v) < 0 and may_swap(better, loads, caps, u, v)
        ]
        assert len(left) <= 3
    assert gained > 0


def compiled(csr, near, pe, room, *settings, seed=0, stopped=0):
    """Return the change that compiled code claims, the mapping, the scanned edges and its counters."""
    after, counted = np.array(pe, np.int32), np.zeros(3, np.int64)
    call = Call.prepare(SearchProblem(csr, distances=near), RunControl())
    call.control_arrays[0][0] = stopped
    change = _core.swap_refine(
        call.graph, call.distances, call.linear_cost, call.control_arrays, room, seed,
        asdict(SwapSettings(*settings)) | {"threads": 1}, np.empty(0, np.int32), after, counted,
    )
    return change, after, int(call.control_arrays[1][0]), counted.tolist()


@pytest.mark.parametrize("kind", KINDS)
def test_the_claimed_change_is_the_true_one(kind):
    for seed in range(10):
        rng = np.random.default_rng(seed)
        csr = random_csr(rng, 40)
        matrix, near = distances(kind, 16, rng)
        pe = rng.integers(0, 16, 40).astype(np.int32)
        for all_pairs, chains, perturb in ((1024, 0, 0), (0, 0, 0), (0, 3, 0), (0, 0, 20), (1024, 2, 20)):
            effort = (all_pairs, 3, chains, 50, perturb)
            change, after, *_ = compiled(csr, near, pe, np.full(16, 40), *effort, seed=seed)
            assert change == cost_of(csr, matrix, after) - cost_of(csr, matrix, pe) < 0


# Tasks, PEs, edges per task: rows of weights with an entry per unit, several tasks per PE, and hash tables.
DEGREES = [(60, 60, 20), (240, 16, 20), (1024, 1024, 15)]


@pytest.mark.parametrize(("n", "k", "per_task"), DEGREES)
@pytest.mark.parametrize("heaviest", [1, 9, 2**32])
def test_changes_from_weights_by_unit_are_the_true_ones(n, k, per_task, heaviest):
    # The change that is claimed is the sum of what weights into units said, which exchanges keep up to date.
    rng = np.random.default_rng(n)
    csr = random_csr(rng, n, per_task, heaviest)
    matrix, near = distances("tree", k, rng)
    pe = rng.permutation(np.repeat(np.arange(k, dtype=np.int32), n // k))
    source = np.repeat(np.arange(n), np.diff(csr.indptr))

    def cost(pe):
        return int((csr.weights * matrix[pe[source], pe[csr.targets]]).sum()) // 2

    for effort in ((64, 8), (0, 8, 0, 0, 2), (0, 8, 1, 10, 1)):
        change, after, *_ = compiled(csr, near, pe, np.full(k, n), *effort, seed=3)
        assert change == cost(after) - cost(pe) < 0
        if n == 60 and effort[0]:
            weight = np.zeros((n, n), np.int64)
            weight[source, csr.targets] = csr.weights
            apart = matrix[np.ix_(after, after)]
            at = weight @ apart  # of a task at the place of another one
            moved = at - at.diagonal()[:, None]
            assert (moved + moved.T + 2 * weight * apart).min() >= 0


@pytest.mark.parametrize(
    "spec",
    ["torus:11", "mesh:9x2", "torus:4x3x5 / core:2", "torus:3x4x2x3:wrap=1x0x1x0 / core:2@4",
     "mesh:2x2x2x2x2", "dragonfly:5x2x2"],
)  # fmt: skip
def test_distances_of_a_network_are_those_of_its_table(spec):
    # Searches keep coordinates beside every task; with a table of the same distances they do the same.
    where = hb.allocate(spec)
    rng = np.random.default_rng(4)
    csr, pe = random_csr(rng, 2 * where.k), rng.permutation(np.repeat(np.arange(where.k, dtype=np.int32), 2))
    table = Distances(table=np.ascontiguousarray(where.distance.matrix()).reshape(-1))
    room, effort = np.full(where.k, 2), SwapSettings(0, 8, 2, 50, 20)
    found = [
        swap_refine(SearchProblem(csr, distances=near), pe, room, effort, control=RunControl(seed=3))
        for near in (kernel_distances(where), table)
    ]
    assert np.array_equal(found[0].pe, found[1].pe)
    assert found[0].swaps == found[1].swaps > where.k
