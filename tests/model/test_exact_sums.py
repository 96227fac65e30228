"""Sums per group and of all: equal to sums of Python's integers on any number of threads."""

import numpy as np
import pytest

from hopbytes.model.capacities import group_sums, sum_of


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("groups", [1, 2, 300, 20_000])
@pytest.mark.parametrize("items", [0, 1, 2, 1024, 1025, 40_001, 90_000])
def test_sums_per_group_are_exact(items, groups, threads):
    """Few items and many groups are added in one place, others by ranges of items."""
    random = np.random.default_rng(items + groups)
    group = np.sort(random.integers(0, groups, items)).astype(np.int32)
    values = random.integers(-(2**45), 2**45, items)
    expected = np.zeros(groups, np.int64)
    np.add.at(expected, group, values)
    assert np.array_equal(group_sums(group, values, groups, threads), expected)
    assert np.array_equal(group_sums(group, None, groups, threads), np.bincount(group, minlength=groups))


@pytest.mark.parametrize("group", [[0, 3], [-1, 0]])
def test_a_group_that_does_not_exist_is_refused(group):
    with pytest.raises(IndexError, match="expected 0 to 2"):
        group_sums(np.array(group, np.int32), None, 3)


def test_the_sum_of_all_may_exceed_63_bits():
    assert sum_of(np.full(5, 2**62)) == 5 * 2**62
    assert sum_of(np.array([-(2**63), -1])) == -(2**63) - 1
