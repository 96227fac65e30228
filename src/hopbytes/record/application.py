"""Which MPI an application uses: asked of the program itself, not of whatever mpirun is first in PATH."""

from __future__ import annotations

import mmap
import os
import re
import shutil
import subprocess
from dataclasses import dataclass

from hopbytes.errors import UnsupportedError
from hopbytes.launching.launchers import Launcher

#: Libraries by their names; version 12 is the common ABI of MPICH, Intel MPI and MVAPICH.
_LIBRARIES = (
    (re.compile(r"\blibmpi\.so\.(40|20|80)\b"), "openmpi"),
    (re.compile(r"\b(libmpi\.so\.12|libmpi_abi\.so\.\d+|libmpich\w*\.so|libmpi_cray\w*\.so)"), "mpich"),
    (re.compile(r"\blibmpi\w*\.so"), "other"),
)
#: Libraries of other languages, in front of the one that sends.
_BINDINGS = re.compile(r"fort|cxx|mpifh|usempi")
#: Libraries of MPI and below it, and those of the system that are in every program.
_MPI_OWN = re.compile(r"\blib(mpi|open-|ompi|mca_|c\.so|m\.so|pthread|dl\.so|rt\.so|gcc_s|stdc)")
_UNFIT = re.compile(rb"mpi_(i?neighbor_all|comm_spawn)", re.IGNORECASE)
_PERSISTENT = re.compile(rb"mpi_[bsr]?send_init", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Application:
    """What was found.

    Parameters
    ----------
    path : str
        The program's file.
    family : str
        ``openmpi``, ``mpich`` (its whole ABI) or ``other``.
    linked : bool
        The program itself names the library; False: it is a script, and the launcher's MPI is assumed.
    library : str
        The file of that library, as the loader finds it.
    unfit : bool
        It, or a library it uses, names calls that Open MPI's monitoring does not survive or count:
        neighbourhood collectives, and spawning, whose new ranks overwrite the files of the old ones.
    persistent : bool
        The same of persistent sends.
    has_mpi_inside : bool
        No library of MPI is loaded for it, but it holds the names of MPI's functions.
    """

    path: str
    family: str
    linked: bool
    library: str = ""
    unfit: bool = False
    persistent: bool = False
    has_mpi_inside: bool = False


def application_of(program: tuple[str, ...], launcher: Launcher) -> Application:
    """Look at the program of a launch command.

    Raises
    ------
    UnsupportedError
        No such program; one that is linked statically, so that nothing can be put before its MPI.
    """
    path = shutil.which(program[0])
    if path is None:
        raise UnsupportedError(f"{program[0]}: not there or not executable, expected a program to record")
    with open(path, "rb") as file:
        is_binary = file.read(4) == b"\x7fELF"
    likely = {"openmpi": "openmpi", "hydra": "mpich", "intel": "mpich", "mvapich": "mpich"}
    assumed = likely.get(launcher.form, "other")
    if not is_binary:
        return Application(path, assumed, False)
    libraries = loaded_by(path)
    if libraries is None:
        raise UnsupportedError(
            f"{path}: linked statically: nothing can count before its MPI, expected a dynamic program"
        )
    for pattern, family in _LIBRARIES:
        if pattern.search(libraries):
            named = [_names(path, libraries, pattern) for pattern in (_UNFIT, _PERSISTENT)]
            return Application(path, family, True, mpi_library(libraries), *named)
    return Application(path, assumed, False, has_mpi_inside=_holds(path, re.compile(rb"PMPI_Init")))


def mpi_library(libraries: str) -> str:
    """Return the file of the MPI library among what the loader names; "" where there is none."""
    for pattern, _ in _LIBRARIES:
        for line in libraries.splitlines():
            name, _, file = line.partition("=>")
            if pattern.search(name) and file.strip() and not _BINDINGS.search(name):
                return os.path.realpath(file.split()[0])
    return ""


def _names(path: str, libraries: str, pattern: re.Pattern[bytes]) -> bool:
    """Tell whether a program or a library of it, other than MPI's own, names certain calls."""
    files = [path]
    for line in libraries.splitlines():
        name, _, file = line.partition("=>")
        if file.strip().startswith("/") and not _MPI_OWN.search(name):
            files.append(file.split()[0])
    return any(_holds(file, pattern) for file in files)


def _holds(path: str, pattern: re.Pattern[bytes]) -> bool:
    try:
        with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            return pattern.search(content) is not None
    except (OSError, ValueError):
        return False


def loaded_by(path: str) -> str | None:
    """Return what the loader would load; None for a static program."""
    try:
        done = subprocess.run(["ldd", path], capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    said = done.stdout + done.stderr
    return None if "not a dynamic executable" in said or "statically linked" in said else said
