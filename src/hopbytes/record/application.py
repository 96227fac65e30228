"""Finds which MPI an application uses, from the program itself and not from the first mpirun in PATH."""

from __future__ import annotations

import mmap
import os
import re
import shutil
import subprocess
from dataclasses import replace

from hopbytes._frozen import frozen
from hopbytes.errors import UnsupportedError
from hopbytes.launch.command import LaunchCommand

#: Names of MPI libraries and their families; version 12 is the common ABI of MPICH, Intel MPI and MVAPICH.
_LIBRARIES = (
    (re.compile(r"\blibmpi\.so\.(40|20|80)\b"), "openmpi"),
    (re.compile(r"\b(libmpi\.so\.12|libmpi_abi\.so\.\d+|libmpich\w*\.so|libmpi_cray\w*\.so)"), "mpich"),
    (re.compile(r"\blibmpi\w*\.so"), "other"),
)
#: Family of the programs that a launcher starts, by its form; other launchers start those of any MPI.
FAMILIES = {"openmpi": "openmpi", "hydra": "mpich", "intel": "mpich", "mvapich": "mpich"}
#: Libraries of the Fortran and C++ bindings, which call the MPI library.
_BINDINGS = re.compile(r"fort|cxx|mpifh|usempi")
#: Libraries of MPI, those it uses, and those of the system that every program loads.
_MPI_OWN = re.compile(r"\blib(mpi|open-|ompi|mca_|c\.so|m\.so|pthread|dl\.so|rt\.so|gcc_s|stdc)")
#: Calls on which Open MPI's monitoring crashes, or that it ignores or does not count, and their description.
_UNFIT = {
    b"neighbor_all": "neighbourhood collectives", b"comm_spawn": "spawned ranks",
    b"intercomm_create": "messages between two groups", b"comm_accept": "messages between two groups",
    b"comm_connect": "messages between two groups", b"comm_join": "messages between two groups",
    b"pcontrol": "MPI_Pcontrol", b"psend_init": "partitioned sends",
}  # fmt: skip
_UNFIT_NAMES = re.compile(rb"mpi_i?(" + b"|".join(_UNFIT) + rb")", re.IGNORECASE)
_PERSISTENT = re.compile(rb"mpi_[bsr]?send_init", re.IGNORECASE)


@frozen
class Application:
    """A program and the MPI it uses."""

    path: str  # the file of the program
    family: str  # ``openmpi``, ``mpich`` (all MPIs with its ABI) or ``other``
    #: whether the program itself is linked to an MPI library. If not, it is a script or an interpreter, and
    #: the launcher's MPI is assumed.
    linked: bool
    library: str = ""  # the file of the MPI library, as the loader finds it
    #: features that the program or a library of it uses and that Open MPI's monitoring does not handle: it
    #: reads beyond its lists in neighbourhood collectives on graphs and in intercommunicators with groups of
    #: unequal size; spawned ranks overwrite the files of the other ranks; it counts after
    #: ``MPI_Pcontrol(0)``, and it does not count partitioned sends
    unfit: tuple[str, ...] = ()
    persistent: bool = False  # whether the program or a library of it uses persistent sends
    #: whether the program contains the names of MPI functions although it loads no MPI library
    has_mpi_inside: bool = False
    is_binary: bool = True  # whether the file is a binary and not a script; it may still be an interpreter


#: Options of launchers that set the folder in which programs start.
_FOLDERS = ("wdir", "wd", "chdir", "D", "cwd")


def application_of(command: LaunchCommand) -> Application:
    """Find which MPI the programs of a launch command use."""
    found = [_application(part) for part in command.parts]
    first = found[0]
    for other in found[1:]:
        if (other.family, other.library, other.linked) != (first.family, first.library, first.linked):
            ours, theirs = (f"{one.path} uses {one.library or 'an unknown MPI'}" for one in (first, other))
            raise UnsupportedError(f"{ours}, {theirs}: expected programs of one MPI in a command")
    return replace(
        first,
        unfit=tuple(sorted({name for one in found for name in one.unfit})),
        persistent=any(one.persistent for one in found),
        has_mpi_inside=any(one.has_mpi_inside for one in found),
    )


def _application(command: LaunchCommand) -> Application:
    """Examine one program, found in the folder where the command starts it or in the current one."""
    program, launcher = command.program, command.launcher
    if not program:
        raise UnsupportedError(f"{command.tool}: no program, expected one after the launcher's options")
    folder = next((option.value for option in command.options if option.name in _FOLDERS), "")
    path = shutil.which(os.path.join(folder, program[0])) if "/" in program[0] else None
    path = path or shutil.which(program[0])
    if path is None:
        raise UnsupportedError(f"{program[0]}: not found or not executable, expected a program to record")
    with open(path, "rb") as file:
        is_binary = file.read(4) == b"\x7fELF"
    assumed = FAMILIES.get(launcher.form, "other")
    if not is_binary:
        return Application(path, assumed, False, is_binary=False)
    libraries = loaded_by(path)
    if libraries is None:
        raise UnsupportedError(
            f"{path}: linked statically, so that no library can be preloaded, expected a dynamic program"
        )
    family = family_of(libraries)
    if family:
        unfit = {_UNFIT[name] for name in _names(path, libraries, _UNFIT_NAMES)}
        persistent = bool(_names(path, libraries, _PERSISTENT))
        return Application(path, family, True, mpi_library(libraries), tuple(sorted(unfit)), persistent)
    inside = bool(_matches(path, re.compile(rb"PMPI_Init")))
    return Application(path, assumed, False, has_mpi_inside=inside)


def family_of(libraries: str) -> str:
    """Return ``openmpi``, ``mpich`` or ``other`` from names of libraries; "" if none is an MPI library."""
    return next((family for pattern, family in _LIBRARIES if pattern.search(libraries)), "")


def mpi_library(libraries: str) -> str:
    """Return the file of the MPI library in the output of the loader; "" if there is none."""
    for pattern, _ in _LIBRARIES:
        for line in libraries.splitlines():
            name, _, file = line.partition("=>")
            if pattern.search(name) and file.strip() and not _BINDINGS.search(name):
                return os.path.realpath(file.split()[0])
    return ""


def _names(path: str, libraries: str, pattern: re.Pattern[bytes]) -> set[bytes]:
    """Return the calls that a program or its libraries (except those of MPI) contain, without the prefix."""
    files = [path]
    for line in libraries.splitlines():
        name, _, file = line.partition("=>")
        if file.strip().startswith("/") and not _MPI_OWN.search(name):
            files.append(file.split()[0])
    return {name for file in files for name in _matches(file, pattern)}


def _matches(path: str, pattern: re.Pattern[bytes]) -> set[bytes]:
    """Return the distinct matches in a file in lower case: the last group of each, or the whole match."""
    try:
        with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            return {found[pattern.groups].lower() for found in pattern.finditer(content)}
    except (OSError, ValueError):
        return set()


def loaded_by(path: str) -> str | None:
    """Return the libraries of a program as ``ldd`` prints them; None for a statically linked program."""
    try:
        done = subprocess.run(["ldd", path], capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    output = done.stdout + done.stderr
    return None if "not a dynamic executable" in output or "statically linked" in output else output
