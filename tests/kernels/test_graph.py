"""Symmetric graphs; when the engine takes weights for uneven; the order of Cuthill and McKee."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hopbytes import kernels
from hopbytes.kernels.records import Csr
from hopbytes.reference import graph_reference as reference


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


@pytest.mark.parametrize("unit", [1, 10**9])  # in 32 bits, in 64
@pytest.mark.parametrize(("heaviest", "uneven"), [(1, False), (6, False), (7, True), (1000, True)])
def test_nine_edges_of_one_and_a_heavier_one(unit, heaviest, uneven):
    """5 (9 + x^2) > (9 + x)^2 from x = 6 on, where both are 225."""
    assert kernels.weights_uneven(pairs([unit] * 9 + [heaviest * unit])) is uneven


def test_equal_weights_and_no_edges_are_even():
    assert kernels.weights_uneven(pairs([7] * 5)) is False
    assert kernels.weights_uneven(pairs([7] * 5)._replace(weights=None)) is False
    assert kernels.weights_uneven(Csr(np.zeros(4, np.int64), np.empty(0, np.int32), None)) is False


@given(st.lists(st.integers(1, 2**40) | st.integers(1, 50), max_size=60))
def test_the_twin_agrees(weights):
    graph = pairs(weights)
    assert kernels.weights_uneven(graph) is reference.weights_uneven(*graph)


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
    reference.reverse_cuthill_mckee(graph.indptr, graph.targets, expected)
    assert order.tolist() == expected.tolist()
    assert sorted(order.tolist()) == list(range(n))


def test_the_order_makes_a_scattered_path_consecutive():
    places = [3, 0, 4, 1, 5, 2]
    path = symmetric(6, {(min(a, b), max(a, b)) for a, b in itertools.pairwise(places)})
    assert kernels.reverse_cuthill_mckee(path).tolist() in (places, places[::-1])
