"""Members of a population differ from each other in a number of places."""

import numpy as np

from hopbytes.engine.dense_assignment import Population
from hopbytes.util.random_numbers import RandomNumbers


def empty(n, alike):
    return Population(np.empty((0, n), np.int32), np.empty(0, np.int64), alike)


def test_the_worst_member_leaves_and_equal_ones_do_not_enter():
    pool = empty(3, 2)
    for cost, place in ((5, [0, 1, 2]), (7, [1, 2, 0]), (7, [1, 2, 0]), (9, [2, 0, 1])):
        pool.add(np.array(place, np.int32), cost, 2)
    assert sorted(pool.costs.tolist()) == [5, 7]
    assert pool.fruitless_children == 2
    pool.add(np.array([0, 2, 1], np.int32), 6, 2)
    assert sorted(pool.costs.tolist()) == [5, 6]
    assert pool.fruitless_children == 0


def test_like_ones_compete_with_each_other_only():
    pool = empty(10, 8)
    first, second = np.arange(10, dtype=np.int32), np.arange(10, dtype=np.int32)[::-1].copy()
    pool.add(first, 10, 5)
    pool.add(second, 90, 5)
    variant = first.copy()
    variant[:2] = first[1], first[0]  # shares eight places
    pool.add(variant, 9, 5)
    assert sorted(pool.costs.tolist()) == [9, 10, 90]
    twin = empty(10, 7)
    for place, cost in ((first, 10), (second, 90), (variant, 11), (variant, 9)):
        twin.add(place, cost, 5)
    assert sorted(twin.costs.tolist()) == [9, 90]


def test_members_differ_whatever_enters():
    rng, pool = RandomNumbers(3), empty(6, 3)
    for _ in range(300):
        pool.add(rng.permutation(6).astype(np.int32), rng.below(1000), 8)
    shared = (pool.members[:, None, :] == pool.members[None, :, :]).sum(axis=2)
    assert len(pool.costs) <= 8
    assert np.all(shared.diagonal() == 6)
