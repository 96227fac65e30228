"""Chains of exchanges: equal to their twin. Pairs of units cut anew: never worse, out of local optima."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.engine_cases import cost_of, csrs, distances, edges, forms, random_csr
from hopbytes import _core
from hopbytes.engine.control import RunControl
from hopbytes.engine.problem import SearchProblem
from hopbytes.engine.slots import (
    ALL_PAIRS,
    pair_search,
    repartition_pairs,
)
from hopbytes.kernels.base import optional
from hopbytes.kernels.linear_cost import FORBIDDEN, as_arrays, from_entries
from hopbytes.kernels.records import Distances
from reference import slots_reference as twin


@pytest.mark.parametrize("form", ["tree", "table"])
@given(csr=csrs(max_tasks=9), k=st.integers(1, 9), seed=st.integers(0, 99), data=st.data())
@settings(deadline=None, max_examples=25)
def test_chains_are_their_twin(form, csr, k, seed, data):
    n = len(csr.indptr) - 1
    rng = np.random.default_rng(seed)
    matrix, near = distances(form, k, rng)
    pe = np.array(data.draw(st.lists(st.integers(0, k - 1), min_size=n, max_size=n)), np.int32)
    if n <= k and data.draw(st.booleans()):
        pe = rng.permutation(k)[:n].astype(np.int32)
    loads = rng.integers(0, 4, n) if data.draw(st.booleans()) else np.empty(0, np.int64)
    held = np.bincount(pe, weights=loads if len(loads) else None, minlength=k).astype(np.int64)
    prices = from_entries(np.arange(n), pe.astype(np.int64), np.full(n, 2), rng.integers(0, 9, n))
    linear_cost = prices if data.draw(st.booleans()) else None
    fruitless, budget = data.draw(st.integers(0, 4)), data.draw(st.sampled_from([50, 10**9]))
    order, results = rng.permutation(n).astype(np.int32), []
    for module in (_core, twin):
        after, counted, spent = pe.copy(), np.zeros(2, np.int64), np.zeros(1, np.int64)
        module.chain_search(
            (csr.indptr, csr.targets, optional(csr.weights), loads), forms(near), as_arrays(linear_cost),
            (np.zeros(2, np.int32), spent), fruitless, budget, order, held + 1, after, counted,
        )
        results.append((after.tolist(), counted.tolist(), spent.tolist()))
    assert results[0] == results[1]
    after = np.array(results[0][0], np.int32)
    assert np.array_equal(np.bincount(after, minlength=k), np.bincount(pe, minlength=k))

    def cost(places):
        return cost_of(csr, matrix, places) + (linear_cost.total(places) if linear_cost is not None else 0)

    assert cost(after) <= cost(pe)


def couples(groups):
    """Groups of four communicating tasks, made of pairs that communicate far more."""
    near = [(4 * g + i, 4 * g + j) for g in range(groups) for i, j in itertools.combinations(range(4), 2)]
    return edges(4 * groups, near, [100 if i // 2 == j // 2 else 10 for i, j in near])


NODES_OF_FOUR = Distances(
    np.arange(8, dtype=np.uint64), np.array([0, 1, 1, 7, 7], np.int64)[np.minimum(np.arange(65), 4)]
)


def test_a_pair_of_nodes_is_cut_anew_where_every_single_exchange_loses():
    csr = couples(2)
    start = np.array([0, 1, 4, 5, 2, 3, 6, 7], np.int32)  # a couple of either group on either node
    one_each = np.ones(8, np.int64)
    problem = SearchProblem(csr, distances=NODES_OF_FOUR)
    assert pair_search(ALL_PAIRS, problem, start, one_each).swaps == 0
    found, gained = repartition_pairs(
        problem, start, np.array([0, 4, 8]), np.array([[0, 1]])
    )
    assert gained == 1
    assert sorted(found.pe.tolist()) == list(range(8))
    assert len({int(found.pe[v]) // 4 for v in range(4)}) == 1


def test_two_nodes_end_at_the_optimum():
    """Against all 35 ways to cut eight tasks in halves, also with prices of single tasks."""
    for seed in range(10):
        rng = np.random.default_rng(seed)
        csr = random_csr(rng, 8)
        dear = rng.integers(0, 40, (8, 2)).repeat(4, axis=1)
        tasks, places = np.indices((8, 8)).reshape(2, -1)
        linear_cost = from_entries(tasks, places, dear.reshape(-1), np.full(8, 99)) if seed % 2 else None
        matrix = np.where(np.arange(8)[:, None] // 4 == np.arange(8) // 4, 1, 7) - np.eye(8, dtype=np.int64)

        def cost(pe, linear_cost=linear_cost, csr=csr, matrix=matrix):
            return cost_of(csr, matrix, pe) + (0 if linear_cost is None else linear_cost.total(pe))

        every = []
        for half in itertools.combinations(range(8), 4):
            pe = np.empty(8, np.int32)
            pe[list(half)], pe[np.setdiff1d(range(8), half)] = range(4), range(4, 8)
            every.append(cost(pe))
        found, _ = repartition_pairs(
            SearchProblem(csr, None, NODES_OF_FOUR, linear_cost), rng.permutation(8).astype(np.int32),
            np.array([0, 4, 8]), np.array([[0, 1]]), new_bisections=6,
        )
        assert cost(found.pe) == min(every)


@pytest.mark.parametrize("form", ["tree", "table"])
def test_pairs_are_cut_anew_by_several_threads_as_by_one(form):
    """Pairs of a batch share units and neighbours, so that many of them have to be bisected again."""
    rng = np.random.default_rng(3)
    csr, (matrix, near) = random_csr(rng, 256, per_task=4), distances(form, 256, rng)
    pe = rng.permutation(256).astype(np.int32)
    pairs = rng.permutation(np.array(list(itertools.combinations(range(16), 2))))
    answers = []
    for threads in (1, 2, 5):
        spent = []
        found, gained = repartition_pairs(
            SearchProblem(csr, None, near), pe, np.arange(0, 257, 16), pairs,
            control=RunControl(1, threads, spend=lambda arcs, whole, spent=spent: spent.append(arcs)),
        )
        assert gained > 0
        answers.append((found.pe.tolist(), found.evaluations, found.swaps, gained, sum(spent)))
    assert cost_of(csr, matrix, np.array(answers[0][0])) < cost_of(csr, matrix, pe)
    assert answers[0] == answers[1] == answers[2]


@pytest.mark.parametrize("form", ["tree", "table"])
def test_pairs_cut_anew_never_cost_more_and_fixed_tasks_stay(form):
    for seed in range(10):
        rng = np.random.default_rng(seed)
        csr, (matrix, near) = random_csr(rng, 40), distances(form, 48, rng)
        pe = rng.permutation(48)[:40].astype(np.int32)  # eight slots stay empty
        fixed = np.arange(0, 40, 2 + seed % 5)
        rest = np.zeros(40, np.int64)
        rest[fixed] = FORBIDDEN
        linear_cost = from_entries(fixed, pe[fixed].astype(np.int64), np.zeros(len(fixed), np.int64), rest)
        pairs = np.array(list(itertools.combinations(range(6), 2)))
        found, _ = repartition_pairs(
            SearchProblem(csr, None, near, linear_cost), pe, np.arange(0, 49, 8), pairs,
            control=RunControl(seed),
        )
        assert cost_of(csr, matrix, found.pe) <= cost_of(csr, matrix, pe)
        assert np.array_equal(found.pe[fixed], pe[fixed])
        assert len(set(found.pe.tolist())) == 40
