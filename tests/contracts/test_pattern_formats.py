"""What every pattern format promises: round trips, dialects, recognition, honest conversion."""

from __future__ import annotations

import gzip
import io
import sys

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from helpers.errors import mentions
from hopbytes.errors import FormatError, ScaleError, UnsupportedError
from hopbytes.formats.base import MARK, Format, formats
from hopbytes.formats.exchange import convert, read, symmetrized, write
from hopbytes.model.comm_graph import CommGraph

PATTERNS = ["csv", "dense", "edges", "metis", "mm", "npz", "parhip", "pattern"]
QUICK = settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)


def same(a: CommGraph, b: CommGraph) -> bool:
    """Equal in every array, in direction and scale."""
    names = ("indptr", "targets", "volumes", "messages", "loads")
    pairs = [(getattr(a, name), getattr(b, name)) for name in names]
    return (a.undirected, a.scale) == (b.undirected, b.scale) and all(
        (x is None) == (y is None) and (x is None or np.array_equal(x, y)) for x, y in pairs
    )


@st.composite
def graphs(draw, symmetric=False, messages=True, loads=True):
    n = draw(st.integers(0, 9))
    pairs = [(i, j) for i in range(n) for j in range(n) if (i < j if symmetric else True)]
    arcs = draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else []
    value = st.integers(1, 2**55)
    volumes = draw(st.lists(value, min_size=len(arcs), max_size=len(arcs)) | st.none())
    counts = draw(st.lists(value, min_size=len(arcs), max_size=len(arcs)) | st.none()) if messages else None
    work = draw(st.lists(st.integers(0, 2**55), min_size=n, max_size=n) | st.none()) if loads else None
    src, dst = ([arc[side] for arc in arcs] for side in (0, 1))
    if symmetric:
        src, dst = src + dst, dst + src
        volumes, counts = (None if v is None else v + v for v in (volumes, counts))
    empty = np.empty(0, np.int64)
    graph = CommGraph.from_edges(
        src or empty, dst or empty, volumes if src else None, counts if src else None, n=n, loads=work
    )
    return CommGraph(
        graph.indptr, graph.targets, graph.volumes, graph.messages, graph.loads, undirected=symmetric
    )


def test_these_are_all_pattern_formats():
    """Those that can be written; recordings of other tools are only read."""
    patterns = {name: format for name, format in formats.items() if format.holds == "pattern"}
    written = [n for n, format in patterns.items() if type(format).write_pattern is not Format.write_pattern]
    assert written == PATTERNS


@QUICK
@given(graphs() | graphs(symmetric=True), st.sampled_from(["", ".gz", ".xz"]))
@pytest.mark.parametrize("name", ["pattern", "npz"])
def test_archives_lose_nothing(tmp_path, name, graph, suffix):
    path = tmp_path / f"a.{name}{suffix}"
    assert write(graph, path, force=True).notices == ()
    assert same(read(path), graph)


def test_pattern_keeps_the_facts(tmp_path):
    facts = {"name": "ring", "mpi": {"ranks": 3}, "notices": ["one"]}
    graph = CommGraph.from_edges([0, 1, 2], [1, 2, 0], [0.5, 2, 3.25], meta=facts)
    write(graph, tmp_path / "a.pattern")
    again = read(tmp_path / "a.pattern")
    assert again.meta == facts
    assert again.scale == 100
    first = (tmp_path / "a.pattern").read_bytes()
    write(again, tmp_path / "b.pattern")
    assert (tmp_path / "b.pattern").read_bytes() == first


@QUICK
@given(graphs(symmetric=True, messages=False))
@pytest.mark.parametrize("name", ["graph", "parhip"])
def test_undirected_graphs_round_trip(tmp_path, name, graph):
    write(graph, tmp_path / f"a.{name}", force=True)
    assert same(read(tmp_path / f"a.{name}"), graph)


@QUICK
@given(graphs(loads=False))
def test_edges_round_trip(tmp_path, graph):
    write(graph, tmp_path / "a.edges", force=True)
    again = read(tmp_path / "a.edges")
    assert again.n == graph.n
    assert np.array_equal(again.targets, graph.targets)
    assert np.array_equal(again.arc_volumes(), graph.arc_volumes())
    assert np.array_equal(again.arc_messages(), graph.arc_messages())


@QUICK
@given(graphs(loads=False, messages=False) | graphs(symmetric=True, loads=False, messages=False))
@pytest.mark.parametrize("name", ["mtx", "mat", "csv"])
def test_matrices_round_trip(tmp_path, name, graph):
    if graph.n == 0:
        return  # no text of a matrix without rows
    write(graph, tmp_path / f"a.{name}", force=True)
    again = read(tmp_path / f"a.{name}")
    assert np.array_equal(again.targets, graph.targets)
    assert np.array_equal(again.arc_volumes(), graph.arc_volumes())


def test_scipy_reads_our_npz_and_we_read_scipys(tmp_path):
    sparse = pytest.importorskip("scipy.sparse")
    rng = np.random.default_rng(3)
    matrix = sparse.random(20, 20, 0.2, random_state=rng, data_rvs=lambda k: rng.integers(1, 99, k))
    for layout in ("csr", "csc", "coo"):
        sparse.save_npz(tmp_path / "theirs.npz", matrix.asformat(layout))
        graph = read(tmp_path / "theirs.npz")
        dense = sparse.csr_matrix((graph.volumes, graph.targets, graph.indptr), (20, 20)).toarray()
        assert np.array_equal(dense, matrix.toarray())
        write(graph, tmp_path / "ours.npz", force=True)
        assert np.array_equal(sparse.load_npz(tmp_path / "ours.npz").toarray(), matrix.toarray())
    sparse.save_npz(tmp_path / "theirs.npz", sparse.bsr_matrix(matrix))
    with pytest.raises(UnsupportedError, match="'bsr' matrix"):
        read(tmp_path / "theirs.npz")


# ---------------------------------------------------------------- known files


def text(tmp_path, content, name="a.graph", **options):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return read(path, **options)


@pytest.mark.parametrize(
    ("content", "volumes", "loads"),
    [
        ("3 2\n2\n1 3\n2\n", None, None),
        ("3 2 1\n2 5\n1 5 3 6\n2 6\n", [5, 5, 6, 6], None),
        ("3 2 001\n2 5\n3 6 1 5\n2 6\n", [5, 5, 6, 6], None),
        ("3 2 10\n7 2\n8 1 3\n9 2\n", None, [7, 8, 9]),
        ("3 2 11\n7 2 5\n8 1 5 3 6\n9 2 6", [5, 5, 6, 6], [7, 8, 9]),
        ("3 2 100\n4 2\n4 3 1\n4 2\n", None, None),
        ("3 2 111\n4 7 2 5\n4 8 1 5 3 6\n4 9 2 6\n", [5, 5, 6, 6], [7, 8, 9]),
        ("3 2 11 2\n7 0 2 5\n8 0 1 5 3 6\n9 0 2 6\n", [5, 5, 6, 6], [7, 8, 9]),
        ("% a\n\n 3 2 \r\n% b\r\n2\r\n%c\n3\t1\r\n2\r\n\r\n%end", None, None),
    ],
)
def test_metis_flags(tmp_path, content, volumes, loads):
    """One path 1 - 2 - 3 in every dialect."""
    graph = text(tmp_path, content)
    assert graph.undirected
    assert graph.indptr.tolist() == [0, 1, 3, 4]
    assert graph.targets.tolist() == [1, 0, 2, 1]
    assert (None if graph.volumes is None else graph.volumes.tolist()) == volumes
    assert (None if graph.loads is None else graph.loads.tolist()) == loads


def test_metis_isolated_vertices_and_huge_weights(tmp_path):
    graph = text(tmp_path, f"4 1 11\n0\n{2**62} 3 {2**61}\n5 2 {2**61}\n1\n")
    assert graph.indptr.tolist() == [0, 0, 1, 2, 2]
    assert graph.loads.tolist() == [0, 2**62, 5, 1]
    assert text(tmp_path, "3 1\n2\n1\n\n").indptr.tolist() == [0, 1, 2, 2]
    assert text(tmp_path, "3 1\n2\n1\n").indptr.tolist() == [0, 1, 2, 2]
    assert text(tmp_path, "2 0\n\n\n").m == 0
    assert text(tmp_path, "0 0\n").n == 0


def test_metis_says_what_it_ignores(tmp_path):
    assert text(tmp_path, "2 1 100\n4 2\n4 1\n").meta["notices"] == ["vertex sizes are ignored"]
    assert text(tmp_path, "2 1 10\n4 2\n4 1\n").meta["notices"] == []
    assert "only the first" in text(tmp_path, "2 1 10 3\n4 0 0 2\n4 0 0 1\n").meta["notices"][0]


def test_edges_dialects(tmp_path):
    expected = [("0", "2", 5), ("1", "0", 7)]
    for content in ("0 2 5\n1 0 7\n", "3\n0\t2\t5 # x\n\n%\n1,0,7", "# c\n1 0 3\n0 , 2 , 5\r\n1 0 4\n"):
        graph = text(tmp_path, content, "a.edges")
        arcs = zip(graph.sources(), graph.targets, graph.volumes, strict=True)
        assert [(str(s), str(t), int(v)) for s, t, v in arcs] == expected
    graph = text(tmp_path, "5\n0 1 2.5 3\n0 1 1 1\n", "a.el")
    assert (graph.n, graph.scale, graph.volumes.tolist(), graph.messages.tolist()) == (5, 10, [35], [4])
    assert text(tmp_path, "0 1\n1 0\n", "a.el").volumes is None
    assert text(tmp_path, "7\n", "a.el").n == 7


@pytest.mark.parametrize("name", ["a.edges", "a.graph"])
def test_arrays_grow_with_what_arrives(tmp_path, monkeypatch, name):
    """Nothing of a compressed file is known beforehand; a decimal may come after the first growth."""
    for module in ("parsing", "patterns.metis"):
        monkeypatch.setattr(f"hopbytes.formats.{module}.INITIAL_CAPACITY", 4)
    n = 200
    if name == "a.edges":
        lines = [f"{i} {(i + 1) % n} {i + 1}" for i in range(n - 1)] + [f"{n - 1} 0 0.5"]
        graph = text(tmp_path, gzip.compress("\n".join(lines).encode()), name)
        assert graph.volumes.tolist() == [10 * (i + 1) for i in range(n - 1)] + [5]
    else:
        rows = [f"{i + 7} {(i + 1) % n + 1} {3 + min(i, (i + 1) % n)} {(i - 1) % n + 1} "
                f"{3 + min(i, (i - 1) % n)}" for i in range(n)]
        graph = text(tmp_path, gzip.compress("\n".join([f"{n} {n} 11", *rows]).encode()), name)
        assert graph.loads.tolist() == [i + 7 for i in range(n)]
        assert (graph.volumes == 3 + np.minimum(graph.sources(), graph.targets)).all()
    assert (graph.n, graph.m) == (n, n if name == "a.edges" else 2 * n)


def test_csv_finds_its_message_counts(tmp_path):
    pairs = [("a.csv", "a.count.csv"), ("b_size.csv", "b_count.csv"), ("p.size.csv", "p.count.csv")]
    for size, count in pairs:
        (tmp_path / count).write_text("0,2\n3,0\n")
        graph = text(tmp_path, "0,5\n0,0\n", size)
        # A pair with messages but no bytes is an arc, too.
        assert (graph.volumes.tolist(), graph.messages.tolist()) == ([5, 0], [2, 3])
        assert graph.meta["messages_from"] == str(tmp_path / count)
        assert text(tmp_path, "0,5\n0,0\n", size, counts="").messages is None
    assert read(tmp_path / "a.count.csv", "csv").messages is None
    (tmp_path / "a.count.csv").write_text("0,2,0\n3,0,0\n0,0,0\n")
    with pytest.raises(FormatError, match=mentions("a.count.csv", "3", "2")):
        read(tmp_path / "a.csv")


def test_the_shipped_example():
    graph = read("examples/lammps_lj_64.csv")
    assert (graph.n, graph.total_volume, int(graph.messages.sum())) == (64, 509_800_282, 147_528)


def test_matrix_market_kinds(tmp_path):
    head = "%%MatrixMarket matrix coordinate"
    graph = text(tmp_path, f"{head} pattern symmetric\n%c\n3 3 2\n2 1\n3 2\n", "a.mtx")
    assert (graph.undirected, graph.volumes, graph.targets.tolist()) == (True, None, [1, 0, 2, 1])
    graph = text(tmp_path, f"{head} real general\n2 2 2\n1 2 2.5\n2 1 1e3\n", "a.mtx")
    assert (graph.undirected, graph.scale, graph.volumes.tolist()) == (False, 10, [25, 10000])
    graph = text(tmp_path, f"{head} integer general\n2 2 1\n1 2 {2**62}\n", "a.mtx")
    assert graph.volumes.tolist() == [2**62]
    graph = text(tmp_path, "%%MatrixMarket matrix array integer general\n2 2\n0\n3\n4\n0\n", "a.mtx")
    assert (graph.sources().tolist(), graph.volumes.tolist()) == ([0, 1], [4, 3])


@st.composite
def matrix_market(draw):
    """Return a valid file of any supported kind with small numbers."""
    n, symmetric = draw(st.integers(1, 6)), draw(st.booleans())
    layout, field = draw(st.sampled_from(["coordinate", "array"])), draw(st.sampled_from(["integer", "real"]))
    number = st.integers(0, 99) if field == "integer" else st.integers(0, 99).map(lambda x: x / 4)
    places = [(i, j) for j in range(1, n + 1) for i in range(j if symmetric else 1, n + 1)]
    head = f"%%MatrixMarket matrix {layout} {field} {'symmetric' if symmetric else 'general'}\n% c\n{n} {n}"
    if layout == "array":
        return "\n".join([head, *(str(draw(number)) for _ in places)]) + "\n"
    chosen = draw(st.lists(st.sampled_from(places)))
    return "\n".join([f"{head} {len(chosen)}", *(f"{i} {j} {draw(number)}" for i, j in chosen)]) + "\n"


@QUICK
@given(matrix_market())
def test_matrix_market_means_what_scipy_says(tmp_path, content):
    scipy_io, sparse = pytest.importorskip("scipy.io"), pytest.importorskip("scipy.sparse")
    graph = text(tmp_path, content, "a.mtx")
    expected = sparse.coo_matrix(scipy_io.mmread(io.BytesIO(content.encode()))).toarray()
    volumes = graph.arc_volumes() / graph.scale
    found = sparse.csr_matrix((volumes, graph.targets, graph.indptr), (graph.n, graph.n)).toarray()
    assert np.array_equal(found, expected)
    assert graph.undirected == ("symmetric" in content)


# ---------------------------------------------------------------- finding the format


@pytest.mark.parametrize(
    ("content", "format"),
    [
        ("3 2\n2\n1 3\n2\n", "metis"),
        ("0 1 5\n1 2 7\n2 0 1\n3 0 1\n", "edges"),
        ("64\n0 1 5\n1 2 7\n", "edges"),
        ("0 1 2 3 4\n" * 5, "dense"),
        ("0,1,2\n" * 3, "csv"),
        ("%%MatrixMarket matrix coordinate pattern general\n2 2 1\n1 2\n", "mm"),
    ],
)
def test_content_tells_the_format(tmp_path, monkeypatch, content, format):
    (tmp_path / "nameless").write_text(content)
    if format == "csv":  # three columns with commas could also be an edge list
        with pytest.raises(FormatError, match="could be any of: csv, edges"):
            read(tmp_path / "nameless", holds="pattern")
        return
    assert read(tmp_path / "nameless", holds="pattern").meta["format"] == format
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(gzip.compress(content.encode()))))
    assert read("-", holds="pattern").meta["format"] == format


def test_unknown_names_get_the_nearest(tmp_path):
    (tmp_path / "a").write_text("prose, not numbers\n")
    with pytest.raises(UnsupportedError, match=mentions("'metis'")):
        read(tmp_path / "a", "mettis")
    with pytest.raises(FormatError, match="unknown format"):
        read(tmp_path / "a", holds="pattern")
    with pytest.raises(UnsupportedError, match="the suffix does not determine a pattern format"):
        write(CommGraph.from_edges([0], [1]), tmp_path / "a.doc")


# ---------------------------------------------------------------- convert


@QUICK
@given(graphs())
def test_symmetrized_weights_are_means_or_else_sums(graph):
    """Volumes and messages by themselves, without tasks' arcs to themselves; loads, scale and facts stay."""
    halved = [None if values is None else values >> 8 for values in (graph.volumes, graph.messages)]
    graph = CommGraph(graph.indptr, graph.targets, *halved, graph.loads, scale=10, meta={"a": 1})
    found, notices = symmetrized(graph)
    arcs = [graph.sources(), graph.targets, graph.arc_volumes(), graph.arc_messages()]
    src, dst, volumes, messages = (column[graph.sources() != graph.targets] for column in arcs)
    ends = np.concatenate([src, dst]), np.concatenate([dst, src])
    both = CommGraph.from_edges(*ends, np.tile(volumes, 2), np.tile(messages, 2), n=graph.n)
    assert (found.undirected, found.scale, found.meta) == (True, 10, {"a": 1})
    assert np.array_equal(found.targets, both.targets)
    assert np.array_equal(found.task_loads(), graph.task_loads())
    doubled = []
    for name, values, sums in (
        ("volumes", found.arc_volumes(), both.volumes), ("messages", found.messages, both.messages)
    ):
        if name == "messages" and graph.messages is None:
            assert values is None
            continue
        odd = bool(np.any(sums % 2))
        assert np.array_equal(values, sums if odd else sums // 2)
        doubled += [name] * odd
    assert [notice.split()[0] for notice in notices] == doubled
    assert (found.volumes is None) == (graph.volumes is None and bool(np.all(found.arc_volumes() == 1)))
    assert symmetrized(found) == (found, [])


def test_sums_of_both_directions_fit():
    for volume in (2**62 - 1, 2**62):
        graph = CommGraph.from_edges([0], [1], [volume])
        if volume < 2**62:
            assert symmetrized(graph)[0].volumes.tolist() == [volume] * 2
        else:
            with pytest.raises(ScaleError, match="divide them by 2"):
                symmetrized(graph)


def test_metis_wants_symmetry(tmp_path):
    graph = CommGraph.from_edges([0, 1], [1, 0], [5, 7])
    with pytest.raises(UnsupportedError, match="symmetrize=True"):
        write(graph, tmp_path / "a.graph")
    assert not (tmp_path / "a.graph").exists()
    write(graph, tmp_path / "a.pattern")
    assert convert(tmp_path / "a.pattern", tmp_path / "a.graph", symmetrize=True).notices == ()
    assert (tmp_path / "a.graph").read_text() == f"% {MARK}\n2 1 1\n2 6\n1 6\n"


def test_what_is_lost_is_said(tmp_path):
    graph = CommGraph.from_edges([0, 1, 0], [1, 0, 0], [5, 5, 1], [1, 1, 1], loads=[1, 2])
    assert [n.split(":")[0] for n in write(graph, tmp_path / "a.graph").notices] == [
        "message counts are lost", "1 arcs of tasks to themselves are left out"
    ]
    assert len(write(graph, tmp_path / "a.csv").notices) == 2
    assert len(write(graph, tmp_path / "a.edges").notices) == 1


def test_files_of_every_format_are_known_as_ours(tmp_path):
    graph = CommGraph.from_edges([0, 1], [1, 0], [5, 5])
    for name in PATTERNS:
        path = tmp_path / f"a-{name}"
        write(graph, path, name)
        write(graph, path, name)
        path.unlink()
        path.write_bytes(b"0 0\n0 0\n")
        with pytest.raises(UnsupportedError, match="does not say 'written by hopbytes'"):
            write(graph, path, name)


def test_a_ring_that_could_be_two_formats_is_not_guessed(tmp_path):
    """Every line of a METIS ring is a pair of numbers, as in an edge list."""
    path = tmp_path / "ring"
    path.write_text("4 4\n4 2\n1 3\n2 4\n3 1\n")
    with pytest.raises(FormatError, match="could be any of: edges, metis"):
        read(path, holds="pattern")
    assert read(path, "metis").n == 4
    path.write_text("4 2\n1 3\n2 4\n")  # two lines are not the neighbours of four tasks
    assert read(path, holds="pattern").n == 5


def test_archives_are_told_apart(tmp_path):
    graph = CommGraph.from_edges([0], [1], [3])
    for name in ("npz", "pattern"):
        write(graph, tmp_path / name, format=name)
        assert same(read(tmp_path / name), graph)
