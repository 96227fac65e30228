"""Real files from the developers' sample folder: read, written and read again without a change."""

import pytest

from helpers.paths import SHARED
from hopbytes.formats.exchange import read

SAMPLES = SHARED / "samples/maplib"
pytestmark = [
    pytest.mark.shared, pytest.mark.skipif(not SAMPLES.exists(), reason="no folder of developers' samples")
]  # fmt: skip


def test_maplib_pairs_and_topo_files():
    graph = read(SAMPLES / "cg_64_size.csv")
    assert graph.n == 64
    assert graph.messages is not None
    assert not graph.undirected
    topo = read(SHARED / "samples/graphs/npb_sp_D_1024.topo")
    assert (topo.n, topo.m) == (1024, 6144)


def test_matrices_of_open_mpi_have_no_header():
    for path in sorted(SHARED.glob("samples/ompi_monitoring/*size_all.mat")):
        assert read(path).n == 16
