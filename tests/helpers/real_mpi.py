"""The MPI implementations installed here: their launchers, their compilers, and a small program to start.

Tests that start processes of an MPI are marked ``launcher``; the fixture ``mpi_folder`` gives them a folder
of their own and an Open MPI that runs for root.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

RUN_AS_ROOT = {
    f"{tool}_ALLOW_RUN_AS_ROOT{more}": "1" for tool in ("OMPI", "PRTE") for more in ("", "_CONFIRM")
}
FAMILIES = ("openmpi 5", "openmpi 4.1", "mpich")
OF_THIS_ENVIRONMENT = os.path.dirname(sys.executable)

#: Every rank sends its number to the next one. The exit code is 1 if the first argument begins with x.
RING = """#include <mpi.h>
int main(int argc, char **argv) {
    int rank, size, got;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
#ifdef PAUSE
    MPI_Pcontrol(1);
#endif
    MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % size, 0, &got, 1, MPI_INT, (rank + size - 1) % size, 0,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Finalize();
    return argc > 1 && argv[1][0] == 'x';
}
"""
#: What four ranks of it send: (source, target) → bytes.
RING_OF_FOUR = {(rank, (rank + 1) % 4): 4 for rank in range(4)}


@cache
def version_of(launcher: str) -> str:
    """Return name and major version of a launcher, as in ``openmpi 5``; "" where it is not installed."""
    if not shutil.which(launcher):
        return ""
    said = subprocess.run([launcher, "--version"], capture_output=True, text=True, timeout=60).stdout
    found = re.search(r"\((?:Open MPI|OpenRTE)\) (\d+)", said)
    return f"openmpi {found[1]}" if found else "mpich" * ("HYDRA" in said)


def mpi(family: str, language: str = "c") -> tuple[list[str], str]:
    """Return (launcher words for four ranks, compiler); skips the test where it is not installed.

    Looked for in this environment, in HOPBYTES_MPICH, and by the names Debian gives them. The Open MPI 5 of
    PyPI has no Fortran; the system's may (Debian's since 13, where 4.1 is no more).
    """
    compiler = {"c": "mpicc", "fortran": "mpifort"}[language]
    name = family.split()[0]
    folders = [OF_THIS_ENVIRONMENT]
    if name == "mpich" and (own := os.environ.get("HOPBYTES_MPICH")):
        folders.append(own)
    found = [(f"{folder}/mpirun", f"{folder}/{compiler}") for folder in folders]
    for launcher, wrapper in [*found, (f"mpirun.{name}", f"{compiler}.{name}")]:
        if family.startswith(version_of(launcher) or "-") and shutil.which(wrapper):
            return [launcher, *(["--oversubscribe"] if name == "openmpi" else []), "-n", "4"], wrapper
    return pytest.skip(f"{family} for {language} is not installed")


def compiled(family: str, source: str = RING, *flags: str, name: str = "ring") -> str:
    """Compile a program's text in the current folder; return how to call it."""
    _, compiler = mpi(family)
    Path(f"{name}.c").write_text(source)
    subprocess.run([compiler, *flags, f"{name}.c", "-o", name], check=True)
    return f"./{name}"


def script(text: str, name: str = "wrapper.sh") -> str:
    """Write a shell script in the current folder; return how to call it."""
    path = Path(name)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return f"./{name}"
