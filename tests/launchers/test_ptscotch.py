"""First cuts by PT-Scotch under a real mpirun; needs libptscotch with 64-bit integers, and mpi4py."""

import numpy as np
import pytest
from test_distributed_program import ON, PROGRAM, complaints, mpirun, ranks

import hopbytes as hb
from helpers.real_mpi import HAS_MPI4PY, needs_mpi4py
from hopbytes.mpi.distributed.ptscotch import VARIABLE, missing_ptscotch

pytestmark = [pytest.mark.launcher, needs_mpi4py]
LACKING = missing_ptscotch() if HAS_MPI4PY else ""


@pytest.mark.skipif(bool(LACKING), reason=LACKING or "-")
@pytest.mark.parametrize(("size", "cutter"), [(2, "ptscotch"), (3, "both")])
def test_cuts_of_ptscotch_keep_bounds_and_come_again(tmp_path, size, cutter):
    graph = hb.read("stencil:120x110:bytes=1")
    words = [*PROGRAM, "map", "--distributed", "grid:120x110", *ON, "--preset", "turbo", "--cutter", cutter]
    found = []
    for name in ("a.npy", "b.npy"):
        done = mpirun(tmp_path, ranks(size, *words, "-o", name, "--json"))
        assert done.returncode == 0, done.stderr
        assert '"PT-Scotch"' in done.stdout
        found.append(np.load(tmp_path / name))
    assert found[0].tolist() == found[1].tolist()
    assert np.bincount(found[0], minlength=6).max() <= 1.03 * graph.n / 6 + 1
    alone = hb.map_tasks(graph, ON[1], "fast", partition=True, threads=1).comm_cost
    assert hb.evaluate(graph, hb.Mapping(found[0], hb.allocate(ON[1]))).comm_cost <= 1.2 * alone


def test_a_missing_library_is_named(tmp_path, monkeypatch):
    monkeypatch.setenv(VARIABLE, str(tmp_path / "libptscotch-9.so"))
    words = [*PROGRAM, "map", "--distributed", "grid:9x9", *ON, "--cutter", "ptscotch"]
    done = mpirun(tmp_path, ranks(2, *words))
    assert done.returncode == 1
    assert len(complaints(done)) == 1, done.stderr
    assert "PT-Scotch: " in complaints(done)[0]
    assert "install libptscotch-dev" in complaints(done)[0]
