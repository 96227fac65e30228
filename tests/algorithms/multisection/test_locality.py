"""Large graphs of scattered numbers are renumbered: the tasks, their loads and their costs stay together."""

import numpy as np
import pytest

import hopbytes as hb
from helpers.graphs import grid
from hopbytes.algorithms.multisection import hierarchy
from hopbytes.algorithms.multisection.hierarchy import Subproblem, is_scattered, renumbered
from hopbytes.model.comm_graph import CommGraph

WHERE = hb.allocate("node:4@10 core:4@1")


def shuffled_grid(rows, columns, seed=0):
    """Return a grid of loads 1 to 9 whose vertices are in random order, and the order."""
    graph = grid(rows, columns).to_scipy().tocsr()
    order = np.random.default_rng(seed).permutation(graph.shape[0])
    shuffled = graph[order][:, order]
    loads = 1 + np.arange(graph.shape[0]) % 9
    return CommGraph.from_scipy(shuffled, loads=loads[order]), order


def whole(graph):
    loads = graph.loads
    return Subproblem(0, 0, (), None, graph.symmetric_positive(), loads, None)


def test_only_large_scattered_graphs_are_renumbered(monkeypatch):
    ordered, (scattered, _) = whole(grid(40, 40)), shuffled_grid(40, 40)
    assert not is_scattered(ordered.csr)
    assert is_scattered(whole(scattered).csr)
    assert renumbered(whole(scattered)).members is None  # small
    monkeypatch.setattr(hierarchy, "LARGE", 1000)
    assert renumbered(ordered).members is None
    assert sorted(renumbered(whole(scattered)).members.tolist()) == list(range(1600))


def test_arcs_and_loads_are_those_of_the_tasks(monkeypatch):
    monkeypatch.setattr(hierarchy, "LARGE", 1000)
    before = whole(shuffled_grid(40, 40)[0])
    after = renumbered(before)

    def arcs(subproblem, number):
        source = np.repeat(np.arange(subproblem.n), np.diff(subproblem.csr.indptr))
        return sorted(zip(number[source].tolist(), number[subproblem.csr.targets].tolist(), strict=True))

    assert arcs(after, after.members) == arcs(before, np.arange(before.n))
    assert np.array_equal(after.loads, before.loads[after.members])
    assert not is_scattered(after.csr)


@pytest.mark.parametrize("schedule", ["level", "layer", "queue"])
def test_mappings_are_as_good_as_those_of_the_ordered_graph(monkeypatch, schedule):
    monkeypatch.setattr(hierarchy, "LARGE", 1000)
    scattered, _ = shuffled_grid(40, 40)
    found = hb.map_tasks(scattered, WHERE, hb.mappers.Multisection(schedule=schedule), partition=True)
    assert hb.evaluate(scattered, found, baselines=False).imbalance <= 0.03
    in_order = hb.map_tasks(scattered, WHERE, hb.mappers.Identity(), partition=True)
    assert found.comm_cost < in_order.comm_cost / 4
