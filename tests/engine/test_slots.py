"""Pair searches and greedy constructions: equal to their plain twins, true local optima, counted."""

import copy
import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.engine_cases import cost_of, csrs, distances, edges, forms, random_csr
from hopbytes import _core
from hopbytes.engine.control import RunControl
from hopbytes.engine.problem import Call, SearchProblem
from hopbytes.engine.slots import ALL_PAIRS, BLOCKS, LISTED_PAIRS, NEAR_PAIRS
from hopbytes.kernels.base import optional
from hopbytes.kernels.linear_cost import FORBIDDEN, as_arrays, from_entries
from hopbytes.kernels.records import Distances
from reference import slots_reference as twin

KINDS = ["tree", "table", "flat"]
SEARCHES = [(ALL_PAIRS, 0), (BLOCKS, 5), *((NEAR_PAIRS, reach) for reach in (1, 2, 10)), (LISTED_PAIRS, 3)]


def both(function, *arguments):
    """Call the compiled kernel and its twin; each gets its own copies. Return the arrays of both."""
    results = []
    for module in (_core, twin):
        copies = copy.deepcopy(arguments)
        getattr(module, function)(*copies)
        results.append(copies)
    return results


def control_arrays():
    """Control flag and scanned edges."""
    return np.zeros(2, np.int32), np.zeros(1, np.int64)


def prices_of(rng, pe, k):
    """A few PEs dear, one in five forbidden, all others nearly free; where a task is it may be."""
    n = len(pe)
    listed = np.argwhere(rng.random((n, k)) < 0.3)
    tasks, places = listed[:, 0], listed[:, 1]
    costs = np.where(rng.random(len(tasks)) < 0.2, FORBIDDEN, rng.integers(0, 20, len(tasks)))
    costs[places == pe[tasks]] = 3
    return from_entries(tasks, places, costs, rng.integers(0, 3, n))


def apart(csr, n):
    """Edges between every two tasks, by repeated relaxation; very many where there is no path."""
    hops = np.full((n, n), 10**6)
    np.fill_diagonal(hops, 0)
    for v in range(n):
        hops[v, csr.targets[csr.indptr[v] : csr.indptr[v + 1]]] = 1
    for via in range(n):
        hops = np.minimum(hops, hops[:, [via]] + hops[[via], :])
    return hops


def pairs_of(kind, reach, csr, n):
    hops = apart(csr, n)
    for u, v in itertools.combinations(range(n), 2):
        if kind == ALL_PAIRS or (kind == BLOCKS and u // reach == v // reach) or (
            kind in (NEAR_PAIRS, LISTED_PAIRS) and hops[u, v] <= reach
        ):
            yield u, v


@pytest.mark.parametrize(("kind", "reach"), SEARCHES)
@pytest.mark.parametrize("form", KINDS)
@given(csr=csrs(max_tasks=13), k=st.integers(1, 8), seed=st.integers(0, 99), data=st.data())
@settings(deadline=None, max_examples=25)
def test_search_is_its_twin_and_ends_in_a_local_optimum(kind, reach, form, csr, k, seed, data):
    n = len(csr.indptr) - 1
    rng = np.random.default_rng(seed)
    matrix, near = distances(form, k, rng)
    pe = np.array(data.draw(st.lists(st.integers(0, k - 1), min_size=n, max_size=n)), np.int32)
    loads = rng.integers(0, 4, n) if data.draw(st.booleans()) else np.empty(0, np.int64)
    held = np.bincount(pe, weights=loads if len(loads) else None, minlength=k).astype(np.int64)
    caps = held + data.draw(st.integers(0, 2))
    prices = prices_of(rng, pe, k) if data.draw(st.booleans()) else None
    order = rng.permutation(n).astype(np.int32)
    if kind == LISTED_PAIRS:
        pairs = np.array([*pairs_of(kind, reach, csr, n)], np.int32).reshape(-1, 2)
        order = rng.permutation(pairs).reshape(-1)
    compiled, plain = both(
        "pair_search", (csr.indptr, csr.targets, optional(csr.weights), loads), forms(near),
        as_arrays(prices), control_arrays(), kind, reach, order, caps, pe,
        np.zeros(2, np.int64),
    )
    assert compiled[-2].tolist() == plain[-2].tolist()
    assert compiled[-1].tolist() == plain[-1].tolist(), "evaluations, exchanges"
    assert compiled[3][1] == plain[3][1], "scanned edges"
    after = compiled[-2]
    assert np.array_equal(np.bincount(after, minlength=k), np.bincount(pe, minlength=k))
    if len(loads):
        assert np.all(np.bincount(after, weights=loads, minlength=k) <= caps)
        return  # an exchange that did not fit may fit after another one elsewhere
    for u, v in pairs_of(kind, reach, csr, n):
        other = after.copy()
        other[[u, v]] = after[[v, u]]
        change = cost_of(csr, matrix, other) - cost_of(csr, matrix, after)
        if prices is not None:
            change += prices.total(other) - prices.total(after)
        assert change >= 0


@pytest.mark.parametrize("linked", [False, True])
@pytest.mark.parametrize("form", KINDS)
def test_greedy_construction_is_its_dense_twin(form, linked):
    """The tree's answer against sums over all PEs, on a hundred random instances."""
    for seed in range(100):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(1, 25))
        csr = random_csr(rng, n)
        k = int(rng.integers(1, n + 1))
        _, near = distances(form, k, rng)
        if form == "tree":  # holes, as where only some cores are ours
            near = near._replace(labels=np.sort(rng.choice(100, k, replace=False)).astype(np.uint64))
        room = np.bincount(rng.integers(0, k, n), minlength=k)
        compiled, plain = both(
            "place_greedily", (csr.indptr, csr.targets, optional(csr.weights), np.empty(0, np.int64)),
            forms(near), control_arrays(), linked, room, np.empty(n, np.int32),
        )
        assert compiled[-1].tolist() == plain[-1].tolist()
        assert np.array_equal(np.bincount(compiled[-1], minlength=k), room)


def test_arrays_of_another_type_are_refused():
    """A silent copy would lose what the kernel writes; also inside the groups of arguments."""
    csr = edges(2, [(0, 1)])
    near = Distances(table=np.zeros(4, np.int64))
    call = Call.prepare(SearchProblem(csr._replace(weights=None), distances=near), RunControl())
    rest = (call.distances, call.control_arrays, False, np.ones(2, np.int64), np.empty(2, np.int32))
    _core.place_greedily(call.graph, *rest)
    indptr, targets, weights, loads = call.graph
    for wrong in ((indptr, targets.astype(np.int64), weights, loads), ([0, 1, 2], targets, weights, loads)):
        with pytest.raises(TypeError, match="incompatible"):
            _core.place_greedily(wrong, *rest)
