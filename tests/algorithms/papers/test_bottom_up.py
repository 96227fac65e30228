"""Constructions by partitions: cliques that fill nodes, exact units, halves of machines."""

import numpy as np
import pytest

import hopbytes as hb
from helpers.machines import nodes
from hopbytes.algorithms.base import Bounds, Effort, mappers
from hopbytes.algorithms.mappers.level_by_level import halved
from hopbytes.machines.base import Level
from hopbytes.machines.tree import Tree
from hopbytes.solve.map_tasks import map_tasks
from hopbytes.util.options import build


def cliques(count, size, rng):
    """Groups of tasks that all talk to each other, numbered at random; and the group of each task."""
    number = rng.permutation(count * size)
    group = np.empty(count * size, int)
    pairs = []
    for first in range(0, count * size, size):
        members = number[first : first + size]
        group[members] = first // size
        pairs += [(a, b) for a in members for b in members if a != b]
    near, far = np.array(pairs).T
    return hb.CommGraph.from_edges(near, far, n=count * size), group


@pytest.mark.parametrize(
    "name", ["top_down", "bottom_up", "dual_recursive_bipartitioning", "two_phase", "multisection"]
)
@pytest.mark.parametrize(("count", "size"), [(4, 4), (6, 5), (3, 8)])
def test_partitioning_constructions_find_cliques_that_fill_nodes(name, count, size):
    for seed in range(3):
        graph, group = cliques(count, size, np.random.default_rng(seed))
        mapping = map_tasks(graph, nodes(count, size), name, seed=seed)
        assert all(len(set(mapping.pe[group == each] // size)) == 1 for each in range(count))


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


def test_bottom_up_fills_units_exactly_on_three_levels():
    where = hb.Allocation.whole(
        Tree((Level("rack", 100), Level("node", 10), Level("core", 1)), (3, 4, 5))
    )
    rng = np.random.default_rng(1)
    small = hb.CommGraph.from_edges(rng.integers(0, 60, 200), rng.integers(0, 60, 200), n=60)
    one_each = np.ones(60, np.int64)
    pe = build(mappers, "bottom_up").map(small, where, Bounds(one_each, one_each, exact=True), Effort(seed=3))
    assert sorted(pe.tolist()) == list(range(60))
