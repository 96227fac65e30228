"""Cuts into many blocks: annealing of boundaries and relaxation of shapes (``core/partition``)."""

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


def triangular_lattice(side):
    """A torus of triangles, in random order: every vertex has six neighbours."""
    name = np.random.default_rng(4).permutation(side * side)
    row, column = np.divmod(np.arange(side * side), side)
    near = [(row, column + 1), (row + 1, column), (row + 1, column + 1)]
    targets = [(r % side) * side + c % side for r, c in near]
    return hb.CommGraph.from_edges(np.tile(name, 3), name[np.concatenate(targets)])


def social_graph(n):
    """A graph in which vertices have many neighbours, and few of them a third of all edges."""
    rng = np.random.default_rng(8)
    first = (n * rng.random(6 * n) ** 3).astype(np.int64)
    return hb.CommGraph.from_edges(first, rng.integers(0, n, 6 * n), n=n)


ANNEALED, RELAXED = "annealing_sweeps={}", "flow_rounds=1,relaxation_rounds={}"


def mapped(graph, blocks, options, effort, *, seed=1, **more):
    mapper = f"multisection:{options.format(effort)}"
    return hb.map_tasks(graph, hb.allocate(f"core:{blocks}"), mapper, partition=True, seed=seed, **more)


@pytest.mark.parametrize(
    ("graph", "blocks", "options", "effort", "most"),
    [(grid(60), 100, ANNEALED, 300, 0.99), (triangular_lattice(96), 64, RELAXED, 24, 0.98)],
    ids=["annealed", "relaxed"],
)
def test_blocks_of_a_mesh_have_shorter_boundaries(graph, blocks, options, effort, most):
    def cost(effort):
        runs = [mapped(graph, blocks, options, effort, seed=seed).info["comm_cost"] for seed in range(4)]
        return np.exp(np.mean(np.log(runs)))

    assert cost(effort) < most * cost(0)


@pytest.mark.parametrize(
    ("graph", "blocks", "options", "effort"),
    [(graph, blocks, ANNEALED, 40) for graph in (grid(60), random_graph(3000)) for blocks in (24, 130)]
    + [(graph, 24, RELAXED, 8) for graph in (triangular_lattice(64), social_graph(4000))],
)
@pytest.mark.parametrize("imbalance", [0, 0.03, 0.3])
def test_the_bound_is_kept_and_the_cost_never_rises(graph, blocks, options, effort, imbalance):
    found, before = (mapped(graph, blocks, options, each, imbalance=imbalance) for each in (effort, 0))
    assert found.info["balance"] == "met"
    most = max(int((100 + round(100 * imbalance)) * graph.n // (100 * blocks)), -(-graph.n // blocks))
    assert np.bincount(found.pe, minlength=blocks).max() <= most
    assert found.info["comm_cost"] <= before.info["comm_cost"]


@pytest.mark.parametrize(
    ("graph", "blocks", "options", "effort"),
    [(grid(60), 100, ANNEALED, 50), (triangular_lattice(110), 32, RELAXED, 8),
     (social_graph(6000), 32, RELAXED, 8)],
)  # fmt: skip
def test_the_number_of_threads_changes_nothing(graph, blocks, options, effort):
    one, *others = (mapped(graph, blocks, options, effort, threads=threads) for threads in (1, 2, 3))
    for other in others:
        assert other.pe.tolist() == one.pe.tolist()
        assert other.info["work"] == one.info["work"]


@pytest.mark.parametrize(
    ("mesh", "options", "effort"), [(grid(40), ANNEALED, 100), (triangular_lattice(48), RELAXED, 12)]
)
def test_uneven_loads_and_volumes(mesh, options, effort):
    """Loads of 0, volumes of 0 and very large volumes; the bound on loads is kept."""
    rng = np.random.default_rng(2)
    ends = mesh.to_scipy().tocoo()
    volumes = np.where(rng.random(len(ends.row)) < 0.2, 0, rng.integers(1, 2**40, len(ends.row)))
    loads = rng.integers(0, 6, mesh.n)
    graph = hb.CommGraph.from_edges(ends.row, ends.col, volumes, loads=loads)
    found, before = (mapped(graph, 40, options, each, imbalance=0.1) for each in (effort, 0))
    assert np.bincount(found.pe, weights=loads, minlength=40).max() <= 1.1 * loads.sum() / 40
    assert found.info["comm_cost"] <= before.info["comm_cost"]


def test_blocks_of_a_fractional_share_are_even():
    """3600 tasks on 233 PEs are 15.45 each: every PE gets 15 or 16, annealed or not."""
    annealed, before = (mapped(grid(60), 233, ANNEALED, sweeps) for sweeps in (300, 0))
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
