"""How far distances of networks are from those of trees."""


import numpy as np
import pytest
from hypothesis import given, settings

import hopbytes as hb
from helpers.strategies import machines
from hopbytes.algorithms.shared.search_distances import unlike_a_tree
from hopbytes.machines.spec import parse_machine


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
