"""Checks of rows; symmetric graphs; when weights are uneven; the order of Cuthill and McKee."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.core_functions import weights_uneven
from hopbytes import _core, kernels
from hopbytes.kernels.records import Csr
from reference import graph_reference as reference


def pairs(weights: list[int]) -> Csr:
    """As many edges without common ends, both arcs stored."""
    ends = np.arange(2 * len(weights))
    return Csr(
        np.arange(len(ends) + 1), (ends ^ 1).astype(np.int32), np.repeat(np.array(weights, np.int64), 2)
    )


def test_symmetrize_adds_both_directions_and_leaves_out_the_diagonal():
    """Volumes sum to 63 bits at most, but twice the one on the diagonal would not fit."""
    arcs = Csr(
        np.array([0, 2, 3, 4]), np.array([0, 1, 0, 2], np.int32), np.array([2**62, 5, 2**61, 2**60], np.int64)
    )
    indptr, targets, weights = kernels.symmetrize(arcs)
    assert indptr.tolist() == [0, 1, 2, 2]
    assert targets.tolist() == [1, 0]
    assert weights.tolist() == [2**61 + 5] * 2


@pytest.mark.parametrize("weights", [False, True])
def test_symmetric_graphs_do_not_depend_on_threads(weights):
    """Directed arcs with loops and pairs in both directions, from and to some vertices many more."""
    rng, n = np.random.default_rng(5), 30_000
    key = np.unique(np.r_[rng.integers(0, n * n, 200_000), 7 * n + np.arange(n), np.arange(n) * (n + 1)])
    indptr = np.searchsorted(key // n, np.arange(n + 1)).astype(np.int64)
    volumes = rng.integers(0, 9, len(key)) if weights else None
    arcs = Csr(indptr, (key % n).astype(np.int32), volumes)
    one = kernels.symmetrize(arcs)
    for threads in (2, 5):
        for alone, shared in zip(one, kernels.symmetrize(arcs, threads), strict=True):
            assert np.array_equal(alone, shared)
    rows = np.repeat(np.arange(n), np.diff(one.indptr))
    inner = key[key // n != key % n]
    both = np.unique(np.r_[inner, inner % n * n + inner // n])
    assert np.array_equal(rows * n + one.targets, both)


@pytest.mark.parametrize("threads", [1, 3])
def test_sums_beyond_63_bits_are_exact(threads):
    values = np.full(600_000, 2**62 + 5)
    values[::2] = -(2**61) - 1
    assert kernels.checked_sum(values, threads) == 300_000 * (2**62 + 5 - 2**61 - 1)


@pytest.mark.parametrize("unit", [1, 10**9])  # in 32 bits, in 64
@pytest.mark.parametrize(("heaviest", "uneven"), [(1, False), (6, False), (7, True), (1000, True)])
def test_nine_edges_of_one_and_a_heavier_one(unit, heaviest, uneven):
    """5 (9 + x^2) > (9 + x)^2 from x = 6 on, where both are 225."""
    assert weights_uneven(pairs([unit] * 9 + [heaviest * unit])) is uneven


def test_equal_weights_and_no_edges_are_even():
    assert weights_uneven(pairs([7] * 5)) is False
    assert weights_uneven(pairs([7] * 5)._replace(weights=None)) is False
    assert weights_uneven(Csr(np.zeros(4, np.int64), np.empty(0, np.int32), None)) is False


@given(st.lists(st.integers(1, 2**40) | st.integers(1, 50), max_size=60))
def test_the_twin_agrees(weights):
    graph = pairs(weights)
    assert weights_uneven(graph) is reference.weights_uneven(graph)


@given(st.integers(0, 6), st.data())
def test_checks_of_rows_are_those_of_the_twin(n, data):
    """Rows that are often valid: few numbers out of order, out of range or without reverse."""
    place = st.integers(-1, n + 1) if data.draw(st.booleans()) else st.integers(0, max(0, n - 1))
    drawn = [data.draw(st.lists(place, max_size=5)) for _ in range(n)]
    rows = [sorted(set(row)) if data.draw(st.integers(0, 9)) else row for row in drawn]
    indptr = np.cumsum([0, *map(len, rows)]).astype(np.int64)
    targets = np.array([target for row in rows for target in row], np.int32)
    if data.draw(st.integers(0, 9)) == 0:
        indptr[data.draw(st.integers(0, n))] += data.draw(st.integers(-3, 3))
    bad = reference.check_csr(indptr, targets, 1)
    assert _core.check_csr(indptr, targets, 2) == bad
    if bad >= 0:
        return
    assert _core.has_diagonal(indptr, targets, 2) is reference.has_diagonal(indptr, targets, 1)
    weights = np.array([data.draw(st.integers(1, 2)) for _ in targets] if n % 2 else [], np.int64)
    for arcs in (Csr(indptr, targets, weights), kernels.symmetrize(Csr(indptr, targets, None))):
        assert _core.find_asymmetry(arcs, 2) == reference.find_asymmetry(arcs, 1)


@pytest.mark.parametrize("threads", [1, 4])
def test_checks_find_what_is_wrong_in_one_of_many_rows(threads):
    """Every vertex is linked with the next three; a row, a weight or a loop is changed in a late range."""
    n = 60_000
    near = np.concatenate([np.arange(-3, 0), np.arange(1, 4)])
    targets = np.sort((np.arange(n)[:, None] + near) % n, axis=1).astype(np.int32)
    indptr, weights = 6 * np.arange(n + 1), np.ones(6 * n, np.int64)

    def found(changed):
        flat = np.ascontiguousarray(changed.reshape(-1))
        checks = kernels.check_csr(indptr, flat, threads), kernels.has_diagonal(indptr, flat, threads)
        return *checks, kernels.find_asymmetry(Csr(indptr, flat, weights), threads)

    assert found(targets) == (-1, False, -1)
    other = targets.copy()
    other[50_000, 2] = 50_000
    assert found(other) == (-1, True, 6 * 49_999 + 3)
    weights[6 * 40_000 + 5] = 2
    assert found(targets)[2] == 6 * 40_000 + 5
    for row in (55_000, 12_345):
        other[row] = targets[row, ::-1]
        assert kernels.check_csr(indptr, other.reshape(-1), threads) == row


def symmetric(n: int, edges: set[tuple[int, int]]) -> Csr:
    rows = [sorted({b for a, b in edges if a == v} | {a for a, b in edges if b == v}) for v in range(n)]
    indptr = np.cumsum([0, *map(len, rows)]).astype(np.int64)
    return Csr(indptr, np.array([u for row in rows for u in row], np.int32), None)


@given(st.integers(1, 12), st.data())
def test_the_order_is_that_of_the_twin_and_holds_every_vertex(n, data):
    vertex = st.integers(0, n - 1)
    edges = data.draw(st.sets(st.tuples(vertex, vertex).filter(lambda edge: edge[0] < edge[1])))
    graph = symmetric(n, edges)
    order, expected = kernels.reverse_cuthill_mckee(graph), np.empty(n, np.int32)
    reference.reverse_cuthill_mckee(graph, expected)
    assert order.tolist() == expected.tolist()
    assert sorted(order.tolist()) == list(range(n))


def test_the_order_makes_a_scattered_path_consecutive():
    places = [3, 0, 4, 1, 5, 2]
    path = symmetric(6, {(min(a, b), max(a, b)) for a, b in itertools.pairwise(places)})
    assert kernels.reverse_cuthill_mckee(path).tolist() in (places, places[::-1])
