"""Costs of single tasks on PEs inside the compiled searches: honoured, summed right, never broken."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.engine_cases import cost_of, cut_once, distances, random_csr, sums
from hopbytes.algorithms.balancer import meet_bounds
from hopbytes.engine.control import RunControl
from hopbytes.engine.partition import RefinementSettings, refine_placement
from hopbytes.engine.problem import PartitionSettings, SearchProblem, SearchSettings
from hopbytes.engine.slots import swap_refine
from hopbytes.kernels.linear_cost import FORBIDDEN, from_entries
from hopbytes.kernels.records import Csr, Distances


def random_linear_cost(rng, n, k, feasible=None):
    """A third of the tasks with prices, a third with forbidden or only allowed PEs, a third without."""
    tasks, pes, costs = [], [], []
    rest = np.zeros(n, np.int64)
    for task in range(n):
        kind = rng.integers(4)
        some = rng.choice(k, int(rng.integers(1, k)), replace=False)
        home = int(some[0]) if feasible is None else int(feasible[task])
        if kind == 0:
            rest[task] = rng.integers(1, 50)
            some = [home]
            price = 0
        elif kind == 1:
            rest[task] = FORBIDDEN
            some = sorted({home, *map(int, some)})
            price = 0
        elif kind == 2:
            some = [p for p in some if p != home]
            price = FORBIDDEN
        else:
            continue
        tasks += [task] * len(some)
        pes += [int(p) for p in some]
        costs += [price] * len(some)
    return from_entries(np.array(tasks, np.int64), np.array(pes, np.int64), np.array(costs, np.int64), rest)


def total(csr, matrix, pe, linear_cost):
    return cost_of(csr, matrix, pe) + linear_cost.total(pe)


@pytest.mark.parametrize("kind", ["tree", "table", "flat"])
@pytest.mark.parametrize("cycles", [0, 2])
def test_refinement_lowers_the_sum_and_never_enters_a_forbidden_pe(kind, cycles):
    for seed in range(6):
        rng = np.random.default_rng(seed)
        csr = random_csr(rng, 300, 4)
        matrix, near = distances(kind, 8, rng)
        start = rng.integers(0, 8, 300).astype(np.int32)
        linear_cost = random_linear_cost(rng, 300, 8, start)
        caps = np.full(8, 60, np.int64)
        pe, _ = refine_placement(
            SearchProblem(csr, None, near, linear_cost), start, caps,
            RefinementSettings(cycles, search=SearchSettings(flow_rounds=2, overload_percent=10)),
            control=RunControl(seed),
        )
        assert not len(linear_cost.violated(pe))
        assert total(csr, matrix, pe, linear_cost) < total(csr, matrix, start, linear_cost)
        assert max(sums(pe, None, 8)) <= 60


@pytest.mark.parametrize("kind", ["tree", "table"])
def test_swaps_lower_the_sum_and_never_enter_a_forbidden_pe(kind):
    for seed in range(6):
        rng = np.random.default_rng(seed)
        csr = random_csr(rng, 48, 5)
        matrix, near = distances(kind, 16, rng)
        start = rng.permutation(np.repeat(np.arange(16), 3)).astype(np.int32)
        linear_cost = random_linear_cost(rng, 48, 16, start)
        pe, *_ = swap_refine(
            SearchProblem(csr, None, near, linear_cost), start, np.full(16, 48), control=RunControl(seed)
        )
        assert np.array_equal(np.bincount(pe), np.bincount(start))
        assert not len(linear_cost.violated(pe))
        assert total(csr, matrix, pe, linear_cost) < total(csr, matrix, start, linear_cost)


@given(st.integers(0, 2**32 - 1), st.booleans())
def test_repair_keeps_tasks_off_forbidden_pes(seed, tree):
    import hopbytes as hb

    rng = np.random.default_rng(seed)
    where = hb.allocate("node:3 core:3")
    csr = random_csr(rng, 40, 3)
    graph = hb.CommGraph.from_edges(np.repeat(np.arange(40), np.diff(csr.indptr)), csr.targets, csr.weights)
    start = rng.integers(0, 9, graph.n).astype(np.int32)
    linear_cost = random_linear_cost(rng, graph.n, 9, start)
    done = meet_bounds(graph, where, start, None, np.full(9, 6, np.int64), linear_cost)
    assert not len(linear_cost.violated(done.pe))


@given(st.integers(0, 2**32 - 1))
def test_groups_cost_as_their_cheapest_pe(seed):
    rng = np.random.default_rng(seed)
    k, n = 12, 9
    linear_cost = random_linear_cost(rng, n, k)
    parent_of_pe = np.sort(rng.integers(0, 2, k))
    parent_of_pe = parent_of_pe - parent_of_pe[0]
    child_of_pe = np.unique(parent_of_pe * k + np.sort(rng.integers(0, 4, k)), return_inverse=True)[1]
    children = int(child_of_pe.max()) + 1
    parent = np.zeros(children, np.int64)
    parent[child_of_pe] = parent_of_pe
    place = np.arange(children) - np.searchsorted(parent, parent)
    group = rng.integers(0, int(parent.max()) + 1, n).astype(np.int32)
    found = linear_cost.grouped(group, child_of_pe.astype(np.int32), parent, place)
    for task in range(n):
        for child in np.flatnonzero(parent == group[task]):
            inside = np.flatnonzero(child_of_pe == child)
            want = min(int(linear_cost.at(np.full(n, pe, np.int32))[task]) for pe in inside)
            assert int(found.at(np.full(n, place[child], np.int32))[task]) == want


@given(st.integers(0, 2**32 - 1))
def test_selecting_pes_keeps_costs(seed):
    rng = np.random.default_rng(seed)
    linear_cost = random_linear_cost(rng, 7, 10)
    kept = np.flatnonzero(rng.integers(0, 2, 10))
    if not len(kept):
        return
    part = linear_cost.select(kept, 10)
    for new, old in enumerate(kept):
        assert np.array_equal(
            part.at(np.full(7, new, np.int32)), linear_cost.at(np.full(7, old, np.int32))
        )


def test_scaled_costs_are_rounded_half_up():
    linear_cost = from_entries(np.arange(3), np.zeros(3, int), np.array([4, 5, FORBIDDEN]), np.full(3, 7))
    assert linear_cost.scaled(1, 2).costs.tolist() == [2, 3, FORBIDDEN]
    assert linear_cost.scaled(2, 3).rest.tolist() == [5, 5, 5]


def test_a_free_task_goes_home_when_that_saves_more_than_it_costs():
    """Two tasks that exchange 5; leaving home costs task 0 either 4 or 6."""
    csr = Csr(np.array([0, 1, 2]), np.array([1, 0], np.int32), np.array([5, 5]))
    for price, together in ((4, True), (6, False)):
        linear_cost = from_entries(np.array([0]), np.array([1]), np.array([0]), np.array([price, 0]))
        pe, _ = refine_placement(
            SearchProblem(csr, None, Distances(table=np.array([0, 1, 1, 0])), linear_cost),
            np.array([0, 0], np.int32), np.array([1, 1]) if not together else np.array([2, 2]),
        )
        assert pe.tolist() == ([1, 1] if together else pe.tolist())
        assert linear_cost.at(pe)[0] + 5 * (pe[0] != pe[1]) <= price


def test_partitions_put_fixed_vertices_where_they_belong():
    for seed in range(10):
        rng = np.random.default_rng(seed)
        csr = random_csr(rng, 400, 4)
        fixed = rng.choice(400, 60, replace=False)
        place = rng.integers(0, 4, 60)
        rest = np.zeros(400, np.int64)
        rest[fixed] = FORBIDDEN
        linear_cost = from_entries(np.sort(fixed), place[np.argsort(fixed)], np.zeros(60, np.int64), rest)
        child, _ = cut_once(
            csr, [110] * 4,
            PartitionSettings(repetitions=2, recombinations=1, search=SearchSettings(flow_rounds=1)),
            seed=seed, linear_cost=linear_cost,
        )
        assert np.array_equal(child[fixed], place)
        assert np.bincount(child).max() <= 110
