"""Orders along space-filling curves."""

import numpy as np
import pytest

from hopbytes.machines.geometry import curve_order, hilbert_order


def hops_between(points, order):
    return np.abs(np.diff(points[:, order], axis=1)).sum(axis=0)


@pytest.mark.parametrize("sizes", [(8, 8), (4, 4, 4), (2, 2, 2, 2)])
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
