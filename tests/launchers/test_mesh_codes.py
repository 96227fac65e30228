"""PETSc and dolfinx with hopbytes as their partitioner; needs Debian's packages for Debian's own Python."""

import importlib
import os
import re
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path

import pytest

from helpers.paths import ROOT
from helpers.real_mpi import RUN_AS_ROOT

SYSTEM = "/usr/bin/python3"
MPIRUN = shutil.which("mpirun.openmpi")
pytestmark = pytest.mark.launcher


@cache
def folder_of_hopbytes():
    """Return a folder with this hopbytes alone: beside an installed one lie other versions of NumPy."""
    folder = tempfile.TemporaryDirectory()
    package = Path(folder.name) / "hopbytes"
    package.mkdir()
    core = Path(importlib.import_module("hopbytes._core").__file__)
    for part in [*(ROOT / "src" / "hopbytes").iterdir(), core]:
        if part.name != "__pycache__" and not (package / part.name).exists():
            (package / part.name).symlink_to(part)
    return folder


def environment():
    """Return an environment in which Debian's Python finds this hopbytes and nothing of the tests'."""
    outer = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL"))}
    return {**outer, **RUN_AS_ROOT, "PYTHONPATH": folder_of_hopbytes().name}


@cache
def missing(package):
    """Return why programs that use a package cannot be run here, or ""."""
    if MPIRUN is None or not os.path.exists(SYSTEM):
        return "needs mpirun.openmpi and /usr/bin/python3"
    words = [SYSTEM, "-c", f"import {package}, mpi4py, hopbytes._core"]
    done = subprocess.run(words, env=environment(), capture_output=True, text=True, timeout=60)
    if done.returncode:
        return f"{SYSTEM} lacks {package} or cannot load hopbytes: {done.stderr.splitlines()[-1:]}"
    return ""


def output_of(example, package, processes, *options):
    if missing(package):
        pytest.skip(missing(package))
    launcher = [MPIRUN, "-n", str(processes), "--oversubscribe", "--bind-to", "none"]
    done = subprocess.run(
        [*launcher, SYSTEM, str(ROOT / example), *options], env=environment(), capture_output=True,
        text=True, timeout=120, check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize(("processes", "machine"), [(3, None), (4, "node:2@10 core:2@1")])
def test_petsc_solves_the_same_on_parts_of_hopbytes(processes, machine):
    options = () if machine is None else ("--machine", machine)
    said = output_of("examples/petsc_parts.py", "petsc4py", processes, "--side", "12", *options)
    norms = re.findall(r"norm (\S+),", said)
    far, near = (
        [int(count) for count in re.findall(rf"(\d+) {what}", said)]
        for what in ("entries between nodes", "inside")
    )
    assert len(norms) == 2
    assert norms[0] == norms[1]
    assert (far[1] > 0) == (machine is not None)
    assert near[1] > 0
    assert far[1] <= 2 * 12 * 12 * 1.3  # one cut through the cube, in both directions
    counts = [int(word) for word in re.findall(r"\[(.*)\]", said)[0].split(",")]
    assert sum(counts) == 12**3
    assert max(counts) <= -(-(12**3) // processes) * 1.03


@pytest.mark.parametrize(("processes", "machine"), [(1, None), (4, "node:2@10 core:2@1")])
def test_dolfinx_distributes_a_mesh_as_hopbytes_says(processes, machine):
    options = () if machine is None else ("--machine", machine)
    said = output_of("examples/dolfinx_mesh.py", "dolfinx", processes, "--side", "8", *options)
    assert re.findall(r"^hopbytes\s+(\d+) cells", said, re.MULTILINE) == [str(6 * 8**3)]
    most = int(re.findall(r"^hopbytes.*at most (\d+)", said, re.MULTILINE)[0])
    assert most <= 6 * 8**3 / processes * 1.03
    far = [int(each) for each in re.findall(r"(\d+) ghosts between nodes", said)]
    assert len(far) == 2
    assert (far[1] > 0) == (processes > 1)
