"""The mapper for huge graphs, and the preset turbo."""

import numpy as np
import pytest

import hopbytes as hb
from hopbytes.algorithms.mappers import parallel_multilevel
from hopbytes.algorithms.mappers.multisection import FAST

MACHINE = "node:3@100 package:2@10 core:4@1"
FLAT = "core:24"
LARGE = "parallel_multilevel:least_tasks=100,fewest=200,per_pe=10"


def test_a_mesh_costs_little_more_than_by_multisection_for_any_number_of_threads():
    pattern = "stencil:60x70"
    found = [hb.map_tasks(pattern, MACHINE, LARGE, seed=3, threads=threads) for threads in (1, 2, 5)]
    assert all(np.array_equal(found[0].pe, other.pe) for other in found[1:])
    assert found[0].info["balance"] == "met"
    assert found[0].info["work"]["moves"] > 0
    assert len({one.info["work"]["arcs"] for one in found}) == 1
    by_cuts = hb.map_tasks(pattern, MACHINE, "multisection", seed=3)
    assert found[0].info["comm_cost"] < 1.35 * by_cuts.info["comm_cost"]


def test_loads_keep_the_bound():
    rng = np.random.default_rng(4)
    graph = hb.read("stencil:50x50")
    loads = rng.integers(1, 30, graph.n)
    graph = hb.CommGraph(graph.indptr, graph.targets, graph.volumes, loads=loads)
    mapping = hb.map_tasks(graph, MACHINE, LARGE, seed=1)
    assert mapping.info["balance"] == "met"
    assert np.bincount(mapping.pe, loads).max() <= 1.03 * loads.sum() / 24


def test_no_levels_where_clusters_do_not_follow_the_structure():
    """In a random graph of large degree the clusters of any kind have most arcs between them."""
    ends = np.random.default_rng(5).integers(0, 600, (2, 20_000))
    graph = hb.CommGraph.from_edges(*ends, n=600)
    options = {"seed": 2, "partition": True}
    other = hb.map_tasks(graph, MACHINE, FAST, **options)
    assert np.array_equal(hb.map_tasks(graph, MACHINE, LARGE, **options).pe, other.pe)


@pytest.mark.parametrize(
    "options",
    [{}, {"constraints": hb.Constraints(fixed={0: 5})}, {"partition": False}, {"imbalance": 0.2}],
)
@pytest.mark.parametrize("machine", [MACHINE, FLAT])
def test_on_small_graphs_turbo_is_fast(machine, options):
    pattern = "stencil:6x4" if options.get("partition") is False else "stencil:40x40"
    fast = hb.map_tasks(pattern, machine, "fast", seed=6, **options)
    turbo = hb.map_tasks(pattern, machine, "turbo", seed=6, **options)
    assert np.array_equal(fast.pe, turbo.pe)


def test_turbo_maps_large_graphs_on_levels(monkeypatch):
    counted = []

    def counting(*arguments, **options):
        counted.append(arguments)
        return contract(*arguments, **options)

    contract = parallel_multilevel.contract_in_parallel
    monkeypatch.setattr(parallel_multilevel, "contract_in_parallel", counting)
    pattern = hb.read("stencil:320x330")
    mapping = hb.map_tasks(pattern, MACHINE, "turbo", seed=1, partition=True)
    assert counted
    assert mapping.info["balance"] == "met"
    assert mapping.info["comm_cost"] < hb.map_tasks(pattern, MACHINE, "random").info["comm_cost"] / 20


@pytest.mark.parametrize("limits", [hb.Limits(time=0), hb.Limits(work=0)])
def test_limits_leave_a_mapping_within_bounds(limits):
    mapping = hb.map_tasks("stencil:60x70", MACHINE, LARGE, seed=1, limits=limits)
    assert np.bincount(mapping.pe, minlength=24).max() <= 1.03 * 4200 / 24


def test_a_coarse_graph_has_a_vertex_for_every_pe_at_least():
    least, one = (
        hb.map_tasks("stencil:50x50", MACHINE, f"parallel_multilevel:least_tasks=0,fewest=0,per_pe={per_pe}")
        for per_pe in (0, 1)
    )
    assert np.array_equal(least.pe, one.pe)
    assert least.info["balance"] == "met"
