"""Grouping: compiled against the definitions, and answers that are known."""


from itertools import combinations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from helpers.graphs import TREEMATCH_FIGURE_1
from hopbytes import kernels
from hopbytes.kernels import HEURISTICS, group_objects
from reference import grouping_reference as twin

MATRIX = np.array(TREEMATCH_FIGURE_1)


def csr_of(matrix):
    rows, columns = np.nonzero(matrix)
    indptr, targets, weights, _ = kernels.csr_from_arcs(
        len(matrix), rows.astype(np.int32), columns.astype(np.int32), matrix[rows, columns], None
    )
    return indptr, targets, weights


def leaving(matrix, group):
    return int(matrix[group[:, None] != group[None, :]].sum())


def random_matrix(rng, p):
    density, largest = rng.choice([0.0, 0.1, 0.5, 1.0]), rng.choice([1, 3, 10**6, 2**50])
    half = np.triu(rng.integers(1, largest + 1, (p, p)) * (rng.random((p, p)) < density), 1)
    return half + half.T


def by_twin(csr, arity, list_up_to, credit):
    group = np.full(len(csr[0]) - 1, -1, np.int32)
    which = twin.group_objects(csr, arity, list_up_to, credit, group)
    return group, HEURISTICS[which]


def test_the_pairs_of_the_papers_example():
    """Of all 105 pairings the best leaves 4872, the next 6870; the value of (0, 1) alone is 1218."""
    group, _ = group_objects(csr_of(MATRIX), 2)
    assert group.tolist() == [0, 0, 1, 1, 2, 2, 3, 3]
    assert leaving(MATRIX, group) == 4872
    assert MATRIX[:2].sum() - MATRIX[:2, :2].sum() == 1218


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from([(4, 2), (6, 2), (6, 3), (8, 2), (8, 4), (9, 3), (10, 5)]))
@example(1, (12, 2))
@example(5, (12, 4))
@example(7, (12, 6))
def test_listed_groups_agree_with_the_definition(seed, shape):
    rng = np.random.default_rng(seed)
    csr = csr_of(random_matrix(rng, shape[0]))
    credit = int(rng.choice([0, 1, 50]))
    group, which = group_objects(csr, shape[1], credit=credit)
    expected, expected_which = by_twin(csr, shape[1], 30_000, credit)
    assert group.tolist() == expected.tolist()
    assert which == expected_which


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(2, 6), st.integers(2, 7))
def test_grown_groups_agree_with_the_definition(seed, arity, groups):
    rng = np.random.default_rng(seed)
    csr = csr_of(random_matrix(rng, arity * groups))
    group, which = group_objects(csr, arity, list_up_to=0)
    expected, expected_which = by_twin(csr, arity, 0, 1)
    assert group.tolist() == expected.tolist()
    assert which == expected_which


def test_weights_of_two_to_the_62():
    half = np.triu(np.full((6, 6), 2**62 // 15), 1)
    matrix = half + half.T
    csr = csr_of(matrix)
    assert group_objects(csr, 2, credit=0)[0].tolist() == by_twin(csr, 2, 30_000, 0)[0].tolist()
    assert group_objects(csr, 2, list_up_to=0)[0].tolist() == by_twin(csr, 2, 0, 1)[0].tolist()


def test_credit_keeps_ranks_in_order():
    """The pairs (0,2)(1,3) leave 2 x 9999, those in order 2 x 10000."""
    matrix = np.array([[0, 5000, 5001, 0], [5000, 0, 0, 5000], [5001, 0, 0, 5000], [0, 5000, 5000, 0]])
    assert group_objects(csr_of(matrix), 2, credit=1)[0].tolist() == [0, 0, 1, 1]
    assert group_objects(csr_of(matrix), 2, credit=0)[0].tolist() == [0, 1, 0, 1]


@pytest.mark.parametrize("seed", range(12))
def test_any_number_of_threads_gives_the_same_groups(seed):
    rng = np.random.default_rng(seed)
    p, arity = [(8, 2), (12, 3), (16, 4), (20, 5), (18, 6), (24, 2)][seed % 6]
    csr = csr_of(random_matrix(rng, p))
    first = group_objects(csr, arity)
    for threads in (2, 3, 8):
        group, which = group_objects(csr, arity, threads=threads)
        assert (group.tolist(), which) == (first[0].tolist(), first[1])
    if p <= 16:
        assert first[0].tolist() == by_twin(csr, arity, 30_000, 1)[0].tolist()


def groupings(free, arity):
    """All ways to make groups of `arity` of the objects in `free`."""
    if not free:
        yield []
        return
    for others in combinations(free[1:], arity - 1):
        rest = [v for v in free[1:] if v not in others]
        for groups in groupings(rest, arity):
            yield [(free[0], *others), *groups]


def test_shortest_prefix_is_found():
    """Largest value last: no grouping has all its groups before the largest of the one that is found."""
    rng = np.random.default_rng(11)
    for _ in range(20):
        weight = random_matrix(rng, 8).tolist()
        values = {group: twin._leaving(weight, group) for group in combinations(range(8), 2)}
        order = sorted(values, key=lambda group: (values[group], group))
        found = twin._largest_last(order, 8)
        prefix = order[: max(map(order.index, found))]
        assert not any(
            len(set().union(*groups)) == 8 for groups in combinations(prefix, 4)
        )


@pytest.mark.parametrize("shape", [(6, 2), (6, 3), (8, 2), (8, 4), (9, 3), (10, 5), (12, 6), (12, 4)])
def test_no_grouping_of_a_dozen_objects_leaves_less(shape):
    p, arity = shape
    every = np.empty((sum(1 for _ in groupings(list(range(p)), arity)), p), np.int64)
    for row, groups in zip(every, groupings(list(range(p)), arity), strict=True):
        for number, members in enumerate(groups):
            row[list(members)] = number
    for seed in range(12):
        matrix = np.minimum(random_matrix(np.random.default_rng(seed), p), 10**6)
        rows, columns = np.nonzero(np.triu(matrix))
        least = 2 * int(((every[:, rows] != every[:, columns]) @ matrix[rows, columns]).min())
        group, _ = group_objects(csr_of(matrix), arity, credit=0)
        assert np.bincount(group).tolist() == [arity] * (p // arity)
        assert leaving(matrix, group) == least
