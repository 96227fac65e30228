"""Real files from the developers' sample folder: read, written and read again without a change."""

from __future__ import annotations

import lzma

import numpy as np
import pytest

from helpers.paths import SHARED
from hopbytes.formats.exchange import read, write

GRAPHS = sorted(SHARED.glob("graphs/*.graph.xz"))
pytestmark = [pytest.mark.shared, pytest.mark.skipif(not GRAPHS, reason="no folder of developers' samples")]


@pytest.mark.parametrize("path", GRAPHS[::6], ids=lambda path: path.name)
def test_graphs_survive_a_round_trip(tmp_path, path):
    with lzma.open(path, "rt") as file:
        header = next(line for line in file if not line.startswith("%")).split()
    graph = read(path)
    assert [graph.n, graph.m // 2] == [int(number) for number in header[:2]]
    write(graph, tmp_path / "again.graph.gz")
    again = read(tmp_path / "again.graph.gz")
    for name in ("indptr", "targets", "volumes", "loads"):
        one, two = getattr(graph, name), getattr(again, name)
        assert (one is None and two is None) or np.array_equal(one, two)


def test_maplib_pairs_and_topo_files():
    graph = read(SHARED / "samples/maplib/cg_64_size.csv")
    assert graph.n == 64
    assert graph.messages is not None
    assert not graph.undirected
    topo = read(SHARED / "samples/graphs/npb_sp_D_1024.topo")
    assert (topo.n, topo.m) == (1024, 6144)


def test_matrices_of_open_mpi_have_no_header():
    for path in sorted(SHARED.glob("samples/ompi_monitoring/*size_all.mat")):
        assert read(path).n == 16
