"""Deep multisection and the preset turbo."""

import numpy as np
import pytest

import hopbytes as hb
from helpers.graphs import grid
from hopbytes.algorithms.mappers.multisection import FAST

MACHINE = "node:3@100 package:2@10 core:4@1"
DEEP = "deep_multisection:per_child=20,fewest=100"
#: Unequal units, a table, a torus, more children than a bundle has, and one level only.
MACHINES = [
    MACHINE, "node:2@9 core:[2,6]@1", "torus:4x3 / core:2", "core:100", "node:2@9 core:23@2",
    "hypercube:3 / core:2",
]


@pytest.mark.parametrize("machine", MACHINES)
def test_mappings_are_valid_and_the_same_for_any_number_of_threads(machine):
    found = [
        hb.map_tasks("stencil:60x70", machine, DEEP, partition=True, seed=3, threads=threads)
        for threads in (1, 2, 5)
    ]
    assert all(np.array_equal(found[0].pe, other.pe) for other in found[1:])
    assert len({mapping.info["work"]["arcs"] for mapping in found}) == 1
    assert found[0].info["balance"] == "met"
    multisection = hb.map_tasks("stencil:60x70", machine, "multisection", partition=True, seed=3)
    assert found[0].info["comm_cost"] < 1.35 * multisection.info["comm_cost"]


@pytest.mark.parametrize(("per_child", "most"), [(1, 1.6), (100, 1.35), (10**6, 1.35)])
def test_cuts_on_coarse_graphs_are_good_cuts(per_child, most):
    """Near what multisection finds, however early the groups are divided."""
    graph, machine = grid(72), "node:4@100 package:4@10 core:4@1"
    mapping = hb.map_tasks(graph, machine, f"deep_multisection:per_child={per_child},fewest=500", seed=2)
    assert mapping.info["balance"] == "met"
    multisection = hb.map_tasks(graph, machine, "multisection", seed=2)
    assert mapping.info["comm_cost"] < most * multisection.info["comm_cost"]


def test_loads_keep_the_bound():
    rng = np.random.default_rng(4)
    graph = hb.read("stencil:50x50")
    loads = rng.integers(1, 30, graph.n)
    graph = hb.CommGraph(graph.indptr, graph.targets, graph.volumes, loads=loads)
    mapping = hb.map_tasks(graph, MACHINE, DEEP, seed=1)
    assert mapping.info["balance"] == "met"
    assert np.bincount(mapping.pe, loads).max() <= 1.03 * loads.sum() / 24


def test_large_weights_do_not_overflow():
    graph = hb.CommGraph.from_edges(*np.array([(v, v + 1) for v in range(2999)]).T, np.full(2999, 2**42))
    mapping = hb.map_tasks(graph, MACHINE, DEEP, partition=True)
    assert mapping.info["balance"] == "met"
    assert 0 < mapping.info["comm_cost"] <= 40 * 100 * 2 * 2**42


@pytest.mark.parametrize(
    "options", [{"partition": False}, {"constraints": hb.Constraints(fixed={0: 5})}]
)
def test_other_problems_are_solved_as_in_fast(options):
    pattern = "stencil:6x4" if options.get("partition") is False else "stencil:40x40"
    deep, fast = (hb.map_tasks(pattern, MACHINE, method, seed=6, **options) for method in (DEEP, FAST))
    assert np.array_equal(deep.pe, fast.pe)


def test_bundles_of_children_change_the_order_of_cuts_only():
    """Bundles are not visible in the mapping: every PE is used, and J stays near that of one cut."""
    costs = []
    for most in (2, 5, 100):
        method = f"{DEEP},most_children={most}"
        mapping = hb.map_tasks("stencil:60x60", "core:30", method, partition=True, seed=1)
        assert mapping.info["balance"] == "met"
        assert np.array_equal(np.unique(mapping.pe), np.arange(30))
        costs.append(mapping.info["comm_cost"])
    assert max(costs) < 1.3 * min(costs)


@pytest.mark.parametrize("limits", [hb.Limits(time=0), hb.Limits(work=0)])
def test_limits_leave_a_mapping_within_bounds(limits):
    mapping = hb.map_tasks("stencil:60x70", MACHINE, DEEP, seed=1, limits=limits)
    assert np.bincount(mapping.pe, minlength=24).max() <= 1.03 * 4200 / 24


def test_turbo_scans_fewer_edges_than_fast():
    turbo, fast = (
        hb.map_tasks("stencil:120x130", MACHINE, name, seed=1, partition=True) for name in ("turbo", "fast")
    )
    assert 2 * turbo.info["work"]["arcs"] < fast.info["work"]["arcs"]
    assert turbo.info["comm_cost"] < 1.3 * fast.info["comm_cost"]


def test_boxes_are_cut_about_as_well_as_by_fast():
    """Groups of a box are divided on fine graphs, where its planes are visible."""
    machine = "node:6@100 package:8@10 core:4@1"
    cost = {
        preset: hb.map_tasks("stencil:32x32x32", machine, preset, partition=True, seed=1).info["comm_cost"]
        for preset in ("fast", "turbo")
    }
    assert cost["turbo"] < 1.1 * cost["fast"]
