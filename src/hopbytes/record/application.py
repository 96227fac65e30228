"""Which MPI an application uses, by the program itself, and whether launcher and interposer belong to it."""

from __future__ import annotations

import contextlib
import mmap
import os
import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

from hopbytes._frozen import frozen
from hopbytes.errors import UnsupportedError
from hopbytes.formats.mappings.launchers import Launcher
from hopbytes.launch.command import LaunchCommand
from hopbytes.launch.installed import recognise

#: Names of MPI libraries and their families; version 12 is the common ABI of MPICH, Intel MPI and MVAPICH.
_LIBRARIES = (
    (re.compile(r"\blibmpi\.so\.(40|20|80)\b"), "openmpi"),
    (re.compile(r"\b(libmpi\.so\.12|libmpi_abi\.so\.\d+|libmpich\w*\.so|libmpi_cray\w*\.so)"), "mpich"),
    (re.compile(r"\blibmpi\w*\.so"), "other"),
)
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

#: Options of launchers that set the folder in which programs start.
_FOLDERS = ("wdir", "wd", "chdir", "D", "cwd")
#: Strings in libraries with the ABI of MPICH, and the MPI they identify. The order matters: libraries of the
#: first ones also contain the last string.
_MAKERS = (
    (re.compile(rb"Intel\(R\) MPI Library"), "Intel MPI"),
    (re.compile(rb"CRAY MPICH version"), "Cray MPICH"),
    (re.compile(rb"MVAPICH\d* Version"), "MVAPICH"),
    (re.compile(rb"MPICH Version"), "MPICH"),
)
_NAMES = {"openmpi": "Open MPI", "mpich": "MPICH"}
#: Prefixes of files that ranks write if another MPI library is loaded, or if the file of their rank exists.
CLASH, AGAIN = "clash.", "again."


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


def application_of(command: LaunchCommand) -> Application:
    """Find which MPI the programs of a launch command use."""
    programs = [_application(part) for part in command.parts]
    first = programs[0]
    for other in programs[1:]:
        if (other.family, other.library, other.linked) != (first.family, first.library, first.linked):
            ours, theirs = (f"{own.path} uses {own.library or 'an unknown MPI'}" for own in (first, other))
            raise UnsupportedError(f"{ours}, {theirs}: expected programs of one MPI in a command")
    return replace(
        first,
        unfit=tuple(sorted({name for program in programs for name in program.unfit})),
        persistent=any(program.persistent for program in programs),
        has_mpi_inside=any(program.has_mpi_inside for program in programs),
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
    assumed = launcher.family or "other"
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


def maker_of(library: str) -> str:
    """Return the MPI that a library file belongs to: ``Open MPI``, ``Intel MPI`` …; "" if unknown."""
    if family_of(os.path.basename(library)) == "openmpi":
        return _NAMES["openmpi"]
    return next((maker for words, maker in _MAKERS if _matches(library, words)), "")


def is_own(launcher: Launcher, library: str) -> bool:
    """Return whether a library belongs to the launcher's MPI; True if the launcher belongs to no MPI."""
    return not launcher.makers or maker_of(library) in launcher.makers


def check_belongs(command: LaunchCommand, application: Application) -> None:
    """Refuse a launcher of another MPI than the program's, since every process would be rank 0 of 1."""
    # Open MPI's launcher can start the programs of any MPI that uses PMIx.
    started = command.launcher.family
    if not started or not application.linked or application.family in (started, "other"):
        return
    if started == "openmpi" and "libpmix" in (loaded_by(application.library) or ""):
        return
    theirs = f"{maker_of(application.library) or _NAMES[application.family]} ({application.library})"
    raise UnsupportedError(_different_mpis(application.path, theirs, command, application.family))


def _different_mpis(program: str, theirs: str, command: LaunchCommand, family: str) -> str:
    starts = f"{command.tool} starts programs of {command.launcher.maker}"
    alone = "each process would be alone, expected the launcher of its MPI"
    return f"{program} uses {theirs}, {starts}: {alone}{_such_as(family)}"


def _such_as(family: str) -> str:
    """Return the name of a launcher in PATH that starts programs of a family, as words; "" without one."""
    names = ("mpirun", "mpiexec", f"mpirun.{family}", f"mpiexec.{family}", "mpiexec.hydra")
    for name in filter(shutil.which, names):
        with contextlib.suppress(UnsupportedError):
            if recognise([name])[0].family == family:
                return f" such as {name}"
    return ""


def explain_lone_processes(folder: str, command: LaunchCommand, n: int, mpi: str) -> str:
    """Return an explanation if every process had an MPI_COMM_WORLD of its own; else ""."""
    others = sum(name.startswith(AGAIN) for name in os.listdir(folder))
    started = max(others + 1, command.count or 1)
    if n > 1 or started == 1:
        return ""
    version = mpi.partition(",")[0].replace("\t", " ") or "another MPI"
    starts, expected = command.launcher.maker, "expected a launcher that its MPI supports"
    if command.launcher.form == "slurm":
        expected = "expected --mpi=TYPE as its MPI needs it (srun --mpi=list)"
    elif starts and not version.startswith(starts):
        family = "openmpi" if version.startswith("Open MPI") else "mpich"
        expected = f"expected the launcher of its MPI{_such_as(family)}"
    by = f"{command.tool}, which starts programs of {starts}" if starts else command.tool
    return (
        f"each of {started} processes was alone, rank 0 of 1: {command.program[0]} uses {version} and was "
        f"started by {by}: {expected}"
    )


def explain_two_libraries(folder: str, command: LaunchCommand, library: str) -> str:
    """Return an explanation if ranks loaded the interposer's MPI library and another one; else ""."""
    clashes = [Path(folder, name) for name in sorted(os.listdir(folder)) if name.startswith(CLASH)]
    if not clashes:
        return ""
    ours = mpi_library(loaded_by(library) or "")
    # The file of a rank that the launcher killed while it wrote may be empty, so those of all ranks are read.
    texts = [path.read_text("utf-8", "replace") for path in clashes]
    libraries = [os.path.realpath(line) for text in texts for line in text.splitlines()]
    theirs = next((path for path in libraries if path != ours), ours)
    family = family_of(os.path.basename(theirs))
    started = command.launcher.family
    program = command.program[0]
    if family and started and family != started:
        return _different_mpis(program, f"{maker_of(theirs) or 'another MPI'} ({theirs})", command, family)
    expected = "expected the compiler of its MPI (`compiler='mpicc'`)"
    return f"{program} loads {theirs}, but the interposer was built for {ours}, {expected}"
