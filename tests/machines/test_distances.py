"""How far distances of networks are from those of trees."""

import numpy as np
import pytest

import hopbytes as hb
from hopbytes.algorithms.shared.search_distances import unlike_a_tree
from hopbytes.machines.distances import NetworkDistance
from hopbytes.util.random_numbers import RandomNumbers


@pytest.mark.parametrize(
    "spec", ["torus:8x8x8", "torus:16x16x16", "torus:32x32", "mesh:8x8x8", "torus:8x8x8 / core:8", "mesh:200"]
)
def test_grids_are_unlike_trees(spec):
    assert unlike_a_tree(hb.allocate(spec))


@pytest.mark.parametrize(
    "spec",
    [
        "dragonfly:9x8x8",
        "dragonfly+:9x8x8:spines=8",
        "fattree:8x8x8",
        "hyperx:8x8x8",
        "hyperx:16x16:nodes=2",
        "torus:2x2x2x2x2x2x2x2x2",  # a hypercube
        "torus:2x2x2x2x2x2x2x2x2x2x2x2",
        "node:8@10 core:4@1",
        "dragonfly:1x1x2",
    ],
)
def test_networks_of_small_diameter_are_like_trees(spec):
    assert not unlike_a_tree(hb.allocate(spec))


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
