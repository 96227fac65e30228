"""The refiner that places the blocks of a partition anew."""

import time

import numpy as np
import pytest

import hopbytes as hb
from hopbytes.algorithms.base import Bounds, Effort, refiners
from hopbytes.cost.objectives.comm_cost import CommCost
from hopbytes.kernels.linear_cost import from_entries
from hopbytes.util.options import build


def ring_of_groups(groups, size):
    """Rings of `size` tasks, each of which communicates with the next ring."""
    task = np.arange(groups * size).reshape(groups, size)
    first = np.concatenate([task.ravel(), task.ravel()])
    second = np.concatenate([np.roll(task, 1, axis=1).ravel(), np.roll(task, 1, axis=0).ravel()])
    return hb.CommGraph.from_edges(first, second, undirected=True)


def refined(graph, where, start, bounds, seed=0):
    return build(refiners, "place_blocks").refine(graph, where, start, bounds, Effort(seed=seed))


def start_on(place, size):
    return np.repeat(np.asarray(place, np.int32), size)


@pytest.mark.parametrize("spec", ["torus:12", "node:12"])
def test_a_ring_finds_its_ring(spec):
    """Sixteen arcs cross each of the twelve boundaries, and neighbours end at the least distance."""
    graph, where = ring_of_groups(12, 8), hb.allocate(spec)
    scattered = start_on(np.random.default_rng(1).permutation(12), 8)
    found = refined(graph, where, scattered, Bounds(np.full(12, 8)))
    least = CommCost().value(graph, where, start_on(range(12), 8))
    assert CommCost().value(graph, where, found) == least
    assert np.bincount(found).tolist() == [8] * 12


@pytest.mark.parametrize("exact", [False, True])
def test_a_block_that_would_not_fit_stays(exact):
    """PEs of different capacities: whatever is found has to fit, and the cost never rises."""
    graph, where = ring_of_groups(12, 8), hb.allocate("torus:12")
    place = np.random.default_rng(1).permutation(12)
    held = np.where(np.arange(12) % 2, 8, 16)
    start = np.repeat(np.arange(12, dtype=np.int32)[place], held[place])[: graph.n]
    counts = np.bincount(start, minlength=12)
    found = refined(graph, where, start, Bounds(counts, counts, exact=exact))
    assert np.all(np.bincount(found, minlength=12) <= counts)
    assert CommCost().value(graph, where, found) <= CommCost().value(graph, where, start)


def test_linear_costs_leave_it_unchanged():
    graph, where = ring_of_groups(12, 8), hb.allocate("torus:12")
    start = start_on(np.random.default_rng(1).permutation(12), 8)
    costs = from_entries(np.array([0]), np.array([3]), np.array([7]), np.zeros(graph.n, np.int64))
    assert refined(graph, where, start, Bounds(np.full(12, 8), linear_cost=costs)) is start


def test_a_time_limit_ends_all_chains_of_annealing():
    """Each of the chains would take a tenth of a millisecond or more even if it stopped at once."""
    began = time.monotonic()
    hb.map_tasks(
        "stencil:20x20", "torus:4x4", ["random", "place_blocks:chains=300000"], partition=True, threads=1,
        limits=hb.Limits(time=0.3)
    )
    assert time.monotonic() - began < 20
