"""Simulated annealing of the boundaries of many small blocks (core/partition/refinement/annealing.hpp)."""

import numpy as np
import pytest

import hopbytes as hb


def grid(side):
    """A square grid, its vertices in random order."""
    name = np.random.default_rng(3).permutation(side * side).reshape(side, side)
    first = np.concatenate([name[:, :-1].ravel(), name[:-1].ravel()])
    second = np.concatenate([name[:, 1:].ravel(), name[1:].ravel()])
    return hb.CommGraph.from_edges(first, second, undirected=True)


def random_graph(n):
    first, second = np.random.default_rng(5).integers(0, n, (2, 3 * n))
    return hb.CommGraph.from_edges(first, second, n=n, undirected=True)


def mapped(graph, blocks, sweeps, *, seed=1, **options):
    mapper = f"multisection:annealing_sweeps={sweeps}"
    return hb.map_tasks(graph, hb.allocate(f"core:{blocks}"), mapper, partition=True, seed=seed, **options)


def test_many_small_blocks_have_shorter_boundaries():
    graph = grid(60)

    def cost(sweeps):
        runs = [mapped(graph, 100, sweeps, seed=seed).info["comm_cost"] for seed in range(3)]
        return np.exp(np.mean(np.log(runs)))

    assert cost(300) < 0.99 * cost(0)


@pytest.mark.parametrize("graph", [grid(60), random_graph(3000)], ids=["grid", "random"])
@pytest.mark.parametrize("imbalance", [0, 0.03, 0.3])
@pytest.mark.parametrize("blocks", [24, 130])
def test_the_bound_is_kept_and_the_cost_never_rises(graph, imbalance, blocks):
    annealed, before = (mapped(graph, blocks, sweeps, imbalance=imbalance) for sweeps in (40, 0))
    assert annealed.info["balance"] == "met"
    most = max(int((100 + round(100 * imbalance)) * graph.n // (100 * blocks)), -(-graph.n // blocks))
    assert np.bincount(annealed.pe, minlength=blocks).max() <= most
    assert annealed.info["comm_cost"] <= before.info["comm_cost"]


def test_the_number_of_threads_changes_nothing():
    one, *others = (mapped(grid(60), 100, 50, threads=threads) for threads in (1, 2, 3))
    for other in others:
        assert other.pe.tolist() == one.pe.tolist()
        assert other.info["work"] == one.info["work"]


def test_uneven_loads_and_volumes():
    """Loads of 0, volumes of 0 and very large volumes; the bound on loads is kept."""
    mesh, rng = grid(40), np.random.default_rng(2)
    ends = mesh.to_scipy().tocoo()
    volumes = np.where(rng.random(len(ends.row)) < 0.2, 0, rng.integers(1, 2**40, len(ends.row)))
    loads = rng.integers(0, 6, mesh.n)
    graph = hb.CommGraph.from_edges(ends.row, ends.col, volumes, loads=loads)
    annealed, before = (mapped(graph, 40, sweeps, imbalance=0.1) for sweeps in (100, 0))
    assert np.bincount(annealed.pe, weights=loads, minlength=40).max() <= 1.1 * loads.sum() / 40
    assert annealed.info["comm_cost"] <= before.info["comm_cost"]


def test_blocks_of_a_fractional_share_are_even():
    """3600 tasks on 233 PEs are 15.45 each: every PE gets 15 or 16, annealed or not."""
    graph = grid(60)
    annealed, before = (mapped(graph, 233, sweeps) for sweeps in (300, 0))
    for mapping in (annealed, before):
        assert set(np.bincount(mapping.pe, minlength=233)) == {15, 16}
    assert annealed.info["comm_cost"] < before.info["comm_cost"]


def refined_under_distances(graph, spec, sweeps, **options):
    return hb.map_tasks(
        graph, hb.allocate(spec), ["multisection", f"vcycle:cycles=0,annealing_sweeps={sweeps}"],
        partition=True, **options
    )


@pytest.mark.parametrize("spec", ["node:4@3 package:4@2 core:4@1", "torus:8x8", "mesh:6x8"])
@pytest.mark.parametrize("threads", [1, 3])
def test_under_distances_the_cost_falls_and_the_bound_is_kept(spec, threads):
    graph = grid(60)
    before, annealed = (
        [refined_under_distances(graph, spec, sweeps, seed=seed, threads=threads) for seed in (1, 2)]
        for sweeps in (0, 200)
    )
    assert all(found.info["balance"] == "met" for found in annealed)
    costs = [sum(found.info["comm_cost"] for found in several) for several in (before, annealed)]
    assert costs[1] < costs[0]


def test_distances_of_zero_and_very_large_ones():
    for spec in ("node:8@5 core:8@0", f"torus:8x8@{2**24}"):
        before, annealed = (refined_under_distances(grid(40), spec, sweeps) for sweeps in (0, 60))
        assert annealed.info["comm_cost"] <= before.info["comm_cost"]


def test_where_distant_pes_carry_the_cost_nothing_is_annealed():
    before, annealed = (
        refined_under_distances(grid(60), "node:4@100 package:4@10 core:4@1", sweeps) for sweeps in (0, 100)
    )
    assert annealed.pe.tolist() == before.pe.tolist()
    assert annealed.info["work"]["arcs"] == before.info["work"]["arcs"]
