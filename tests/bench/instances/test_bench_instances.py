"""Inputs of the benchmark: sizes known beforehand, files that hold what the judge reads."""

import numpy as np
import pytest

from bench import BENCH
from bench.instances import fetch, graphs, suites
from bench.instances.graphs import Arrays


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


def test_the_rule_picks_the_documented_graphs():
    chosen = suites.chosen_graphs()
    readme = (BENCH / "README.md").read_text()
    assert len(chosen) == 8
    assert all(f"`{name}`" in readme for name in chosen)


@pytest.mark.shared
def test_the_stored_graphs_have_the_published_checksums():
    folder = graphs.shared_folder()
    if folder is None:
        pytest.skip("no folder of developers' samples")
    stored = {path.name.removesuffix(".graph.xz") for path in folder.glob("*.graph.xz")}
    assert stored == set(graphs.sources())
    for name in ("3elt", "mpi_cg_1024"):
        assert graphs.read_metis(folder / f"{name}.graph.xz").digest() == graphs.sources()[name]["digest"]


def test_every_source_can_be_loaded_or_says_how():
    for name, facts in graphs.sources().items():
        assert len(facts["digest"]) == 64, name
        assert facts["licence"], name
        assert ("url" in facts) != ("source" in facts), name
        assert "url" not in facts or facts["reader"] in fetch.READERS, name


GIVEN = {
    "metis": b"3 2\n2\n1 3\n2\n", "matrix": b"%%MatrixMarket\n9 9 2\n1 4\n4 9\n",
    "roads": b"c\np sp 9 2\na 1 4 7\na 4 1 7\na 9 4 2\n", "nets": b"2 3\n1 2\n2 3\n",
    "traffic": b"x\n0 , 1 = 1.0\n1 , 2 = 0.2\n",
}  # fmt: skip


@pytest.mark.parametrize("reader", GIVEN)
def test_published_formats_are_read_and_stored(reader, tmp_path, monkeypatch):
    """A path of three vertices in every format; what does not match its checksum is not stored."""
    path = graphs.from_edges(3, np.array([0, 1]), np.array([1, 2]))
    file = tmp_path / "given"
    file.write_bytes(GIVEN[reader])
    facts = {"url": file.as_uri(), "reader": reader, "digest": path.digest(), "licence": "-"}
    monkeypatch.setattr(fetch, "sources", lambda: {"p": {**facts, "component": True}})
    for module in (fetch, graphs):
        monkeypatch.setattr(module, "STORED", tmp_path / "stored")
    assert fetch.fetch("p") is None
    assert graphs.read_metis(tmp_path / "stored/p.graph.xz").digest() == path.digest()
    assert fetch.fetch("p") is None  # it is there
    (tmp_path / "stored/p.graph.xz").unlink()
    file.write_bytes(GIVEN["metis"].replace(b"1 3", b"1 2") if reader == "metis" else GIVEN[reader] + b"\x80")
    assert "given" in str(fetch.fetch("p"))
    assert not list((tmp_path / "stored").iterdir())
