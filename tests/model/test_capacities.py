"""Integer caps: known answers of the decisions, and what must hold for any loads."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hopbytes.errors import ScaleError, UnsupportedError
from hopbytes.model.capacities import exact_imbalance, load_bound

THREE_PERCENT = Fraction(3, 100)


@pytest.mark.parametrize("bad", [-0.01, float("nan"), float("inf"), "much", None])
def test_imbalance_that_is_no_slack_is_refused(bad):
    with pytest.raises(UnsupportedError, match="imbalance"):
        exact_imbalance(bad)


def test_imbalance_is_taken_as_written():
    """In binary 1.1 * 2^60 / 2 would be off by tens; the decimal meaning is exact."""
    loads = np.array([2**59, 2**58 + 1, 2**58 - 1])
    assert load_bound(loads, 3, np.ones(2, np.int64), exact_imbalance(0.1)).caps[0] == 11 * 2**60 // 20


def test_heavy_tasks_fill_a_pe_and_the_rest_is_bounded_among_itself():
    """A hub of a quarter of all load on 64 PEs must not let every PE hold a quarter."""
    loads = np.ones(301, np.int64)
    loads[17] = 100
    bound = load_bound(loads, 301, np.ones(64, np.int64), THREE_PERCENT)
    assert bound.heavy == 1
    assert set(bound.caps.tolist()) == {5}  # ceil(300 / 63)
    assert bound.loads[17] == 5


def test_a_task_may_become_heavy_once_heavier_ones_are_gone():
    loads = np.array([1000, 100, 1, 1, 1, 1])
    bound = load_bound(loads, 6, np.ones(4, np.int64), THREE_PERCENT)
    assert bound.heavy == 2
    assert bound.loads.tolist() == [2, 2, 1, 1, 1, 1]


@pytest.mark.parametrize("loads", [None, np.zeros(65, np.int64), np.ones(65, np.int64)])
def test_loads_of_nothing_or_one_count_tasks(loads):
    bound = load_bound(loads, 65, np.ones(64, np.int64), THREE_PERCENT)
    assert bound.loads is None
    assert set(bound.caps.tolist()) == {2}


@given(
    loads=st.lists(st.integers(0, 9), min_size=1, max_size=40),
    capacity=st.lists(st.integers(1, 3), min_size=1, max_size=9),
    times=st.integers(1, 2**50),
    percent=st.integers(0, 30),
)
def test_a_factor_of_all_loads_does_not_change_the_bound(loads, capacity, times, percent):
    array, sizes = np.array(loads, np.int64), np.array(capacity, np.int64)
    plain = load_bound(array, len(loads), sizes, Fraction(percent, 100))
    larger = load_bound(array * times, len(loads), sizes, Fraction(percent, 100))
    assert np.array_equal(larger.caps, plain.caps)
    assert np.array_equal(larger.loads, plain.loads)
    assert larger.heavy == plain.heavy
    assert larger.unit == (plain.unit * times if any(loads) else 1)


def test_larger_pes_may_hold_more():
    assert load_bound(None, 40, np.array([1, 3]), Fraction(0)).caps.tolist() == [10, 30]


def test_loads_beyond_two_to_the_62_are_refused_with_a_factor():
    with pytest.raises(ScaleError, match="divide them by 2 or more"):
        load_bound(np.array([2**62, 2**61]), 2, np.ones(2, np.int64), THREE_PERCENT)


@given(
    loads=st.lists(st.integers(0, 2**40), min_size=1, max_size=60),
    k=st.integers(1, 20),
    percent=st.integers(0, 30),
)
def test_all_caps_together_hold_all_loads(loads, k, percent):
    array = np.array(loads, np.int64)
    bound = load_bound(array, len(loads), np.ones(k, np.int64), Fraction(percent, 100))
    seen = np.ones(len(loads), np.int64) if bound.loads is None else bound.loads
    assert int(bound.caps.sum()) >= int(seen.sum())
    assert int(bound.caps.max()) >= int(seen.max())
    if bound.loads is not None:
        assert np.array_equal(seen == 0, array == 0)


def test_a_task_of_exactly_a_fair_share_is_not_heavy():
    """Nothing is said about it, since it needs no PE of its own beyond its share."""
    bound = load_bound(np.array([2, 1, 1]), 3, np.ones(2, np.int64), Fraction(0))
    assert (bound.heavy, bound.caps.tolist()) == (0, [2, 2])
    assert load_bound(np.array([3, 1, 1]), 3, np.ones(2, np.int64), Fraction(0)).heavy == 1
