"""Chooses the launch command for the installed MPI, which is identified by running its launchers."""

from __future__ import annotations

import os
import re
import shlex
import shutil
from collections.abc import Iterator
from collections.abc import Mapping as Dictionary

from hopbytes._frozen import frozen
from hopbytes.errors import UnsupportedError
from hopbytes.formats.base import LaunchLine
from hopbytes.formats.exchange import Receipt
from hopbytes.launch.launchers import LAUNCHERS, Launcher, identify_launcher, without_limits

#: Time limit in seconds for ``LAUNCHER --version``, which usually takes about 0.01 s.
VERSION_TIMEOUT = 5.0

#: Names under which launchers of a family are installed, the usual one first.
NAMES = {
    "openmpi": ("mpirun", "mpiexec", "mpirun.openmpi"),
    "hydra": ("mpiexec.hydra", "mpiexec", "mpirun", "mpiexec.mpich"),
    "intel": ("mpirun", "mpiexec", "mpiexec.hydra"),
}

#: A word of a command as a shell reads it, with its quotes.
WORD = re.compile(r"""(?:[^\s'"]|'[^']*'|"[^"]*")+""")

#: Variables that modules and installers set to the folder of an MPI; that folder may be missing in PATH.
FOLDERS = ("I_MPI_ROOT", "MPI_HOME", "MPI_ROOT", "OPAL_PREFIX")


@frozen
class Advice:
    """Commands for the user to type."""

    #: one command, labelled ``"launch"``, if the MPI is known; otherwise one command for every MPI
    lines: tuple[tuple[str, str], ...] = ()
    notices: tuple[str, ...] = ()  # reasons why the command may not work on this host
    #: the commands of all MPIs, for the output as JSON; empty if one command serves all of them
    others: tuple[tuple[str, str], ...] = ()

    @property
    def command(self) -> str:
        """The command to type, the first of several, or "" if there is none."""
        return self.lines[0][1] if self.lines else ""


def advice(receipt: Receipt, form: str, environment: Dictionary[str, str]) -> Advice:
    """Return the command for the installed MPI, or the commands for all MPIs if none is found.

    Runs ``LAUNCHER --version`` for at most a few launchers, each with a time limit of five seconds.
    """
    if not receipt.launch:
        return Advice()
    lines = receipt.lines or _only_line(receipt, form)
    if not lines:
        return Advice((("launch", _without_limits(receipt.launch, form, environment)),))
    others = tuple((line.mpi, line.command) for line in receipt.lines)
    unsuitable: dict[str, Launcher] = {}
    for name, path in _installed(lines, environment):
        found = _launcher(path)
        if found is None:
            continue
        for line in lines:
            if _fits(line, found):
                return Advice((("launch", _started_by(line.command, name)),), (), others)
        unsuitable.setdefault(name, found)
    notices = tuple(_mismatch(name, found, lines) for name, found in list(unsuitable.items())[:1])
    if len(lines) == 1:
        return Advice((("launch", lines[0].command),), notices, others)
    return Advice(tuple((f"launch, {line.mpi}", line.command) for line in lines), notices, others)


def _only_line(receipt: Receipt, form: str) -> tuple[LaunchLine, ...]:
    """Return the line of a format for a single MPI whose launcher shares its name with others."""
    return (LaunchLine(LAUNCHERS[form].name, form, receipt.launch),) if form in NAMES else ()


def _installed(lines: tuple[LaunchLine, ...], environment: Dictionary[str, str]) -> Iterator[tuple[str, str]]:
    """Yield installed launchers as (name to type, path); the launcher of the first command comes first."""
    if environment.get("SLURM_JOB_ID") and any(line.family == "slurm" for line in lines):
        srun = shutil.which("srun", path=environment.get("PATH"))
        if srun:
            yield "srun", srun
    first = _launcher_word(lines[0].command)[0]
    families = dict.fromkeys(line.family for line in lines)
    names = [first, *(name for family in families for name in NAMES.get(family, ()))]
    seen = set()
    for name in dict.fromkeys(names):
        path = shutil.which(name, path=environment.get("PATH"))
        if path and os.path.realpath(path) not in seen:
            seen.add(os.path.realpath(path))
            yield name, path
    for variable in FOLDERS:
        folder = environment.get(variable)
        for name in dict.fromkeys(names if folder else ()):
            path = shutil.which(name, path=os.path.join(str(folder), "bin"))
            if path and os.path.realpath(path) not in seen:
                seen.add(os.path.realpath(path))
                yield path, path


def _launcher(path: str) -> Launcher | None:
    if os.path.basename(path) == "srun":
        return LAUNCHERS["slurm"]
    try:
        return identify_launcher(path, VERSION_TIMEOUT)
    except UnsupportedError:
        return None


def _fits(line: LaunchLine, found: Launcher) -> bool:
    # Versions after 5 and PRRTE, which has its own version numbers, take the command of version 5.
    version = "4" if found.form == "openmpi" and found.version == "4" else "5"
    return line.family == found.form and (not line.version or line.version == version)


def _started_by(command: str, name: str) -> str:
    """Return a command in which the launcher is replaced by `name`."""
    word = _launcher_word(command)
    return f"{command[: word.start()]}{shlex.quote(name)}{command[word.end() :]}"


def _without_limits(command: str, form: str, environment: Dictionary[str, str]) -> str:
    """Return a command whose srun does not see how many CPUs the job has for a task."""
    words = without_limits(environment) if form in ("slurm", "cray") else ()
    place = _launcher_word(command).start() if words else 0
    return command[:place] + "".join(f"{word} " for word in words) + command[place:]


def _launcher_word(command: str) -> re.Match[str]:
    """Return the launcher in a command, after assignments and a batch system's command."""
    known = {"srun", *(name for names in NAMES.values() for name in names)}
    return next(word for word in WORD.finditer(command) if word[0] in known)


def _mismatch(name: str, found: Launcher, lines: tuple[LaunchLine, ...]) -> str:
    expected = " or ".join(line.mpi for line in lines)
    version = f" {found.version}" if found.version else ""
    other = f"`write(format={found.form!r})`"
    return f"{name} on this host is {found.name}{version}, expected {expected} (or {other})"
