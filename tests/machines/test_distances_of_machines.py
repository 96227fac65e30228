"""How far distances of networks are from those of trees."""


import numpy as np
import pytest
from hypothesis import given, settings

import hopbytes as hb
from helpers.strategies import check_groupings, machines
from hopbytes.algorithms.shared.search_distances import unlike_a_tree
from hopbytes.machines.distances import NetworkDistance
from hopbytes.machines.spec import parse_machine
from hopbytes.model.allocation import Allocation
from hopbytes.util.random_numbers import RandomNumbers


@pytest.mark.parametrize(
    "spec", ["torus:8x8x8", "torus:16x16x16", "torus:32x32", "mesh:8x8x8", "torus:8x8x8 / core:8", "mesh:200"]
)
def test_grids_are_unlike_trees(spec):
    assert unlike_a_tree(hb.allocate(spec))


@pytest.mark.parametrize("spec", [
    "dragonfly:9x8x8",
    "dragonfly+:9x8x8:spines=8",
    "fattree:8x8x8",
    "hyperx:8x8x8",
    "hyperx:16x16:nodes=2",
    "torus:2x2x2x2x2x2x2x2x2",  # a hypercube
    "torus:2x2x2x2x2x2x2x2x2x2x2x2",
    "node:8@10 core:4@1",
    "dragonfly:1x1x2",
])  # fmt: skip
def test_networks_of_small_diameter_are_like_trees(spec):
    assert not unlike_a_tree(hb.allocate(spec))


def paths(tree):
    """Child numbers from the root to every core, by plain recursion over the counts."""
    units = [()]
    for count in tree.children:
        counts = [count] * len(units) if isinstance(count, int) else count
        pairs = zip(units, counts, strict=True)
        units = [(*unit, child) for unit, number in pairs for child in range(number)]
    return units


def walked_distance(tree, left, right):
    for level, one, other in zip(tree.levels, left, right, strict=True):
        if one != other:
            return level.distance
    return 0


@given(machines(max_cores=60))
@settings(deadline=None)
def test_labels_say_what_a_walk_over_the_tree_says(tree):
    cores = paths(tree)
    assert tree.n_cores == len(cores)
    expected = [[walked_distance(tree, a, b) for b in cores] for a in cores]
    assert tree.distance().matrix().tolist() == expected
    labels = tree.distance().labels
    assert np.all(labels[1:] > labels[:-1])


@given(machines())
@settings(deadline=None)
def test_spec_parses_to_the_same_machine(tree):
    assert parse_machine(tree.spec()) == tree


def test_the_deviation_of_a_ring_is_its_definition():
    where = hb.allocate("torus:3")
    distance = where.distance
    assert isinstance(distance, NetworkDistance)
    # All distances of a ring of three are equal; triples with a repeated place have 0, 1, 1.
    assert distance.tree_deviation() == 0.0
    line = hb.allocate("mesh:3").distance
    half = np.uint64(32)
    drawn = (RandomNumbers(0).words(3 * 4096) >> half) * np.uint64(3) >> half
    triples = drawn.astype(np.int64).reshape(3, 4096)
    apart = np.sort(np.abs(triples - np.roll(triples, 1, axis=0)), axis=0)
    assert line.tree_deviation() == pytest.approx((apart[2] - apart[1]).mean() / np.log2(3))


@given(machines(max_cores=80))
@settings(deadline=None)
def test_ancestors_number_the_units_in_machine_order(tree):
    cores = paths(tree)
    for level in range(len(tree.levels)):
        units = {prefix: i for i, prefix in enumerate(dict.fromkeys(core[: level + 1] for core in cores))}
        assert tree.ancestors(level).tolist() == [units[core[: level + 1]] for core in cores]


@given(machines(max_cores=120))
@settings(deadline=None)
def test_groups_are_what_repeated_splitting_gives(tree):
    where = Allocation.whole(tree)
    groupings = where.groups()
    check_groupings(groupings, where.k)
    assert all(np.all(np.diff(grouping) >= 0) for grouping in groupings)
    # Splitting any group of one grouping gives groups of finer ones, the outermost seam first.
    for coarse in [np.zeros(where.k, np.int32), *groupings]:
        for group in range(int(coarse.max()) + 1):
            members = np.flatnonzero(coarse == group)
            if len(members) < 2:
                continue
            parts = where.split(members)
            finer = next(g for g in groupings if len(np.unique(g[members])) > 1)
            assert [part.tolist() for part in parts] == [
                members[finer[members] == child].tolist() for child in np.unique(finer[members])
            ]
