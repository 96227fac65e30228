"""Which MPI an application uses: asked of the program itself, not of whatever mpirun is first in PATH."""

from __future__ import annotations

import mmap
import os
import re
import shutil
import subprocess
from dataclasses import dataclass, replace

from hopbytes.errors import UnsupportedError
from hopbytes.launching.command import LaunchCommand

#: Libraries by their names; version 12 is the common ABI of MPICH, Intel MPI and MVAPICH.
_LIBRARIES = (
    (re.compile(r"\blibmpi\.so\.(40|20|80)\b"), "openmpi"),
    (re.compile(r"\b(libmpi\.so\.12|libmpi_abi\.so\.\d+|libmpich\w*\.so|libmpi_cray\w*\.so)"), "mpich"),
    (re.compile(r"\blibmpi\w*\.so"), "other"),
)
#: Family of the programs that a launcher starts, by its form; other launchers start those of any MPI.
FAMILIES = {"openmpi": "openmpi", "hydra": "mpich", "intel": "mpich", "mvapich": "mpich"}
#: Libraries of other languages, in front of the one that sends.
_BINDINGS = re.compile(r"fort|cxx|mpifh|usempi")
#: Libraries of MPI and below it, and those of the system that are in every program.
_MPI_OWN = re.compile(r"\blib(mpi|open-|ompi|mca_|c\.so|m\.so|pthread|dl\.so|rt\.so|gcc_s|stdc)")
#: Calls that Open MPI's own counting does not survive, heed or see, and how they are named for people.
_UNFIT = {
    b"neighbor_all": "neighbourhood collectives", b"comm_spawn": "spawned ranks",
    b"intercomm_create": "messages between two groups", b"comm_accept": "messages between two groups",
    b"comm_connect": "messages between two groups", b"comm_join": "messages between two groups",
    b"pcontrol": "MPI_Pcontrol", b"psend_init": "partitioned sends",
}  # fmt: skip
_UNFIT_NAMES = re.compile(rb"mpi_i?(" + b"|".join(_UNFIT) + rb")", re.IGNORECASE)
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
        The program itself names the library; False: a script, or what runs one, and the launcher's MPI is
        assumed.
    library : str
        The file of that library, as the loader finds it.
    unfit : tuple of str
        What it, or a library it uses, names and Open MPI's monitoring does not survive, heed or count: it
        reads beyond its lists in neighbourhood collectives of graphs and where two groups of unequal size
        meet; spawned ranks overwrite the files of the old ones; it counts while ``MPI_Pcontrol(0)`` holds,
        and no partitioned sends.
    persistent : bool
        The same of persistent sends.
    has_mpi_inside : bool
        No library of MPI is loaded for it, but it holds the names of MPI's functions.
    is_binary : bool
        Not a script, but it may be what runs one.
    """

    path: str
    family: str
    linked: bool
    library: str = ""
    unfit: tuple[str, ...] = ()
    persistent: bool = False
    has_mpi_inside: bool = False
    is_binary: bool = True


#: Options of launchers that say in which folder programs start.
_FOLDERS = ("wdir", "wd", "chdir", "D", "cwd")


def application_of(command: LaunchCommand) -> Application:
    """Look at the programs of a launch command.

    Raises
    ------
    UnsupportedError
        No program, or none of that name; one that is linked statically, so that nothing can be put before its
        MPI; programs of different MPIs in one command.
    """
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
    """Look at one program, where the command starts it or where it is typed."""
    program, launcher = command.program, command.launcher
    if not program:
        raise UnsupportedError(f"{command.tool}: no program, expected one after the launcher's options")
    folder = next((option.value for option in command.options if option.name in _FOLDERS), "")
    path = shutil.which(os.path.join(folder, program[0])) if "/" in program[0] else None
    path = path or shutil.which(program[0])
    if path is None:
        raise UnsupportedError(f"{program[0]}: not there or not executable, expected a program to record")
    with open(path, "rb") as file:
        is_binary = file.read(4) == b"\x7fELF"
    assumed = FAMILIES.get(launcher.form, "other")
    if not is_binary:
        return Application(path, assumed, False, is_binary=False)
    libraries = loaded_by(path)
    if libraries is None:
        raise UnsupportedError(
            f"{path}: linked statically: nothing can count before its MPI, expected a dynamic program"
        )
    family = family_of(libraries)
    if family:
        unfit = {_UNFIT[name] for name in _names(path, libraries, _UNFIT_NAMES)}
        persistent = bool(_names(path, libraries, _PERSISTENT))
        return Application(path, family, True, mpi_library(libraries), tuple(sorted(unfit)), persistent)
    inside = bool(_held(path, re.compile(rb"PMPI_Init")))
    return Application(path, assumed, False, has_mpi_inside=inside)


def family_of(libraries: str) -> str:
    """Return ``openmpi``, ``mpich`` or ``other`` by names of libraries; "" where none is MPI's."""
    return next((family for pattern, family in _LIBRARIES if pattern.search(libraries)), "")


def mpi_library(libraries: str) -> str:
    """Return the file of the MPI library among what the loader names; "" where there is none."""
    for pattern, _ in _LIBRARIES:
        for line in libraries.splitlines():
            name, _, file = line.partition("=>")
            if pattern.search(name) and file.strip() and not _BINDINGS.search(name):
                return os.path.realpath(file.split()[0])
    return ""


def _names(path: str, libraries: str, pattern: re.Pattern[bytes]) -> set[bytes]:
    """Return which calls a program or a library of it, other than MPI's own, names (their last part)."""
    files = [path]
    for line in libraries.splitlines():
        name, _, file = line.partition("=>")
        if file.strip().startswith("/") and not _MPI_OWN.search(name):
            files.append(file.split()[0])
    return {name for file in files for name in _held(file, pattern)}


def _held(path: str, pattern: re.Pattern[bytes]) -> set[bytes]:
    """Return the different matches in a file, in lower letters: the last group, or all of it."""
    try:
        with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            return {found[pattern.groups].lower() for found in pattern.finditer(content)}
    except (OSError, ValueError):
        return set()


def loaded_by(path: str) -> str | None:
    """Return what the loader would load; None for a static program."""
    try:
        done = subprocess.run(["ldd", path], capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    said = done.stdout + done.stderr
    return None if "not a dynamic executable" in said or "statically linked" in said else said
