"""Collective operations as arcs: trees that reach everyone, halves that add up, parts that stay apart."""

from __future__ import annotations

import numpy as np
import pytest

from hopbytes.patterns.collectives import all_reduce, binary_tree, double_tree


def depth(parent, member):
    steps = 0
    while parent[member] >= 0:
        member, steps = int(parent[member]), steps + 1
        assert steps <= len(parent)
    return steps


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 8, 13, 16, 33, 64])
def test_two_trees_reach_everyone_and_share_no_more_than_one_inner_member(size):
    first, second = double_tree(size)
    assert np.array_equal(first, binary_tree(size))
    for parent in (first, second):
        assert np.count_nonzero(parent < 0) == 1
        assert max(depth(parent, member) for member in range(size)) <= size.bit_length()
        assert np.bincount(parent[parent >= 0], minlength=1).max(initial=0) <= 2
    both = set(first[first >= 0].tolist()) & set(second[second >= 0].tolist())
    assert len(both) <= 1 or size == 2


def test_a_double_tree_halves_the_volume_of_every_member():
    found = all_reduce(np.arange(8)[None, :], 1001, 2, "double_tree")
    assert sum(int(arcs.volumes.sum()) for arcs in found) == 2 * 2 * 7 * 1001
    sent = np.zeros(8, np.int64)
    for arcs in found:
        np.add.at(sent, arcs.sources, arcs.volumes)
    assert sent.max() <= 2 * 2 * 1001 + 2  # at most three half edges up and down, two of them downwards


def test_two_levels_keep_most_bytes_inside():
    found = all_reduce(np.arange(16)[None, :], 1600, 1, "two_level", inner=8)
    inside = sum(int(arcs.volumes[arcs.sources // 8 == arcs.targets // 8].sum()) for arcs in found)
    outside = sum(int(arcs.volumes[arcs.sources // 8 != arcs.targets // 8].sum()) for arcs in found)
    assert inside == 16 * 2 * 7 * 1600 // 8
    assert outside == 16 * 2 * 1 * 200 // 2
    for arcs in found:
        far = arcs.sources // 8 != arcs.targets // 8
        assert np.all(arcs.sources[far] % 8 == arcs.targets[far] % 8)


def test_parts_are_the_nearest_divisor():
    found = all_reduce(np.arange(6)[None, :], 60, 1, "two_level", inner=4)
    pairs = {(int(a), int(b)) for arcs in found for a, b in zip(arcs.sources, arcs.targets, strict=True)}
    assert (2, 0) in pairs  # rings of three
    assert (0, 3) in pairs
