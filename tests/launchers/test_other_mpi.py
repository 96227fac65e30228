"""Programs in Python whose mpi4py loads another MPI than the launcher's: said, not waited for."""

import shutil
import subprocess
import sys

import pytest

import hopbytes as hb
from hopbytes.errors import FormatError, HopbytesError
from hopbytes.launch.measure import measure
from hopbytes.launch.replay import replay

pytestmark = pytest.mark.launcher

WORDS = ["mpiexec.hydra", "-n", "4"]
ASKS = "import mpi4py; mpi4py.rc.initialize = False; from mpi4py import MPI; print(MPI.Get_library_version())"


@pytest.fixture(autouse=True)
def open_mpi_here(tmp_path, monkeypatch):
    if not shutil.which("mpiexec.hydra"):
        pytest.skip("no Hydra")
    monkeypatch.chdir(tmp_path)
    said = subprocess.run([sys.executable, "-c", ASKS], capture_output=True, text=True, timeout=60).stdout
    if "Open MPI" not in said:
        pytest.skip("mpi4py loads no Open MPI")


def test_replay(tmp_path):
    graph = hb.CommGraph.from_edges([0, 1, 2, 3], [1, 2, 3, 0], [9] * 4)
    said = r"mpiexec\.hydra: each process is alone under Open MPI v.*: does mpi4py load the launcher's MPI\?"
    with pytest.raises(HopbytesError, match=said):
        replay(graph, None, WORDS, python=sys.executable)
    assert list(tmp_path.iterdir()) == []


def test_measure():
    with pytest.raises(FormatError, match=r"rank 0 occurs twice, .*: is the program's MPI"):
        measure(WORDS, hb.allocate("core:4"))
