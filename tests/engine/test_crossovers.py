"""Crossovers of permutations."""

import numpy as np
import pytest

from hopbytes.engine import dense_assignment as dense
from hopbytes.util.random_numbers import RandomNumbers


def permutations(seed, n, count):
    rng = RandomNumbers(seed)
    return [rng.permutation(n).astype(np.int32) for _ in range(count)]


def crossed(kind, seed, one, other):
    rng = RandomNumbers(seed)
    if kind == "uniform":
        return dense.crossed_uniformly(rng, one, other)
    values = np.random.default_rng(seed).integers(0, 9, (2, len(one), len(one)))
    return dense.crossed_block(rng, *map(dense.differences, values), one, other)


@pytest.mark.parametrize("kind", ["uniform", "block"])
@pytest.mark.parametrize("n", [1, 2, 3, 30])
def test_children_are_permutations_and_keep_what_parents_share(kind, n):
    for seed in range(20):
        one, other = permutations(seed, n, 2)
        child = crossed(kind, seed, one, other)
        assert child.dtype == np.int32
        assert sorted(child.tolist()) == list(range(n))
        assert np.array_equal(child[one == other], one[one == other])
        assert np.array_equal(crossed(kind, seed, one, one), one)


def test_transplanted_tasks_are_where_the_donor_has_them():
    for seed in range(20):
        one, other = permutations(seed, 30, 2)
        places = RandomNumbers(seed).distinct(30, 9)
        child = dense.transplanted(one, other, places)
        at = np.isin(one, places)
        assert np.array_equal(child[at], one[at])
        # Tasks that neither come nor lose their place stay.
        untouched = ~at & ~np.isin(other, places)
        assert np.array_equal(child[untouched], other[untouched])


def test_groups_on_each_others_places_are_exchanged_whole():
    one = np.array([4, 5, 6, 7, 0, 1, 2, 3, 8, 9], np.int32)
    other = np.arange(10, dtype=np.int32)
    child = dense.transplanted(one, other, np.arange(4))
    assert child.tolist() == one.tolist()


def test_a_block_holds_tasks_or_places_that_are_alike():
    group = np.arange(30) // 15
    unlike = dense.differences(np.where(group[:, None] == group[None, :], 1, 9))
    other = np.arange(30, dtype=np.int32)
    one = np.concatenate([np.roll(other[:15], 4), np.roll(other[15:], 4)])
    seen = set()
    for seed in range(20):
        child = dense.crossed_block(RandomNumbers(seed), unlike, unlike, one, other)
        changed = set(group[child != other].tolist())
        assert len(changed) == 1  # a third of all is less than a group
        seen |= changed
    assert seen == {0, 1}
