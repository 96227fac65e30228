"""Graphs on disk in blocks: the same graph as when it is read at once; one-line errors for damaged files."""

import gzip
import lzma

import numpy as np
import pytest

import hopbytes as hb
from helpers.paths import file_with
from hopbytes.errors import FormatError, HopbytesError, UnsupportedError
from hopbytes.formats import parsing
from hopbytes.formats import streaming as streams
from hopbytes.formats.streaming import open_graph


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    """Blocks of few arcs and vertices, so that small graphs have many, and rows longer than a block."""
    monkeypatch.setattr(streams, "BLOCK_ARCS", 16)
    monkeypatch.setattr(streams, "BLOCK_ROWS", 5)
    monkeypatch.setattr(parsing, "PIECE_BYTES", 64)


def graph_of(seed, *, weighted, loaded, n=40):
    """A random symmetric graph with a hub and vertices without neighbours."""
    rng = np.random.default_rng(seed)
    a, b = rng.integers(0, n - 3, 3 * n), rng.integers(0, n - 3, 3 * n)
    a[:n] = 7
    keep = a != b
    a, b = a[keep], b[keep]
    w = rng.integers(1, 100, len(a)) if weighted else np.ones(len(a), np.int64)
    graph = hb.CommGraph.from_edges(
        np.concatenate([a, b]), np.concatenate([b, a]), np.concatenate([w, w]), n=n, undirected=True,
        loads=rng.integers(0, 9, n) if loaded else None,
    )
    if weighted:
        return graph
    return hb.CommGraph(graph.indptr, graph.targets, None, loads=graph.loads, undirected=True)


def gathered(path):
    """Return the graph that a stream yields, and its number of blocks."""
    with open_graph(path) as stream:
        blocks = [
            (b.first, b.indptr.copy(), b.targets.copy(), None if b.weights is None else b.weights.copy(),
             None if b.loads is None else b.loads.copy())
            for b in stream.blocks()
        ]
        loads = stream.loads()
    assert [b[0] for b in blocks] == np.cumsum([0, *(len(b[1]) - 1 for b in blocks)])[:-1].tolist()
    degrees = np.concatenate([np.diff(b[1]) for b in blocks])
    targets = np.concatenate([b[2] for b in blocks])
    weights = None if blocks[0][3] is None else np.concatenate([b[3] for b in blocks])
    if loads is not None and blocks[0][4] is not None:
        assert np.array_equal(loads, np.concatenate([b[4] for b in blocks]))
    return stream, np.concatenate([[0], np.cumsum(degrees)]), targets, weights, loads, len(blocks)


def same(one, other):
    return (one is None) == (other is None) and (one is None or np.array_equal(one, other))


@pytest.mark.parametrize("suffix", ["graph", "parhip", "graph.gz", "parhip.xz", "bgf"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("loaded", [False, True])
def test_a_stream_yields_what_the_reader_reads(tmp_path, suffix, weighted, loaded):
    graph = graph_of(3, weighted=weighted, loaded=loaded)
    plain = tmp_path / f"g.{suffix.split('.')[0]}"
    hb.write(graph, plain, "metis" if suffix.startswith("graph") else "parhip")
    path = tmp_path / f"g.{suffix}"
    if suffix.endswith(("gz", "xz")):
        path.write_bytes((gzip if suffix.endswith("gz") else lzma).compress(plain.read_bytes()))
    whole = hb.read(path)
    stream, indptr, targets, weights, loads, blocks = gathered(path)
    assert (stream.n, stream.arcs, stream.weighted, stream.loaded) == (40, graph.m, weighted, loaded)
    assert blocks > 3
    for source in (graph, whole):
        assert same(indptr, source.indptr)
        assert same(targets, source.targets)
        assert same(weights, source.volumes)
        assert same(loads, source.loads)


@pytest.mark.parametrize("columns", [2, 3, 4])
@pytest.mark.parametrize("run_arcs", [8, 40, 10_000])
@pytest.mark.parametrize("first_line", [False, True])
def test_an_edge_list_in_any_order_becomes_the_symmetric_graph(tmp_path, columns, run_arcs, first_line):
    rng, n = np.random.default_rng(columns), 30
    table = rng.integers(0, n - 1, (120, 4))
    table[:40, 0] = 5
    lines = [" ".join(map(str, row[:columns])) for row in table.tolist()]
    path = tmp_path / "g.edges"
    path.write_text("# arcs\n" + (f"{n}\n" if first_line else "") + "\n".join(lines) + "\n")
    folder = tmp_path / "sorted"
    folder.mkdir()
    stream = streams.sort_edges(str(path), 10**6, str(folder), run_arcs)
    whole = hb.read(path).symmetric()
    assert stream.doubled
    assert sorted(path.name for path in folder.iterdir()) == ["offsets", "targets", "weights"]
    assert stream.n == whole.n
    blocks = list(stream.blocks())
    assert np.array_equal(np.concatenate([b.targets for b in blocks]), whole.targets)
    assert np.array_equal(np.concatenate([b.weights for b in blocks]), whole.weights)
    assert np.array_equal(np.concatenate([np.diff(b.indptr) for b in blocks]), np.diff(whole.indptr))


@pytest.mark.parametrize(("text", "line"), [
    ("3 2\n2\n1 3\n", 1),  # the last vertex has no line: one without neighbours
    ("3 2\n2      \n", 3),  # two vertices are missing
    ("3 2\n2\n1 3\n2\n4\n", 5),
    ("3 2\n2\n1 9\n2\n", 3),
    ("3 2\n2\n1 x\n2\n", 3),
    ("3 2\n2\n1 2\n2\n", 3),
    ("3 3\n2\n1 3\n2\n", 1),
    ("3 1\n2\n1 3\n2\n", 1),
    ("3 2 1\n2 5\n1 5 3\n2 1\n", 3),
])  # fmt: skip
def test_a_malformed_metis_file_is_an_error_with_its_line(tmp_path, text, line):
    path = file_with(tmp_path / "bad.graph", text)
    with pytest.raises(FormatError) as error, open_graph(path) as stream:
        list(stream.blocks())
    assert str(error.value).startswith(f"{path}:{line}: ")


@pytest.mark.parametrize("line", [2, 4, 9])
@pytest.mark.parametrize("content", ["1", "1 2 3", "a b", "1 -2", "1.5 2"])
def test_a_malformed_edge_list_is_an_error_with_its_line(tmp_path, line, content):
    lines = [f"{i} {i + 1}" for i in range(10)]
    lines[line - 1] = content
    path = file_with(tmp_path / "bad.edges", "\n".join(lines) + "\n")
    with pytest.raises(HopbytesError) as error, open_graph(path, "edges"):
        pass
    assert f"{path}:{line}: " in str(error.value)


def test_every_truncation_of_a_parhip_file_is_an_error(tmp_path):
    plain = tmp_path / "g.parhip"
    hb.write(graph_of(1, weighted=True, loaded=True), plain)
    content = plain.read_bytes()
    for cut in [*range(1, 64), *range(64, len(content), 97), len(content) - 1]:
        for name, text in (("cut.parhip", content[:cut]), ("cut.parhip.gz", gzip.compress(content[:cut]))):
            path = file_with(tmp_path / name, text)
            with pytest.raises(FormatError) as error, open_graph(path, "parhip") as stream:
                [stream.loads(), *stream.blocks()]
            assert str(error.value).startswith(f"{path}: ")
            with pytest.raises(FormatError):
                hb.read(path, "parhip")


@pytest.mark.parametrize(
    ("word", "value"), [(0, 64), (1, 2**40), (2, 10), (3, 0), (5, 1), (8, 2**50), (43, 0)]
)
def test_a_damaged_parhip_header_or_offset_is_an_error(tmp_path, word, value):
    path = tmp_path / "g.parhip"
    hb.write(graph_of(1, weighted=False, loaded=False), path)
    words = np.frombuffer(path.read_bytes()[: 8 * 44], "<u8").copy()
    words[word] = value
    path.write_bytes(words.tobytes() + path.read_bytes()[8 * 44 :])
    with pytest.raises(FormatError), open_graph(path, "parhip") as stream:
        list(stream.blocks())
    with pytest.raises(FormatError):
        hb.read(path, "parhip")


def test_what_cannot_be_streamed_is_refused_with_a_way_out(tmp_path):
    path = tmp_path / "g.npz"
    hb.write(graph_of(1, weighted=False, loaded=False), path)
    with pytest.raises(UnsupportedError, match="hopbytes write"), open_graph(path):
        pass
    with pytest.raises(UnsupportedError, match="standard input"), open_graph("-"):
        pass
    with pytest.raises(FormatError), open_graph(tmp_path / "missing.graph"):
        pass
    with pytest.raises(FormatError, match="did you mean stencil"), open_graph("stencl:4x4"):
        pass


def test_an_edge_list_numbered_from_1_says_so(tmp_path):
    for first, said in ((0, False), (1, True)):
        path = tmp_path / f"ring{first}.edges"
        path.write_text("".join(f"{first + i} {first + (i + 1) % 8} 5\n" for i in range(8)))
        with open_graph(path) as stream:
            assert any("task 0" in notice for notice in stream.notices) is said
