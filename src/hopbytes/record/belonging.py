"""Whether launcher, program, compiler wrapper and interposer belong to the same MPI."""

from __future__ import annotations

import mmap
import os
import re
import shutil

from hopbytes.errors import UnsupportedError
from hopbytes.launching.command import LaunchCommand
from hopbytes.launching.launchers import Launcher, recognise
from hopbytes.record.application import FAMILIES, Application, family_of, loaded_by, mpi_library

#: Words in the libraries of one family, and whose they are. In this order: the last stand in all of them.
_MAKERS = (
    (re.compile(rb"Intel\(R\) MPI Library"), "Intel MPI"),
    (re.compile(rb"CRAY MPICH version"), "Cray MPICH"),
    (re.compile(rb"MVAPICH\d* Version"), "MVAPICH"),
    (re.compile(rb"MPICH Version"), "MPICH"),
)
#: Whose MPI a launcher comes with.
_OWN = {
    "openmpi": ("Open MPI",), "hydra": ("MPICH", "MVAPICH"), "intel": ("Intel MPI",), "mvapich": ("MVAPICH",)
}  # fmt: skip
_NAMES = {"openmpi": "Open MPI", "mpich": "MPICH"}
#: What ranks leave that found another MPI loaded, or the file of their rank taken.
CLASH, AGAIN = "clash.", "again."


def family_started(launcher: Launcher) -> str:
    """Return ``openmpi`` or ``mpich``, the MPI whose programs a launcher starts; "" where it starts any."""
    return FAMILIES.get(launcher.form, "")


def maker_of(library: str) -> str:
    """Return whose MPI library a file is: ``Open MPI``, ``MPICH``, ``Intel MPI`` …; "" where nobody knows."""
    if family_of(os.path.basename(library)) == "openmpi":
        return _NAMES["openmpi"]
    try:
        with open(library, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            return next((maker for words, maker in _MAKERS if words.search(content)), "")
    except (OSError, ValueError):
        return ""


def is_own(launcher: Launcher, library: str) -> bool:
    """Tell whether a library is of the MPI that a launcher comes with; True where the launcher has none."""
    own = _OWN.get(launcher.form)
    return own is None or maker_of(library) in own


def own_maker(launcher: Launcher) -> str:
    """Return whose MPI a launcher comes with; "" where it has none."""
    return _OWN.get(launcher.form, ("",))[0]


def check_belongs(command: LaunchCommand, application: Application) -> None:
    """Refuse a launcher of another MPI than the program's: every process would be alone.

    An MPI that speaks PMIx can be started by Open MPI's launcher whosever it is.

    Raises
    ------
    UnsupportedError
        Names both.
    """
    started = family_started(command.launcher)
    if not started or not application.linked or application.family in (started, "other"):
        return
    if started == "openmpi" and "libpmix" in (loaded_by(application.library) or ""):
        return
    theirs = f"{maker_of(application.library) or _NAMES[application.family]} ({application.library})"
    raise UnsupportedError(_of_two(application.path, theirs, command, application.family))


def _of_two(program: str, theirs: str, command: LaunchCommand, family: str) -> str:
    starts = f"{command.tool} starts programs of {own_maker(command.launcher)}"
    alone = "each process would be alone, expected the launcher of its MPI"
    return f"{program} uses {theirs}, {starts}: {alone}{_such_as(family)}"


def _such_as(family: str) -> str:
    launcher = _launcher_for(family)
    return f" such as {launcher}" if launcher else ""


def _launcher_for(family: str) -> str:
    """Return a launcher in PATH that starts programs of a family; "" where there is none."""
    names = ("mpirun", "mpiexec", f"mpirun.{family}", f"mpiexec.{family}", "mpiexec.hydra")
    for name in filter(shutil.which, names):
        try:
            launcher, _ = recognise([name])
        except UnsupportedError:
            continue
        if FAMILIES.get(launcher.form) == family:
            return name
    return ""


def alone(folder: str, command: LaunchCommand, n: int, said: str) -> str:
    """Return what is the matter when every process was a world of its own; "" when that was not so.

    Parameters
    ----------
    folder : str
        Where they wrote: the first one its file, the others that it was taken.
    n : int
        Ranks in that file.
    said : str
        What the program's MPI says of itself.
    """
    others = sum(name.startswith(AGAIN) for name in os.listdir(folder))
    started = max(others + 1, command.count or 1)
    if n > 1 or started == 1:
        return ""
    version = said.partition(",")[0].replace("\t", " ") or "another MPI"
    starts, expected = own_maker(command.launcher), "expected one that hands on what its MPI needs"
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


def clash(folder: str, command: LaunchCommand, library: str) -> str:
    """Return what is the matter when ranks found two MPIs loaded, theirs and the interposer's; or "".

    Parameters
    ----------
    folder : str
        Where they left the names of both.
    library : str
        The interposer; "" when there was none.
    """
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
        return _of_two(program, f"{maker_of(theirs) or 'another MPI'} ({theirs})", command, family)
    expected = "expected the compiler of its MPI (`compiler='mpicc'`)"
    return f"{program} loads {theirs}, but was counted for {ours}, {expected}"
