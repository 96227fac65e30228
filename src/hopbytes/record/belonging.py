"""Checks that launcher, program, compiler wrapper and interposer belong to the same MPI."""

from __future__ import annotations

import mmap
import os
import re
import shutil

from hopbytes.errors import UnsupportedError
from hopbytes.launch.command import LaunchCommand
from hopbytes.launch.launchers import Launcher, recognise
from hopbytes.record.application import FAMILIES, Application, family_of, loaded_by, mpi_library

#: Strings in libraries with the ABI of MPICH, and the MPI they identify. The order matters: libraries of the
#: first ones also contain the last string.
_MAKERS = (
    (re.compile(rb"Intel\(R\) MPI Library"), "Intel MPI"),
    (re.compile(rb"CRAY MPICH version"), "Cray MPICH"),
    (re.compile(rb"MVAPICH\d* Version"), "MVAPICH"),
    (re.compile(rb"MPICH Version"), "MPICH"),
)
#: The MPIs that a launcher is distributed with.
_OWN = {
    "openmpi": ("Open MPI",), "hydra": ("MPICH", "MVAPICH"), "intel": ("Intel MPI",), "mvapich": ("MVAPICH",)
}  # fmt: skip
_NAMES = {"openmpi": "Open MPI", "mpich": "MPICH"}
#: Prefixes of files that ranks write if another MPI library is loaded, or if the file of their rank exists.
CLASH, AGAIN = "clash.", "again."


def family_started(launcher: Launcher) -> str:
    """Return the family of MPI whose programs a launcher starts (``openmpi``, ``mpich``); "" for any MPI."""
    return FAMILIES.get(launcher.form, "")


def maker_of(library: str) -> str:
    """Return the MPI that a library file belongs to: ``Open MPI``, ``Intel MPI`` …; "" if it is unknown."""
    if family_of(os.path.basename(library)) == "openmpi":
        return _NAMES["openmpi"]
    try:
        with open(library, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            return next((maker for words, maker in _MAKERS if words.search(content)), "")
    except (OSError, ValueError):
        return ""


def is_own(launcher: Launcher, library: str) -> bool:
    """Return whether a library belongs to the launcher's MPI; True if the launcher belongs to no MPI."""
    own = _OWN.get(launcher.form)
    return own is None or maker_of(library) in own


def own_maker(launcher: Launcher) -> str:
    """Return the name of the MPI that a launcher is distributed with; "" if it belongs to no MPI."""
    return _OWN.get(launcher.form, ("",))[0]


def check_belongs(command: LaunchCommand, application: Application) -> None:
    """Refuse a launcher of another MPI than the program's, since every process would be rank 0 of 1.

    Open MPI's launcher can start the programs of any MPI that uses PMIx.
    """
    started = family_started(command.launcher)
    if not started or not application.linked or application.family in (started, "other"):
        return
    if started == "openmpi" and "libpmix" in (loaded_by(application.library) or ""):
        return
    theirs = f"{maker_of(application.library) or _NAMES[application.family]} ({application.library})"
    raise UnsupportedError(_different_mpis(application.path, theirs, command, application.family))


def _different_mpis(program: str, theirs: str, command: LaunchCommand, family: str) -> str:
    starts = f"{command.tool} starts programs of {own_maker(command.launcher)}"
    alone = "each process would be alone, expected the launcher of its MPI"
    return f"{program} uses {theirs}, {starts}: {alone}{_such_as(family)}"


def _such_as(family: str) -> str:
    launcher = _launcher_for(family)
    return f" such as {launcher}" if launcher else ""


def _launcher_for(family: str) -> str:
    """Return a launcher in PATH that starts programs of a family; "" if there is none."""
    names = ("mpirun", "mpiexec", f"mpirun.{family}", f"mpiexec.{family}", "mpiexec.hydra")
    for name in filter(shutil.which, names):
        try:
            launcher, _ = recognise([name])
        except UnsupportedError:
            continue
        if FAMILIES.get(launcher.form) == family:
            return name
    return ""


def explain_lone_processes(folder: str, command: LaunchCommand, n: int, mpi: str) -> str:
    """Return an explanation if every process had an MPI_COMM_WORLD of its own; else ""."""
    others = sum(name.startswith(AGAIN) for name in os.listdir(folder))
    started = max(others + 1, command.count or 1)
    if n > 1 or started == 1:
        return ""
    version = mpi.partition(",")[0].replace("\t", " ") or "another MPI"
    starts, expected = own_maker(command.launcher), "expected a launcher that its MPI supports"
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
    name = next((name for name in os.listdir(folder) if name.startswith(CLASH)), None)
    if name is None:
        return ""
    ours = mpi_library(loaded_by(library) or "")
    with open(os.path.join(folder, name), encoding="utf-8", errors="replace") as file:
        found = [os.path.realpath(path) for path in file.read().splitlines()]
    theirs = next((path for path in found if path != ours), ours)
    family = family_of(os.path.basename(theirs))
    started = family_started(command.launcher)
    program = command.program[0]
    if family and started and family != started:
        return _different_mpis(program, f"{maker_of(theirs) or 'another MPI'} ({theirs})", command, family)
    expected = "expected the compiler of its MPI (`compiler='mpicc'`)"
    return f"{program} loads {theirs}, but the interposer was built for {ours}, {expected}"
