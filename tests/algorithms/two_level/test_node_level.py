"""Groups cut to the size of nodes: exactly, also where nodes differ; the better of UMPA's greedy runs."""

import numpy as np
import pytest

import hopbytes as hb
from hopbytes.algorithms.base import Effort
from hopbytes.algorithms.two_level import neighbourhood
from hopbytes.algorithms.two_level.groups import balance_fix, nodes_of, partition_to_nodes
from hopbytes.algorithms.two_level.neighbourhood import levels_between, neighbourhood_of
from hopbytes.engine.control import RunControl
from hopbytes.engine.problem import PartitionSettings
from hopbytes.model.comm_graph import CommGraph


def path(n):
    ends = np.arange(n - 1)
    return CommGraph.from_edges(np.concatenate([ends, ends + 1]), np.concatenate([ends + 1, ends]), n=n)


@pytest.mark.parametrize(
    ("capacities", "expected"), [((3, 3), [0, 0, 0, 1, 1, 1]), ((4, 2), [0, 0, 0, 0, 1, 1])]
)
def test_the_task_at_the_seam_goes_over(capacities, expected):
    # Any other of the first four would cut a second edge.
    parts = np.array([0, 0, 0, 0, 1, 1], np.int32)
    assert balance_fix(path(6), parts, np.array(capacities), None).tolist() == expected
    assert parts.tolist() == [0, 0, 0, 0, 1, 1], "the input is the caller's"


def test_every_group_fits_its_node_exactly_also_unequal_ones():
    for seed in range(8):
        rng = np.random.default_rng(seed)
        capacities = rng.integers(1, 9, int(rng.integers(2, 9)))
        n = int(capacities.sum())
        graph = CommGraph.from_edges(*rng.integers(0, n, (2, 4 * n)), rng.integers(1, 9, 4 * n), n=n)
        crooked = rng.integers(0, len(capacities), n).astype(np.int32)
        fixed = balance_fix(graph, crooked, capacities, None)
        assert np.bincount(fixed, minlength=len(capacities)).tolist() == capacities.tolist()
        again = balance_fix(graph, fixed, capacities, None)
        assert again.tobytes() == fixed.tobytes(), "what fits stays as it is"
        group = partition_to_nodes(graph, capacities, None, PartitionSettings(), RunControl(seed))
        assert np.bincount(group, minlength=len(capacities)).tolist() == capacities.tolist()


@pytest.mark.parametrize("spec", ["torus:8x6x6", "fattree:4x4x4", "node:5@10 core:2@1"])
def test_neighbourhoods_after_a_deadline_are_permutations_and_not_kept(spec):
    nodes = nodes_of(hb.allocate(spec))
    early = neighbourhood_of(nodes, Effort(deadline=0.0)).near.reshape(nodes.count, -1)
    near = neighbourhood_of(nodes, Effort()).near.reshape(nodes.count, -1)
    for rows in (early, near):
        assert np.array_equal(rows[:, 0], np.arange(nodes.count))
        assert np.array_equal(np.sort(rows, axis=1), np.tile(np.arange(nodes.count), (nodes.count, 1)))
    levels = levels_between(nodes)
    assert np.array_equal(np.take_along_axis(levels, near.astype(np.int64), axis=1), np.sort(levels, axis=1))


@pytest.mark.parametrize("spec", ["torus:4x3 / core:2", "dragonfly:3x2x2", "node:7@9 core:[1,2,1,3,1,1,2]@1"])
@pytest.mark.parametrize(("sites", "reach"), [(99, 99), (4, 2)])
def test_neighbours_come_by_distance(spec, sites, reach, monkeypatch):
    """All other nodes, or on large machines those before and after a node; of equally near ones the first."""
    for name, value in (("MOST_SITES", sites), ("WINDOW", reach), ("ROWS", 5)):
        monkeypatch.setattr(neighbourhood, name, value)
    nodes = nodes_of(hb.allocate(spec))
    network, all_nodes = nodes.where.machine.network(), np.arange(nodes.count)
    apart = (all_nodes[:, None] != all_nodes).astype(int)
    if network is not None:
        apart = network.hops(all_nodes[:, None], all_nodes)
        apart = np.maximum(apart, apart.T)
    found = neighbourhood_of(nodes, of_pes=True)
    near, hops = found.near.reshape(nodes.count, -1), found.hops.reshape(nodes.count, -1)
    for site in range(nodes.count):
        first = min(max(site - reach, 0), nodes.count - 2 * reach - 1) if nodes.count > sites else 0
        around = range(first, first + 2 * reach + 1) if nodes.count > sites else range(nodes.count)
        expected = sorted(around, key=lambda other: (apart[site, other], other))
        assert near[site].tolist() == expected
        assert np.array_equal(np.diff(hops[site]) > 0, np.diff(apart[site, expected]) > 0)
        assert network is None or hops[site].tolist() == apart[site, expected].tolist()
        places = found.place[found.place_start[site] : found.place_start[site + 1]]
        assert places.tolist() == np.flatnonzero(nodes.where.node_of_pe == site).tolist()
