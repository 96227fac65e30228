"""Rows read by range are those of the whole file, whatever the number of processes."""

import sys
from dataclasses import replace

import numpy as np
import pytest

import hopbytes as hb
from helpers.slabs import part_of, whole
from helpers.together import together
from hopbytes.errors import FormatError, HopbytesError
from hopbytes.mpi import (
    DistributedMapping,
    evaluate_distributed,
    read_distributed,
    read_slab,
    write_distributed,
)
from hopbytes.mpi.distributed.files import hdf5_rows

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


@pytest.mark.parametrize("suffix", ["parhip", "h5"])
def test_rows_of_binary_files_are_divided_by_vertices_and_arcs(tmp_path, suffix):
    leaves, zero, path = np.arange(1, 1000), np.zeros(999, np.int64), tmp_path / f"star.{suffix}"
    star = hb.CommGraph.from_edges(np.append(zero, leaves), np.append(leaves, zero), n=1000)
    if suffix == "h5":
        store(path, {"xadj": star.indptr, "adjncy": star.targets})
    else:
        hb.write(star, path, symmetrize=True)
    assert [slab.n for slab in read_by(3, path)] == [1, 499, 500]


WRONG = {
    "4 3\n2\n1 3\n2 4\n": "the file ends after 3 vertices, expected 4",
    "2 1\n2\n1\n1\n": ":4: more lines than vertices",
    "2 1\n2\nx1\n": ":3: 'x1', expected a number",
    "% c\n2 1\n% c\n3\n1\n": ":4: task 3, expected a neighbour from 1 to 2",
    "2 1\n2\n0\n": ":3: task 0, expected a neighbour",
    "2 1\n2\n2\n": ":3: vertex 2 is its own neighbour",
    "2 1 001\n2 1\n1 0\n": "vertex 2: 0, expected weights above 0",
    "2 1 001\n2 1\n1 1 1\n": ":3:",
    "3 2\n2\n1\n\n": ":1: 1 edges, expected 2 edges",
    "2 1\n2\n99999999999999999999\n": ":3: 99999999999999999999 is more than",
    "2 x\n": "a header",
    "": "",
}


@pytest.mark.parametrize("text", WRONG)
def test_a_malformed_file_is_refused_on_all(tmp_path, text):
    """By the line and with the words of the reader of whole files."""
    path = tmp_path / "a.graph"
    path.write_text(text)
    refused(path, WRONG[text])


def refused(path, said):
    def work(comm):
        with pytest.raises(HopbytesError) as caught:
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


BASE = hb.read("stencil:13x9:bytes=1")
GRAPH = hb.CommGraph(
    BASE.indptr, BASE.targets, (BASE.sources() + BASE.targets + 1).astype(np.int64),
    loads=np.arange(BASE.n) % 5, undirected=True,
)  # fmt: skip
METIS = {"xadj": GRAPH.indptr, "adjncy": GRAPH.targets, "adjwgt": GRAPH.volumes, "vwgt": GRAPH.loads}
SCIPY = {"indptr": GRAPH.indptr, "indices": GRAPH.targets, "data": GRAPH.volumes.astype(float)}


def store(path, arrays, group="/", **options):
    h5py = pytest.importorskip("h5py", reason="needs h5py")
    with h5py.File(path, "w") as file:
        place = file.require_group(group)
        for name, values in arrays.items():
            place.create_dataset(name, data=values, **options)
    return path


@pytest.mark.parametrize("size", [1, 2, 3, 8, 130])
@pytest.mark.parametrize(
    ("arrays", "group", "suffix", "name"),
    [(METIS, "/", "h5", ""), (METIS, "/mesh", "hdf5", ""), (SCIPY, "/a/b", "h5ad", ":a/b"),
     (SCIPY, "/matrix", "h5", ":/matrix")],
)  # fmt: skip
def test_rows_are_those_of_the_graph(tmp_path, size, arrays, group, suffix, name):
    path = store(tmp_path / f"a.{suffix}", arrays, group, compression="gzip", chunks=(17,))
    loads = GRAPH.loads if arrays is METIS else np.ones(GRAPH.n, np.int64)
    same(read_by(size, f"{path}{name}"), replace(GRAPH, loads=loads))


WRONG_DATASETS = [
    ({"xadj": METIS["xadj"]}, "expected a dataset with one of the names adjncy"),
    ({"other": [1]}, "has other, expected"),
    ({"xadj": METIS["xadj"][:-1], "adjncy": METIS["adjncy"]}, "expected numbers from 0 to"),
    ({**METIS, "xadj": METIS["xadj"] + 1}, "expected numbers from 0 to"),
    ({**METIS, "xadj": np.concatenate([[0, 5, 3], METIS["xadj"][3:]])}, "is below that of vertex 1"),
    ({**METIS, "adjncy": METIS["adjncy"] + 1}, f"expected numbers from 0 to {GRAPH.n - 1}"),
    ({**METIS, "adjwgt": METIS["adjwgt"][1:]}, "adjwgt has"),
    ({**METIS, "adjwgt": METIS["adjwgt"] * 0.3}, "expected whole numbers"),
    ({**METIS, "adjncy": np.array([b"a"] * 9)}, "expected a list of integers"),
    ({**METIS, "vwgt": np.ones((GRAPH.n, 1))}, "expected a list of integers"),
]


@pytest.mark.parametrize(("arrays", "said"), WRONG_DATASETS)
def test_wrong_datasets_are_refused_on_all(tmp_path, arrays, said):
    refused(store(tmp_path / "a.h5", arrays), said)


def test_damaged_and_missing_files(tmp_path):
    path = store(tmp_path / "a.h5", METIS)
    data = path.read_bytes()
    for name, content in (("cut", data[:3000]), ("text", b"hello\n"), ("empty", b"")):
        (tmp_path / f"{name}.h5").write_bytes(content)
        with pytest.raises(FormatError, match=name):
            hdf5_rows(str(tmp_path / f"{name}.h5"), 0, 1)
    with pytest.raises(FormatError, match="no group 'none', expected one of adjncy"):
        hdf5_rows(f"{path}:none", 0, 1)
    with pytest.raises(HopbytesError, match="No such file"):
        read_by(2, tmp_path / "missing.h5")


def test_without_h5py(tmp_path, monkeypatch):
    path = store(tmp_path / "a.h5", METIS)
    monkeypatch.setitem(sys.modules, "h5py", None)
    with pytest.raises(HopbytesError, match=r"HDF5 needs h5py \(pip install h5py\)"):
        read_by(2, path)


WHERE = hb.allocate("node:2@10 core:3@1")
SMALL = hb.read("stencil:9x7:bytes=4")
PE = (np.arange(63) * 6 // 63).astype(np.int32)


def written(size, path, **options):
    def work(comm):
        rank = comm.Get_rank()
        own = PE[63 * rank // size : 63 * (rank + 1) // size]
        mapping = DistributedMapping(own, 63 * rank // size, 63, WHERE, {})
        write_distributed(comm, mapping, str(path), **options)

    together(size, work)


def pes_by(size, path, n=63):
    parts = together(
        size, lambda comm: read_distributed(
            comm, str(path), n * (comm.Get_rank() + 1) // size - n * comm.Get_rank() // size
        )
    )
    return np.concatenate(parts).tolist()


@pytest.mark.parametrize("size", [1, 3, 8, 70])
@pytest.mark.parametrize("name", ["a.txt", "a.npy"])
def test_round_trip(tmp_path, size, name, monkeypatch):
    monkeypatch.setattr("hopbytes.mpi.distributed.files.LINES_AT_ONCE", 5)
    path = tmp_path / name
    written(size, path)
    assert [each.name for each in tmp_path.iterdir()] == [name]
    found = np.load(path) if name == "a.npy" else hb.read(path, "plain", holds="mapping")
    assert np.asarray(found).tolist() == PE.tolist()
    for other in (1, 4, 70):
        assert pes_by(other, path) == PE.tolist()


def test_an_old_file_stays(tmp_path, monkeypatch):
    path = tmp_path / "a.txt"
    path.write_text("mine\n")
    with pytest.raises(HopbytesError, match="exists"):
        written(3, path)
    monkeypatch.setattr("hopbytes.mpi.distributed.files._write_at", full)
    with pytest.raises(HopbytesError, match="No space left"):
        written(3, path, force=True)
    assert path.read_text() == "mine\n"
    assert [each.name for each in tmp_path.iterdir()] == ["a.txt"]
    monkeypatch.undo()
    written(3, path, force=True)
    assert len(path.read_text().splitlines()) == 63
    with pytest.raises(HopbytesError, match="missing"):
        written(2, tmp_path / "no" / "a.txt")


def full(path, at, pieces):
    if at:
        raise OSError(28, "No space left on device", path)


@pytest.mark.parametrize(
    ("content", "said"),
    [(b"1\n2\n", "2 lines with a PE, expected 63"), (b"1\nx\n", "expected the number of a PE"),
     (b"2147483648\n" * 63, "expected numbers from 0"), (b"\x93NUMPY\x01\x00v\x00{}", "the file ends")],
)  # fmt: skip
def test_a_malformed_mapping(tmp_path, content, said):
    path = tmp_path / "a.txt"
    path.write_bytes(content)
    with pytest.raises(HopbytesError, match=said):
        pes_by(3, path)


def test_arrays_of_other_kinds(tmp_path):
    for number, array in enumerate((PE.astype(np.int64), PE[:-1], PE.reshape(9, 7))):
        path = tmp_path / f"{number}.npy"
        np.save(path, array)
        with pytest.raises(HopbytesError, match="expected"):
            pes_by(2, path)


@pytest.mark.parametrize("size", [1, 2, 5])
def test_evaluation_is_that_of_the_whole_graph(size):
    expected = hb.evaluate(SMALL, hb.Mapping(PE, WHERE))

    def work(comm):
        rank = comm.Get_rank()
        own = PE[63 * rank // size : 63 * (rank + 1) // size]
        return evaluate_distributed(comm, part_of(SMALL, rank, size), own, WHERE)

    for found in together(size, work):
        assert found["comm_cost"] == expected.comm_cost
        apart = PE[SMALL.sources()] != PE[SMALL.targets]
        assert (found["cut"], found["volume"]) == (4 * int(apart.sum()), SMALL.total_volume)
        volumes = found["volume_by_distance"].items()
        assert sum(int(distance) * volume for distance, volume in volumes) == found["comm_cost"]
        assert (found["empty"], found["largest_load"]) == (0, 11)


def test_evaluation_refuses_what_is_no_mapping():
    def work(comm):
        rank = comm.Get_rank()
        own = PE[63 * rank // 2 : 63 * (rank + 1) // 2]
        with pytest.raises(HopbytesError) as caught:
            evaluate_distributed(comm, part_of(SMALL, rank, 2), np.maximum(own, 6 * rank), WHERE)
        with pytest.raises(HopbytesError):
            evaluate_distributed(comm, part_of(SMALL, rank, 2), own[rank:], WHERE)
        return str(caught.value)

    assert together(2, work) == ["rank 1: a PE outside 0..5"] * 2
