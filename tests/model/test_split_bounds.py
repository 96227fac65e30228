"""Caps for splits of the hierarchy: known answers, and what must hold for any loads."""

from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from hopbytes.model.capacities import child_bounds, integer_root, load_bound, sure_loads


def uniform_split(load, children, pes_per_child, leaf_cap, levels_left):
    shares = np.full(children, pes_per_child, np.int64)
    return child_bounds(load, shares, shares * leaf_cap, levels_left)


def test_known_caps_on_the_way_down_a_three_level_machine():
    """2^17 unit tasks on 4:16:32 at 3 %: real-valued caps (261) would need more than 4 * 65 at the end."""
    caps = load_bound(None, 2**17, np.ones(2048, np.int64), Fraction(3, 100)).caps
    assert set(caps.tolist()) == {65}
    assert set(uniform_split(2**17, 32, 64, 65, 3).tolist()) == {4117}
    assert set(uniform_split(4117, 16, 4, 65, 2).tolist()) == {258}
    assert set(uniform_split(258, 4, 1, 65, 1).tolist()) == {65}


def test_known_caps_of_the_published_example():
    """800 unit tasks, 4:2, 10 %: the worst half holds 419 and its blocks still end at 110."""
    caps = load_bound(None, 800, np.ones(8, np.int64), Fraction(1, 10)).caps
    assert set(caps.tolist()) == {110}
    assert uniform_split(800, 2, 4, 110, 2).tolist() == [419, 419]
    assert uniform_split(419, 4, 1, 110, 1).tolist() == [110] * 4


def test_a_child_gets_no_more_than_its_leaves_hold():
    """Two children of equal share, but one has room for 6 only: 13 each would be the even slack."""
    assert child_bounds(10, np.array([1, 1]), np.array([6, 20]), levels_left=1).tolist() == [6, 13]


def test_no_load_means_no_constraint():
    assert uniform_split(0, 2, 4, 7, 2).tolist() == [28, 28]


@given(
    load=st.integers(1, 2**60),
    pes=st.lists(st.integers(1, 50), min_size=1, max_size=6),
    percent=st.integers(0, 50),
    levels=st.integers(1, 7),
)
def test_children_hold_the_load_and_leaves_hold_the_children(load, pes, percent, levels):
    """Caps always leave room for everything, and never promise more than the leaves below can hold."""
    shares = np.array(pes, np.int64)
    k = sum(pes)
    leaf = max((100 + percent) * load // (100 * k), -(-load // k))
    caps = child_bounds(load, shares, shares * leaf, levels)
    assert int(caps.sum()) >= load
    assert np.all(caps <= shares * leaf)
    assert np.all(caps >= -(-load * shares.astype(object) // k))


def test_sure_loads_are_all_of_it_where_tasks_count_one_each():
    assert sure_loads(np.array([64, 3]), np.array([64 * 65, 9]), 1).tolist() == [4160, 9]
    assert sure_loads(np.array([4, 2]), np.array([40, 4]), 6).tolist() == [25, 0]


@given(
    caps=st.lists(st.integers(5, 40), min_size=1, max_size=5),
    sizes=st.lists(st.integers(1, 5), min_size=1, max_size=200),
)
def test_sure_loads_fit_in_any_order(caps, sizes):
    """Tasks up to the sure load, each on the first PE with room: none is left over."""
    sure = int(sure_loads(np.array([len(caps)]), np.array([sum(caps)]), 5)[0])
    held = [0] * len(caps)
    for size in sizes:
        if sum(held) + size <= sure:
            held[next(pe for pe, load in enumerate(held) if load + size <= caps[pe])] += size


@given(value=st.integers(0, 2**400), degree=st.integers(1, 9))
def test_integer_root_is_exact(value, degree):
    root = integer_root(value, degree)
    assert root**degree <= value < (root + 1) ** degree
