"""Rows read by range are those of the whole file, whatever the number of processes."""

import numpy as np
import pytest

import hopbytes as hb
from helpers.slabs import part_of, whole
from helpers.together import together
from hopbytes.errors import HopbytesError
from hopbytes.mpi import read_slab

SIZES = (1, 2, 3, 8)
TEXTS = {
    "plain": "4 3\n2\n1 3\n2 4\n3\n",
    "comments, tabs, no newline": "% a\n%b\n4 3\n2\n% c\n1\t3 \n2 4\r\n3",
    "weights and loads": "3 2 011\n7 2 5\n0 1 5 3 6\n2 2 6\n",
    "sizes, two loads": "3 2 111 2\n9 1 8 2 5\n9 2 8 1 5 3 6\n9 3 8 2 6\n",
    "vertices without neighbours": "5 1\n\n3\n2\n\n\n",
    "empty lines at the end": "2 1\n2\n1\n\n\n",
    "no edges": "3 0\n\n\n\n",
}


def read_by(size, path):
    return together(size, lambda comm: read_slab(comm, str(path)))


def same(slabs, graph):
    again = whole(slabs)
    assert again.n == graph.n
    assert again.indptr.tolist() == graph.indptr.tolist()
    assert again.targets.tolist() == graph.targets.tolist()
    assert again.arc_volumes().tolist() == graph.arc_volumes().tolist()
    assert again.task_loads().tolist() == graph.task_loads().tolist()


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", TEXTS)
def test_metis(tmp_path, name, size):
    path = tmp_path / "a.graph"
    path.write_bytes(TEXTS[name].encode())
    same(read_by(size, path), hb.read(path))


@pytest.mark.parametrize("suffix", ["graph", "parhip"])
def test_a_larger_file_in_pieces(tmp_path, suffix, monkeypatch):
    monkeypatch.setattr("hopbytes.mpi.distributed.files.TEXT_AT_ONCE", 500)
    rng = np.random.default_rng(1)
    base = hb.read("stencil:31x17:bytes=1")
    loads = rng.integers(0, 9, base.n)
    volumes = (base.sources() + base.targets + 1).astype(np.int64)
    for graph in (base, hb.CommGraph(base.indptr, base.targets, volumes, loads=loads, undirected=True)):
        path = tmp_path / f"a.{suffix}"
        hb.write(graph, path, force=True)
        for size in SIZES:
            same(read_by(size, path), hb.read(path))


def test_rows_of_binary_files_are_divided_by_arcs(tmp_path):
    n = 1000
    leaves = np.arange(1, n)
    zero = np.zeros(n - 1, np.int64)
    path = tmp_path / "star.parhip"
    star = hb.CommGraph.from_edges(np.append(zero, leaves), np.append(leaves, zero), n=n)
    hb.write(star, path, symmetrize=True)
    assert [slab.n for slab in read_by(3, path)] == [1, 499, 500]


WRONG = {
    "4 3\n2\n1 3\n2 4\n": "the file ends after 3 vertices, expected 4",
    "2 1\n2\n1\n1\n": "more than 2 lines",
    "2 1\n2\nx1\n": "expected whole numbers",
    "2 1\n3\n1\n": "vertex 1: 3, expected neighbours from 1 to 2",
    "2 1\n2\n0\n": "vertex 2: 0, expected neighbours",
    "2 1 001\n2 1\n1 0\n": "vertex 2: 0, expected weights above 0",
    "2 1 001\n2 1\n1 1 2\n": "expected 0 and then pairs",
    "3 2\n2\n1\n\n": "2 neighbours, expected 4 for 2 edges",
    "2 1\n2\n99999999999999999999\n": "more than 18 digits",
    "2 x\n": "a header",
    "": "",
}


@pytest.mark.parametrize("text", WRONG)
def test_a_malformed_file_is_refused_on_all(tmp_path, text):
    path = tmp_path / "a.graph"
    path.write_text(text)
    refused(path, WRONG[text], hb.errors.HopbytesError)


def refused(path, said, kind=HopbytesError):
    def work(comm):
        with pytest.raises(kind) as caught:
            read_slab(comm, str(path))
        return str(caught.value)

    texts = together(3, work)
    assert len(set(texts)) == 1
    assert said in texts[0]


def test_other_files_are_refused(tmp_path):
    hb.write(hb.read("stencil:9x9"), tmp_path / "a.parhip")
    data = (tmp_path / "a.parhip").read_bytes()
    (tmp_path / "cut.parhip").write_bytes(data[:-9])
    refused(tmp_path / "cut.parhip", "is the file complete?")
    (tmp_path / "head.parhip").write_bytes(data[:9])
    refused(tmp_path / "head.parhip", "expected a header")
    offsets = bytearray(data)
    offsets[24 + 8 * 5 : 24 + 8 * 6] = (10**6).to_bytes(8, "little")
    (tmp_path / "wild.parhip").write_bytes(offsets)
    refused(tmp_path / "wild.parhip", "offset")
    hb.write(hb.read("stencil:9x9"), tmp_path / "a.graph.gz")
    refused(tmp_path / "a.graph.gz", "compressed")
    refused(tmp_path / "nowhere.graph", "No such file")
    (tmp_path / "a.txt").write_text("hello\n")
    refused(tmp_path / "a.txt", "expected a METIS or ParHIP graph")


@pytest.mark.parametrize("spec", ["grid:7x11", "grid:4x3x5", "grid:1x1", "geometric:500", "geometric:1"])
def test_generators_make_the_same_graph_for_any_number_of_processes(spec):
    one = whole(read_by(1, spec))
    for size in SIZES[1:]:
        same(read_by(size, spec), one)
    assert np.array_equal(one.to_scipy().toarray(), one.to_scipy().toarray().T)
    if spec.startswith("grid:7"):
        assert one.targets.tolist() == hb.read("stencil:7x11").targets.tolist()
    if spec == "geometric:500":
        assert 4 < one.m / one.n < 10


@pytest.mark.parametrize("spec", ["grid:7", "grid:0x4", "grid:ax4", "geometric:3x3", "geometric:"])
def test_wrong_generators(spec):
    refused(spec, "expected grid:AxB")


def test_slabs_of_a_graph():
    graph = hb.read("stencil:5x4")
    assert [part_of(graph, rank, 3).n for rank in range(3)] == [6, 7, 7]
