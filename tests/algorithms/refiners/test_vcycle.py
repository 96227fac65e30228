"""Several tasks per PE of a network with exact counts: blocks are placed, boundaries are annealed."""

import numpy as np
import pytest

import hopbytes as hb
from hopbytes.algorithms.base import Bounds, Effort, refiners
from hopbytes.algorithms.shared.search_distances import search_problem
from hopbytes.cost.objectives.comm_cost import CommCost
from hopbytes.engine.control import RunControl
from hopbytes.engine.partition import RefinementSettings, even_placement, refine_placement
from hopbytes.util.options import build

SPEC = "torus:4x4"


def grid(rows, columns):
    name = np.arange(rows * columns).reshape(rows, columns)
    first = np.concatenate([name[:, :-1].ravel(), name[:-1].ravel()])
    second = np.concatenate([name[:, 1:].ravel(), name[1:].ravel()])
    return hb.CommGraph.from_edges(first, second, undirected=True)


def counted(n, k):
    """As even as possible, the larger counts on every other PE first."""
    counts = np.full(k, n // k, np.int64)
    counts[np.argsort(np.arange(k) % 2, kind="stable")[: n % k]] += 1
    return counts


def scattered_blocks(n, counts, seed):
    """Blocks of consecutive tasks, exchanged where their counts agree; then some tasks are exchanged, too."""
    pe = np.repeat(np.arange(len(counts), dtype=np.int32), counts)
    place = np.arange(len(counts), dtype=np.int32)
    for count in np.unique(counts):
        alike = np.flatnonzero(counts == count)
        place[alike] = np.random.default_rng(seed).permutation(alike)
    start, pairs = place[pe], np.random.default_rng(seed).permutation(n)[:20].reshape(2, 10)
    start[pairs] = start[pairs[::-1]]
    return start


@pytest.mark.parametrize("n", [16 * 12 + 7, 16 * 3 + 8, 16 * 20])
@pytest.mark.parametrize("refiner", ["place_blocks", "vcycle:annealing_sweeps=40"])
def test_counts_are_kept_and_the_cost_falls(n, refiner):
    graph, where, counts = grid(1, n), hb.allocate(SPEC), counted(n, 16)
    start = scattered_blocks(n, counts, 3)
    bounds = Bounds(counts, counts, exact=True)
    found = build(refiners, refiner).refine(graph, where, start, bounds, Effort(seed=1))
    assert np.bincount(found, minlength=16).tolist() == counts.tolist()
    assert CommCost().value(graph, where, found) < CommCost().value(graph, where, start)


def test_exact_counts_on_a_tree_are_left_alone():
    n = 16 * 12
    graph, counts = grid(12, 16), counted(n, 16)
    start = scattered_blocks(n, counts, 3)
    vcycle = build(refiners, "vcycle:annealing_sweeps=40")
    bounds = Bounds(counts, counts, exact=True)
    assert vcycle.refine(graph, hb.allocate("node:4 core:4"), start, bounds, Effort()) is start


@pytest.mark.parametrize("rows", [1, 50])
def test_counts_that_are_missed_by_hundreds_take_few_scans_of_the_graph(rows):
    """PEs of different capacities have exchanged their tasks: one move per scan would take thousands."""
    graph, where = grid(rows, 4000 // rows), hb.allocate(SPEC)
    share = np.where(np.arange(16) % 2, 1, 30)
    counts = graph.n * share // share.sum()
    counts[0] += graph.n - counts.sum()
    start = np.repeat(np.arange(16, dtype=np.int32), counts[::-1])
    problem, scanned = search_problem(graph, where, Bounds(counts, counts, exact=True)), []
    control = RunControl(spend=lambda edges, whole: scanned.append(edges))
    found, even = even_placement(problem, start, counts, control=control)
    assert even
    assert np.bincount(found, minlength=16).tolist() == counts.tolist()
    assert scanned[0] < 400 * (graph.n + len(problem.csr.targets))


def test_stopped_chains_of_cycles_take_no_time_and_no_memory():
    """With a million chains, as many copies of the mapping would take 4 GB."""
    graph, where, counts = grid(32, 32), hb.allocate(SPEC), counted(1024, 16)
    problem = search_problem(graph, where, Bounds(counts + 5))
    start = np.repeat(np.arange(16, dtype=np.int32), counts)
    stopped = RunControl(cancel=np.array([1, 0], np.int32))
    found, _ = refine_placement(problem, start, counts + 5, RefinementSettings(chains=10**6), control=stopped)
    assert np.array_equal(found, start)


@pytest.mark.parametrize("refiner", ["vcycle:annealing_sweeps=1", "swap"])
def test_exchanges_of_many_tasks_per_pe_without_locality_end(refiner):
    """Each of 5000 tasks has thousands of partners, and tens of thousands of exchanges gain a little."""
    graph = hb.CommGraph.from_edges(*np.random.default_rng(1).integers(0, 5000, (2, 40_000)), n=5000)
    where, counts = hb.allocate(SPEC), counted(5000, 16)
    start, effort = np.repeat(np.arange(16, dtype=np.int32), counts), Effort(seed=1)
    found = build(refiners, refiner).refine(graph, where, start, Bounds(counts, counts, exact=True), effort)
    assert CommCost().value(graph, where, found) < CommCost().value(graph, where, start)
    assert effort.work["arcs"] < 1.1 * 2**26
