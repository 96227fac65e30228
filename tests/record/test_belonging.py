"""Launcher, program and compiler wrapper of the same MPI: anything else is refused, not recorded."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from helpers.real_mpi import FAMILIES, compiled, mpi, script
from hopbytes.errors import UnsupportedError
from hopbytes.record.session import record

INTEL = Path(os.environ.get("HOPBYTES_TEST_INTEL_MPI", "/opt/hopbytes-intel-mpi")) / "bin/mpiexec.hydra"
OTHERS = [("openmpi 5", "mpich"), ("openmpi 4.1", "mpich"), ("mpich", "openmpi 5"), ("mpich", "openmpi 4.1")]
OPEN, MPICH = "Open MPI", "MPICH"
pytestmark = [pytest.mark.launcher, pytest.mark.usefixtures("mpi_folder")]


def makers(family, other):
    return (OPEN, MPICH) if family.startswith("openmpi") else (MPICH, OPEN)


@pytest.mark.parametrize(("family", "other"), OTHERS)
def test_a_launcher_of_another_mpi(family, other):
    """Both are named before anything is started; a launcher that would fit is named as well."""
    launch, _ = mpi(family)
    program = compiled(other)
    own, theirs = makers(family, other)
    said = rf"\./ring uses {theirs} \(/.*libmpi.*\), \S+ starts programs of {own}: "
    said += "each process would be alone, expected the launcher of its MPI such as mpi"
    with pytest.raises(UnsupportedError, match=said):
        record([*launch, program])


@pytest.mark.parametrize(("family", "other"), [("openmpi 4.1", "mpich"), ("mpich", "openmpi 4.1")])
def test_a_launcher_of_another_mpi_behind_a_script(family, other):
    """The interposer of the launcher's MPI finds the other one loaded, and ends the program with that."""
    launch, _ = mpi(family)
    wrapper = script(f"exec {compiled(other)}")
    own, theirs = makers(family, other)
    done = record([*launch, wrapper], collectives="ring", hosts=False)
    assert done.graph is None
    said = f"./wrapper.sh uses {theirs} (/"
    assert done.problem.startswith(said)
    assert f"starts programs of {own}: each process would be alone, expected the launcher" in done.problem
    assert not [name for name in os.listdir() if name.startswith(".hopbytes")]


def test_the_command_writes_nothing(tmp_path):
    launch, _ = mpi("openmpi 4.1")
    program = compiled("mpich")
    words = [sys.executable, "-m", "hopbytes", "record", "-o", "app.pattern", "--", *launch, program]
    done = subprocess.run(words, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=120)
    assert done.returncode == 1
    assert done.stderr.startswith("hopbytes: ./ring uses MPICH")
    assert sorted(os.listdir()) == ["ring", "ring.c"]


@pytest.mark.parametrize("family", FAMILIES)
def test_scripts_are_counted_by_the_launchers_own_mpi(family, monkeypatch, tmp_path):
    """Whatever mpicc is first in PATH."""
    launch, _ = mpi(family)
    wrapper = script(f"exec {compiled(family)}")
    other = "mpicc.openmpi" if family == "mpich" else "mpicc.mpich"
    if family == "mpich":
        launch[0] = "mpiexec.hydra"  # whose name does not say which compiler belongs to it
    if not shutil.which(other):
        pytest.skip("there is one MPI only")
    first = tmp_path / "bin"
    first.mkdir()
    (first / "mpicc").symlink_to(shutil.which(other))
    monkeypatch.setenv("PATH", f"{first}:{os.environ['PATH']}")
    done = record([*launch, wrapper], collectives="ring")
    assert done.graph is not None, done.problem
    assert (done.graph.n, done.graph.total_volume) == (4, 16)
    assert len(done.graph.meta["recorded"]["hosts"]) == 4


@pytest.mark.skipif(not INTEL.exists(), reason="Intel MPI is not installed")
def test_the_compiler_of_intel_mpi_is_missing():
    """Its package for running has none; that of another MPI would be loaded beside it."""
    wrapper = script("exit 0")
    compiled("mpich")
    with pytest.raises(UnsupportedError, match=r"its MPI is MPICH .* is the launcher of Intel MPI, expected"):
        record([str(INTEL), "-n", "2", wrapper])
    with pytest.raises(UnsupportedError, match="is the launcher of Intel MPI, expected the compiler"):
        record([str(INTEL), "-n", "2", wrapper], compiler=mpi("openmpi 4.1")[1])


def test_processes_that_do_not_hear_of_their_launcher():
    """Each is rank 0 of 1, and the first file is not overwritten by the others."""
    launch, _ = mpi("mpich")
    wrapper = script(f"unset PMI_FD PMI_RANK PMI_SIZE PMI_PORT PMI_ID\nexec {compiled('mpich')}")
    done = record([*launch, wrapper], hosts=False)
    assert done.graph is None
    assert done.problem.startswith("each of 4 processes was alone, rank 0 of 1: ./wrapper.sh uses MPICH")
    assert done.problem.endswith("expected a launcher that its MPI supports")


def test_what_was_assumed_is_said():
    """A program that loads no MPI by itself is no script."""
    launch, _ = mpi("openmpi 4.1")
    done = record([*launch, "true"], hosts=False)
    assert "true loads no MPI by itself: Open MPI was assumed" in done.problem
    done = record([*launch, script("exit 0")], hosts=False)
    assert "./wrapper.sh is a script: Open MPI was assumed" in done.problem
