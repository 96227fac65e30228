"""What every mapper in the registry promises, on random machines and awkward graphs."""

import dataclasses

import numpy as np
import pytest

import hopbytes as hb
from helpers.strategies import random_graph, random_machine
from helpers.thorough import most
from hopbytes.algorithms.base import mappers
from hopbytes.errors import HopbytesError
from hopbytes.machines.base import Level
from hopbytes.machines.kinds.table import Table
from hopbytes.machines.tree import Tree
from hopbytes.solve.map_tasks import map_tasks
from hopbytes.util.options import build, describe

#: Those that need routes have a contract of their own, test_routed.py.
MAPPERS = [name for name, kind in mappers.items() if not (kind.needs_routes or kind.needs_coordinates)]
SIZES = ("0", "1", "k-1", "k", "k+1", "2k", "8k")


def tasks(size, k):
    return {"0": 0, "1": 1, "k-1": k - 1, "k": k, "k+1": k + 1, "2k": 2 * k, "8k": 8 * k}[size]


def check(graph, where, mapping):
    """All tasks placed, counts or bounds kept as reported, everything recounted here from scratch."""
    info, n, k = mapping.info, graph.n, where.k
    counts = np.bincount(mapping.pe, minlength=k)
    assert mapping.pe.dtype == np.int32
    assert counts.sum() == n
    if info["problem"] == "processes" or n <= k:
        assert counts.max(initial=0) <= -(-n // k)
    else:
        assert counts.min() >= 1
    if info["problem"] == "partition" and n > k and graph.loads is None:
        assert info["balance"] == "met"
        assert counts.max() <= max(103 * n // (100 * k), -(-n // k))
    assert info["bound_kept"] <= info["bound_asked"] or info["balance"] == "relaxed"
    evaluation = hb.evaluate(graph, mapping, baselines=False)
    assert info["comm_cost"] == evaluation.mapping.comm_cost
    assert info["imbalance"] == evaluation.mapping.imbalance


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", MAPPERS)
def test_random_machines_and_graphs(name, size):
    """Trees of 1-7 levels, equal or not; graphs of every kind `strategies` knows."""
    for seed in range(most(8, 4)):
        rng = np.random.default_rng([seed, SIZES.index(size)])
        where = hb.Allocation.whole(random_machine(rng, max_cores=40))
        graph = random_graph(rng, n=tasks(size, where.k))
        check(graph, where, map_tasks(graph, where, name, partition=True, seed=seed))
        processes = map_tasks(graph, hb.allocate(where, oversubscribe=True), name, partition=False, seed=seed)
        check(graph, where, processes)


@pytest.mark.parametrize("name", MAPPERS)
def test_sparse_allocations_and_machines_known_only_by_distances(name):
    """Every third core of a tree; dense tables of no particular shape, the same in both directions or not."""
    for seed in range(4):
        rng = np.random.default_rng(seed)
        whole = hb.Allocation.whole(random_machine(rng, max_cores=60))
        sparse = whole.select(np.arange(0, whole.k, 3))
        half = rng.integers(1, 30, (11, 11))
        np.fill_diagonal(half, 0)
        tables = [hb.Allocation.whole(Table(distances)) for distances in (half, half + half.T)]
        for where in (sparse, *tables):
            graph = random_graph(rng, n=5 * where.k)
            check(graph, where, map_tasks(graph, where, name, partition=True, seed=seed))


NETWORKS = (
    "torus:3x3@5:nodes=2 / core:2@1", "mesh:2x5@3 / core:[2,1,3,1,1,2,1,1,1,1]@2",
    "dragonfly:4x2x2@3 / core:2@1", "fattree:3x3:nodes=8@2 / package:2@2 core:2@1", "hyperx:3x4",
)


@pytest.mark.parametrize("name", MAPPERS)
def test_networks_of_nodes_whole_and_sparse(name):
    for seed, spec in enumerate(NETWORKS):
        rng = np.random.default_rng(seed)
        whole = hb.allocate(spec)
        kept = np.sort(rng.choice(whole.k, whole.k // 2, replace=False))
        for where in (whole, whole.select(kept)):
            graph = random_graph(rng, n=3 * where.k)
            check(graph, where, map_tasks(graph, where, name, partition=True, seed=seed))
            graph = random_graph(rng, n=where.k)
            check(graph, where, map_tasks(graph, where, name, partition=False, seed=seed))


@pytest.mark.parametrize("preset", ["fast", "eco", "strong"])
def test_presets_beat_order_on_networks(preset):
    """A ring of tasks in random order fits every network better than in that order."""
    for seed, spec in enumerate(NETWORKS):
        where = hb.allocate(spec)
        order = np.random.default_rng(seed).permutation(where.k)
        ring = hb.CommGraph.from_edges(order, np.roll(order, 1), np.full(where.k, 7))
        found = hb.evaluate(ring, map_tasks(ring, where, preset, seed=seed), random_seeds=0)
        assert found.mapping.comm_cost < found.in_order.comm_cost
        assert found.mapping.links.hop_bytes < found.in_order.links.hop_bytes


def one_hub(n, rng):
    loads = np.ones(n, np.int64)
    loads[rng.integers(n)] = n
    return loads


LOADS = {
    "one hub of half of all": one_hub,
    "all zero": lambda n, rng: np.zeros(n, np.int64),
    "half zero": lambda n, rng: rng.integers(0, 2, n) * rng.integers(1, 9, n),
    "up to 2^40": lambda n, rng: rng.integers(0, 2**40, n),
    "three sizes": lambda n, rng: rng.choice([1, 10, 100], n),
}


@pytest.mark.parametrize("kind", LOADS)
@pytest.mark.parametrize("name", MAPPERS)
def test_loads(name, kind):
    """The largest PE exceeds its share by a heaviest task at most; idle tasks have a share of their own."""
    where = hb.Allocation.whole(Tree((Level("node", 10), Level("core", 1)), (3, (3, 5, 1))))
    for seed in range(3):
        rng = np.random.default_rng(seed)
        graph = dataclasses.replace(random_graph(rng, n=90), loads=LOADS[kind](90, rng))
        mapping = map_tasks(graph, where, name, partition=True, seed=seed)
        check(graph, where, mapping)
        held = np.bincount(mapping.pe, weights=graph.loads, minlength=where.k)
        assert held.max() <= -(-graph.total_load // where.k) + graph.loads.max()
        zero_load = np.bincount(mapping.pe[graph.loads == 0], minlength=where.k)
        assert zero_load.max() <= np.ceil(1.03 * np.count_nonzero(graph.loads == 0) / where.k)


@pytest.mark.parametrize("name", MAPPERS)
def test_volumes_up_to_two_to_the_62_and_one_way_traffic(name):
    where = hb.Allocation.whole(Tree((Level("package", 1), Level("core", 1)), (2, 4)))
    ring = np.arange(64)
    graph = hb.CommGraph.from_edges(ring, (ring + 1) % 64, np.full(64, 2**56), n=64)
    assert graph.total_volume == 2**62
    check(graph, where, map_tasks(graph, where, name, seed=1))


@pytest.mark.parametrize("name", MAPPERS)
def test_the_same_seed_gives_the_same_bytes_for_any_number_of_threads(name):
    where = hb.Allocation.whole(Tree((Level("node", 10), Level("package", 3), Level("core", 1)), (3, 2, 4)))
    for seed, n in ((7, 24), (8, 500)):
        graph = random_graph(np.random.default_rng(seed), n=n)
        runs = [map_tasks(graph, where, name, seed=seed, threads=each) for each in (1, 2, 3, 7, 1)]
        assert all(run.pe.tobytes() == runs[0].pe.tobytes() for run in runs)
        assert all(run.info["work"] == runs[0].info["work"] for run in runs)
        assert runs[0].info["deterministic"]


@pytest.mark.parametrize("name", MAPPERS)
def test_what_cannot_be_done_is_refused_in_one_line(name):
    where = hb.Allocation.whole(Tree((Level("core", 1),), (4,)))
    graph = hb.CommGraph.from_edges([0, 1], [1, 2], n=9)
    counted = where.using(tasks_per_node=3)
    for on, options in ((where, {"partition": False}), (where, {"imbalance": -1.0}), (counted, {})):
        with pytest.raises(HopbytesError) as caught:
            map_tasks(graph, on, name, **{"partition": False} | options)
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", MAPPERS)
def test_options_survive_being_written_down(name):
    """`info["mapper"]` is a text that makes the same mapper again."""
    mapper = build(mappers, name)
    assert build(mappers, describe(mappers, mapper)) == mapper


@pytest.mark.parametrize("name", MAPPERS)
def test_a_deadline_that_has_passed_still_gives_a_placement(name):
    where = hb.Allocation.whole(Tree((Level("node", 10), Level("core", 1)), (4, 4)))
    graph = random_graph(np.random.default_rng(3), n=200)
    check(graph, where, map_tasks(graph, where, name, limits=hb.Limits(time=0)))
