"""Inputs of the benchmark: sizes known beforehand, files that hold what the judge reads."""

import os
from pathlib import Path

import numpy as np
import pytest

from bench import BENCH, ROOT
from bench.instances import graphs
from bench.instances.graphs import Arrays
from bench.instances.suites import chosen_graphs


def is_symmetric(graph: Arrays) -> bool:
    sources = np.repeat(np.arange(graph.n), np.diff(graph.indptr))
    arcs = set(zip(sources.tolist(), graph.targets.tolist(), strict=True))
    return len(arcs) == len(graph.targets) and all((b, a) in arcs and a != b for a, b in arcs)


def test_generated_graphs_are_simple_and_symmetric():
    for graph in (graphs.delaunay(8, 3), graphs.random_geometric(8, 3), graphs.grid(3, 4, 5)):
        assert is_symmetric(graph)


def test_grid_has_three_families_of_edges():
    graph = graphs.grid(3, 4, 5)
    assert (graph.n, len(graph.targets) // 2) == (60, 2 * 4 * 5 + 3 * 3 * 5 + 3 * 4 * 4)


def test_random_geometric_joins_exactly_the_close_points():
    n, seed = 256, 11
    points = graphs.points_along_curve(n, seed)
    distance = np.hypot(*(points[:, None] - points[None]).T)
    near = (distance <= 0.55 * np.sqrt(np.log(n) / n)) & ~np.eye(n, dtype=bool)
    graph = graphs.random_geometric(8, seed)
    assert len(graph.targets) == near.sum()
    assert np.array_equal(np.diff(graph.indptr), near.sum(axis=1))


def test_renumbering_keeps_the_graph():
    plain = graphs.grid(3, 3)
    sources = np.repeat(np.arange(9), np.diff(plain.indptr))
    low, high = np.minimum(sources, plain.targets), np.maximum(sources, plain.targets)
    # Every edge and every task is recognisable by its number.
    plain = Arrays(plain.indptr, plain.targets, low * 9 + high, np.arange(9))
    mixed = graphs.renumbered(plain, seed=5)
    sources = np.repeat(np.arange(9), np.diff(mixed.indptr))
    assert not np.array_equal(mixed.loads, plain.loads)
    for source, target, volume in zip(sources, mixed.targets, mixed.volumes, strict=True):
        ends = sorted((mixed.loads[source], mixed.loads[target]))
        assert ends[0] * 9 + ends[1] == volume


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("loaded", [False, True])
def test_metis_files_read_back(tmp_path, weighted, loaded):
    plain = graphs.grid(2, 3)
    sources = np.repeat(np.arange(6), np.diff(plain.indptr))
    graph = Arrays(
        plain.indptr, plain.targets,
        sources + plain.targets if weighted else None, np.arange(6) * 7 if loaded else None,
    )
    graphs.write_metis(graph, tmp_path / "g.graph")
    assert graphs.read_metis(tmp_path / "g.graph").digest() == graph.digest()


def test_what_fails_half_way_leaves_the_file_and_its_folder_as_they_were(tmp_path):
    path = tmp_path / "g.graph"
    graphs.write_metis(graphs.grid(2, 2), path)
    before = path.read_text()
    broken = Arrays(np.array([0, 1, 2]), np.array([1, 0]), loads=np.array([1]))  # a load is missing
    with pytest.raises(IndexError):
        graphs.write_metis(broken, path)
    assert path.read_text() == before
    assert [each.name for each in tmp_path.iterdir()] == ["g.graph"]


def test_who_writes_the_same_file_has_a_partial_one_of_his_own(tmp_path):
    path = tmp_path / "g.graph"
    with graphs.replacing(path) as first, graphs.replacing(path) as second:
        assert first != second
        first.write_text("outer")
        second.write_text("inner")
    assert path.read_text() == "outer"  # the last to end


def test_isolated_vertices_survive_the_file(tmp_path):
    graph = graphs.from_edges(5, np.array([1]), np.array([3]))
    graphs.write_metis(graph, tmp_path / "g.graph")
    assert graphs.read_metis(tmp_path / "g.graph").digest() == graph.digest()


def test_prepared_once_then_reused(tmp_path):
    made = []

    def make(seed: int) -> Arrays:
        made.append(seed)
        return graphs.grid(2, 2)

    instance = graphs.Instance("box", "3-D", make)
    first = graphs.prepare(instance, folder=tmp_path)
    assert graphs.prepare(instance, folder=tmp_path) == first
    assert made == [graphs.DEFAULT_SEED]
    assert first.arrays().digest() == first.digest == graphs.read_metis(first.path).digest()
    assert graphs.prepare(instance, seed=9, folder=tmp_path).name == "box-s9"


@pytest.mark.shared
def test_the_rule_picks_the_documented_graphs():
    default = ROOT.parent / "shared"
    if not Path(os.environ.get("HOPBYTES_SHARED", default)).is_dir():
        pytest.skip("no folder of developers' samples")
    folder = graphs.shared_folder()
    assert folder is not None
    chosen = chosen_graphs(folder)
    readme = (BENCH / "README.md").read_text()
    assert len(chosen) == 8
    assert all(f"`{name}`" in readme for name in chosen)
