"""Which MPI an application uses: asked of the program itself, not of whatever mpirun is first in PATH."""

from __future__ import annotations

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
    """

    path: str
    family: str
    linked: bool


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
    assumed = {"openmpi": "openmpi", "hydra": "mpich", "intel": "mpich"}.get(launcher.form, "other")
    if not is_binary:
        return Application(path, assumed, False)
    libraries = _libraries(path)
    if libraries is None:
        raise UnsupportedError(
            f"{path}: linked statically: nothing can count before its MPI, expected a dynamic program"
        )
    for pattern, family in _LIBRARIES:
        if pattern.search(libraries):
            return Application(path, family, True)
    return Application(path, assumed, False)


def _libraries(path: str) -> str | None:
    """Return what the loader would load; None for a static program."""
    try:
        done = subprocess.run(["ldd", path], capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    said = done.stdout + done.stderr
    return None if "not a dynamic executable" in said or "statically linked" in said else said
