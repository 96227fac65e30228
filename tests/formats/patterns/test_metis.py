"""Scotch graphs, compared with METIS files of the same graph; what METIS files cannot hold."""

import shutil
import subprocess

import numpy as np
import pytest

import hopbytes as hb
from helpers.errors import mentions

#: The path 0 - 1 - 2 with loads 4, 5, 6 and edge loads 7, 9 in the forms that the flags say.
FORMS = {
    "0\n3\t4\n0\t000\n1\t1\n2\t0\t2\n1\t1\n": (None, None),
    "0\n3 4\n1 000\n1 2\n2 1 3\n1 2\n": (None, None),
    "0\n3 4\n0 011\n4 1 7 1\n5 2 7 0 9 2\n6 1 9 1\n": ([7, 7, 9, 9], [4, 5, 6]),
    "0\n3 4\n0 10\n1 7 1\n2 7 0 9 2\n1 9 1\n": ([7, 7, 9, 9], None),
    "0\n3 4\n0 101\n20 4 1 7\n7 5 2 20 3\n3 6 1 7\n": (None, [4, 5, 6]),
}


@pytest.mark.parametrize("text", FORMS)
@pytest.mark.parametrize("name", ["a.grf", "a.src", "a.txt"])
def test_forms(tmp_path, text, name):
    (tmp_path / name).write_text(text)
    graph = hb.read(tmp_path / name)
    volumes, loads = FORMS[text]
    assert graph.undirected
    assert (graph.indptr.tolist(), graph.targets.tolist()) == ([0, 1, 3, 4], [1, 0, 2, 1])
    assert (graph.volumes is None, graph.loads is None) == (volumes is None, loads is None)
    assert graph.arc_volumes().tolist() == (volumes or [1] * 4)
    assert graph.task_loads().tolist() == (loads or [1] * 3)


@pytest.mark.parametrize(("text", "facts"), [
    ("2\n3 4\n0 000\n", ("a.grf:1", "dggath")),
    ("0\n3\n0 000\n", ("a.grf:2", "vertices")),
    ("0\n3 4\n0 002\n", ("a.grf:3", "flags")),
    ("0\n3 4\n0 000\n1 1\n2 0 x2\n1 1\n", ("a.grf:5", "x2")),
    ("0\n3 4\n0 000\n1 1\n2 0 -2\n1 1\n", ("a.grf:5", "-2")),
    ("0\n3 4\n0 000\n1 1\n2 0 2\n", ("ends after 2 vertices",)),
    ("0\n3 4\n0 000\n1 1\n2 0 2\n1 1\n8\n", ("a.grf:2", "expected 4")),
    ("0\n3 6\n0 000\n1 1\n2 0 2\n1 1\n", ("a.grf:2", "4 arcs", "6")),
    ("0\n3 4\n0 000\n1 1\n2 0 3\n1 1\n", ("neighbour 3",)),
    ("0\n3 4\n0 000\n1 1\n2 0 2\n1 0\n", ("other direction",)),
    ("0\n2 2\n0 100\n5 1 5\n5 1 5\n", ("label 5",)),
    ("0\n9000000000 4\n0 000\n", ("a.grf:2", "9000000000")),
    ("0\n3 4\n0 000\n", ("a.grf:2", "3 vertices")),
    ("0\n3 4\n0 000\n999999999999999999 1 1\n", ("ends after",)),
])  # fmt: skip
def test_damaged(tmp_path, text, facts):
    (tmp_path / "a.grf").write_text(text)
    with pytest.raises(hb.FormatError, match=mentions(*facts)):
        hb.read(tmp_path / "a.grf")


def test_numbers_beyond_63_bits(tmp_path):
    (tmp_path / "a.grf").write_text("0\n2 2\n0 010\n1 99999999999999999999 1\n1 1 0\n")
    with pytest.raises(hb.ScaleError, match="grf:4"):
        hb.read(tmp_path / "a.grf")


def test_the_empty_graph(tmp_path):
    (tmp_path / "a.grf").write_text("0\n0 0\n0 000\n")
    assert hb.read(tmp_path / "a.grf").n == 0


def test_metis_weights_are_above_0(tmp_path):
    graph = hb.CommGraph.from_edges([0, 1, 1, 2, 2], [1, 0, 2, 1, 2], [0, 0, 5, 5, 3])
    notices = hb.write(graph, tmp_path / "a.graph").notices
    assert any("arcs without volume are left out" in notice for notice in notices)
    assert any("1 arcs of tasks to themselves are left out" in notice for notice in notices)
    assert (tmp_path / "a.graph").read_text().splitlines()[1:] == ["3 1 1", "", "3 5", "2 5"]


@pytest.mark.skipif(shutil.which("gcv") is None, reason="gcv of Scotch is not installed")
def test_as_scotch_reads_it(tmp_path):
    rng = np.random.default_rng(5)
    lines = [f"{i} {(i * 7 + 3) % 40} {v}" for i, v in enumerate(rng.integers(1, 99, 40))]
    graph = hb.CommGraph.from_edges(*np.array([line.split() for line in lines], int).T, undirected=True)
    hb.write(graph, tmp_path / "a.mtx")
    subprocess.run(["gcv", "-im", "-os", "a.mtx", "a.grf"], cwd=tmp_path, check=True, capture_output=True)
    subprocess.run(["gcv", "-is", "-oc", "a.grf", "a.graph"], cwd=tmp_path, check=True, capture_output=True)
    ours, theirs = hb.read(tmp_path / "a.grf"), hb.read(tmp_path / "a.graph")
    assert np.array_equal(ours.targets, theirs.targets)
    assert np.array_equal(ours.indptr, theirs.indptr)
