"""Halves of machines, for mappers that bisect."""

import numpy as np
import pytest

import hopbytes as hb
from hopbytes.algorithms.mappers.level_by_level import halved
from hopbytes.machines.base import Level
from hopbytes.machines.tree import Tree


def test_halves_follow_the_machine_before_they_follow_numbers():
    # Three nodes of 2, 4 and 1 cores: first 1 node against 2, then node against node, then cores.
    where = hb.Allocation.whole(Tree((Level("node", 10), Level("core", 1)), (3, (2, 4, 1))))
    tree = halved(where.groups())
    cuts = [group.tolist() for group in tree.groups()]
    assert cuts == [
        [0, 0, 1, 1, 1, 1, 1],
        [0, 1, 2, 2, 2, 2, 3],
        [0, 1, 2, 2, 3, 3, 4],
        [0, 1, 2, 3, 4, 5, 6],
    ]


@pytest.mark.parametrize("k", [1, 2, 3, 7, 64, 100])
def test_plain_halves_are_floor_and_ceil(k):
    tree = halved([np.arange(k, dtype=np.int32)])
    assert tree.k == k
    first = tree.groups()[0]
    if k > 1:
        assert np.bincount(first).tolist() == [k // 2, -(-k // 2)]
