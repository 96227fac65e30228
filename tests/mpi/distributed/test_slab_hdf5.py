"""Rows of HDF5 files read by range are those of the whole graph, whatever the number of processes."""

import sys

import numpy as np
import pytest

import hopbytes as hb
from helpers.slabs import whole
from helpers.together import together
from hopbytes.errors import FormatError, HopbytesError
from hopbytes.mpi import read_slab
from hopbytes.mpi.distributed.files import hdf5_rows

h5py = pytest.importorskip("h5py", reason="needs h5py")
BASE = hb.read("stencil:13x9:bytes=1")
GRAPH = hb.CommGraph(
    BASE.indptr, BASE.targets, (BASE.sources() + BASE.targets + 1).astype(np.int64),
    loads=np.arange(BASE.n) % 5, undirected=True,
)  # fmt: skip
METIS = {"xadj": GRAPH.indptr, "adjncy": GRAPH.targets, "adjwgt": GRAPH.volumes, "vwgt": GRAPH.loads}
SCIPY = {"indptr": GRAPH.indptr, "indices": GRAPH.targets, "data": GRAPH.volumes.astype(float)}


def store(path, arrays, group="/", **options):
    with h5py.File(path, "w") as file:
        place = file.require_group(group)
        for name, values in arrays.items():
            place.create_dataset(name, data=values, **options)
    return path


def read_by(size, name):
    return together(size, lambda comm: read_slab(comm, str(name)))


@pytest.mark.parametrize("size", [1, 2, 3, 8, 130])
@pytest.mark.parametrize(
    ("arrays", "group", "suffix", "name"),
    [(METIS, "/", "h5", ""), (METIS, "/mesh", "hdf5", ""), (SCIPY, "/a/b", "h5ad", ":a/b"),
     (SCIPY, "/matrix", "h5", ":/matrix")],
)  # fmt: skip
def test_rows_are_those_of_the_graph(tmp_path, size, arrays, group, suffix, name):
    path = store(tmp_path / f"a.{suffix}", arrays, group, compression="gzip", chunks=(17,))
    found = whole(read_by(size, f"{path}{name}"))
    assert found.indptr.tolist() == GRAPH.indptr.tolist()
    assert found.targets.tolist() == GRAPH.targets.tolist()
    assert found.arc_volumes().tolist() == GRAPH.volumes.tolist()
    assert found.task_loads().tolist() == (GRAPH.loads.tolist() if arrays is METIS else [1] * GRAPH.n)


def test_rows_are_divided_by_vertices_and_arcs(tmp_path):
    leaves = 999
    arrays = {"xadj": np.append(0, leaves + np.arange(leaves + 1)),
              "adjncy": np.append(np.arange(1, leaves + 1), np.zeros(leaves, int))}  # fmt: skip
    path = store(tmp_path / "star.h5", arrays)
    assert [slab.n for slab in read_by(3, path)] == [1, 499, 500]


WRONG = [
    ({"xadj": METIS["xadj"]}, "expected a dataset with one of the names adjncy"),
    ({"other": [1]}, "has other, expected"),
    ({"xadj": METIS["xadj"][:-1], "adjncy": METIS["adjncy"]}, "expected numbers from 0 to"),
    ({**METIS, "xadj": METIS["xadj"] + 1}, "expected numbers from 0 to"),
    ({**METIS, "xadj": np.concatenate([[0, 5, 3], METIS["xadj"][3:]])}, "descends between rows 0"),
    ({**METIS, "adjncy": METIS["adjncy"] + 1}, f"expected numbers from 0 to {GRAPH.n - 1}"),
    ({**METIS, "adjwgt": METIS["adjwgt"][1:]}, "adjwgt has"),
    ({**METIS, "adjwgt": METIS["adjwgt"] * 0.3}, "expected whole numbers"),
    ({**METIS, "adjncy": np.array([b"a"] * 9)}, "expected a list of integers"),
    ({**METIS, "vwgt": np.ones((GRAPH.n, 1))}, "expected a list of integers"),
]


@pytest.mark.parametrize(("arrays", "said"), WRONG)
def test_wrong_datasets_are_refused_on_all(tmp_path, arrays, said):
    path = store(tmp_path / "a.h5", arrays)

    def work(comm):
        with pytest.raises(HopbytesError) as caught:
            read_slab(comm, str(path))
        return str(caught.value)

    texts = set(together(2, work))
    assert len(texts) == 1
    assert said in texts.pop()


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
