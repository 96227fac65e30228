"""Relaxation of the shapes of blocks in cuts into many blocks (core/partition/relaxation)."""

import numpy as np
import pytest

import hopbytes as hb


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


def mapped(graph, blocks, rounds, *, seed=1, **options):
    mapper = f"multisection:flow_rounds=1,relaxation_rounds={rounds}"
    return hb.map_tasks(graph, hb.allocate(f"core:{blocks}"), mapper, partition=True, seed=seed, **options)


def test_blocks_of_a_mesh_have_shorter_boundaries():
    mesh = triangular_lattice(96)

    def cost(rounds):
        runs = [mapped(mesh, 64, rounds, seed=seed).info["comm_cost"] for seed in range(4)]
        return np.exp(np.mean(np.log(runs)))

    assert cost(24) < 0.98 * cost(0)


@pytest.mark.parametrize("graph", [triangular_lattice(110), social_graph(6000)], ids=["mesh", "social"])
def test_the_number_of_threads_changes_nothing(graph):
    one, *others = (mapped(graph, 32, 8, threads=threads) for threads in (1, 2, 3))
    for other in others:
        assert other.pe.tolist() == one.pe.tolist()
        assert other.info["work"] == one.info["work"]


@pytest.mark.parametrize("graph", [triangular_lattice(64), social_graph(4000)], ids=["mesh", "social"])
@pytest.mark.parametrize("imbalance", [0, 0.03, 0.5])
def test_the_cost_never_rises(graph, imbalance):
    with_rounds, without = (mapped(graph, 24, rounds, imbalance=imbalance) for rounds in (8, 0))
    assert with_rounds.info["comm_cost"] <= without.info["comm_cost"]


@pytest.mark.slow
def test_where_shapes_mean_nothing_all_repetitions_are_made():
    """A third of the repetitions suffices only where relaxation helps."""
    graph, where = social_graph(2000), hb.allocate("core:32")

    def found(rounds):
        mapper = f"multisection:repetitions=6,recombinations=2,relaxation_rounds={rounds}"
        return hb.map_tasks(graph, where, mapper, partition=True).info["comm_cost"]

    assert found(8) == found(0)


def test_uneven_loads_and_empty_messages():
    """Edges of weight 0 have no part in diffusion; bounds are kept although loads differ."""
    mesh, rng = triangular_lattice(48), np.random.default_rng(2)
    ends = mesh.to_scipy().tocoo()
    volumes = np.where(rng.random(len(ends.row)) < 0.2, 0, rng.integers(1, 2**40, len(ends.row)))
    loads = rng.integers(0, 6, mesh.n)
    graph = hb.CommGraph.from_edges(ends.row, ends.col, volumes, loads=loads)
    mapping = mapped(graph, 40, 12, imbalance=0.1)
    assert np.bincount(mapping.pe, weights=loads, minlength=40).max() <= 1.1 * loads.sum() / 40
    assert mapping.info["comm_cost"] <= mapped(graph, 40, 0, imbalance=0.1).info["comm_cost"]
