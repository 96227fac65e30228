"""Coordinates of places: opened rings, and hosts with coordinates of a file."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hopbytes.machines.geometry import curve_order, hilbert_order, occupied


def test_the_widest_gap_of_a_ring_opens_it():
    assert occupied(np.array([6, 7, 0, 1]), 8, True) == (6, 4)
    assert occupied(np.array([6, 7, 0, 1]), 8, False) == (0, 8)
    assert occupied(np.arange(8), 8, True) == (0, 8)


def hops_between(points, order):
    return np.abs(np.diff(points[:, order], axis=1)).sum(axis=0)


@pytest.mark.parametrize("sizes", [(2,), (8,), (16, 16), (8, 8, 8), (4, 4, 4, 4), (2, 2, 2, 2)])
def test_every_step_of_hilbert_and_of_a_snake_is_to_a_neighbour(sizes):
    points = np.stack(np.unravel_index(np.arange(np.prod(sizes)), sizes))
    for order in (hilbert_order(sizes), curve_order(points, "hilbert"), curve_order(points, "snake")):
        assert np.array_equal(np.sort(order), np.arange(points.shape[1]))
        assert np.all(hops_between(points, order) == 1)


def test_steps_of_gray_order_change_one_bit_of_one_coordinate():
    points = np.stack(np.unravel_index(np.arange(256), (16, 16)))
    steps = np.diff(points[:, curve_order(points, "gray")], axis=1)
    changed = points[:, curve_order(points, "gray")]
    flips = changed[:, 1:] ^ changed[:, :-1]
    assert np.all(np.count_nonzero(steps, axis=0) == 1)
    assert np.all(flips.sum(axis=0) & (flips.sum(axis=0) - 1) == 0)


def test_the_largest_coordinate_may_be_a_power_of_two():
    points = np.array([[4, 0, 3, 1], [0, 4, 3, 1]])
    assert curve_order(points, "morton").tolist() == [3, 2, 1, 0]


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(1, 9), min_size=1, max_size=4))
def test_the_curve_visits_every_cell_once(sizes):
    order = hilbert_order(tuple(sizes))
    assert sorted(order.tolist()) == list(range(int(np.prod(sizes))))
    assert not order.flags.writeable  # others get the same array
