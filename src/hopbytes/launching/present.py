"""Which launch command is right here: the MPI that is there is asked, by name, with a time limit."""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Iterator
from collections.abc import Mapping as Dictionary
from dataclasses import dataclass

from hopbytes.errors import UnsupportedError
from hopbytes.formats.base import LaunchLine
from hopbytes.formats.exchange import Receipt
from hopbytes.launching.launchers import LAUNCHERS, Launcher, asked

#: Seconds that a launcher may take to say its version. It usually takes a hundredth of one.
PATIENCE = 5.0

#: Names under which launchers of a family are installed, the usual one first.
NAMES = {
    "openmpi": ("mpirun", "mpiexec", "mpirun.openmpi"),
    "hydra": ("mpiexec.hydra", "mpiexec", "mpirun", "mpiexec.mpich"),
    "intel": ("mpirun", "mpiexec", "mpiexec.hydra"),
}

#: Variables with the folder of an MPI that modules and installers set, and that PATH may lack.
FOLDERS = ("I_MPI_ROOT", "MPI_HOME", "MPI_ROOT", "OPAL_PREFIX")


@dataclass(frozen=True, slots=True)
class Advice:
    """What to type.

    Parameters
    ----------
    lines : tuple of (label, command)
        One, labelled ``"launch"``, where it is known which; otherwise one for every MPI.
    notices : tuple of str
        What speaks against typing it here.
    others : tuple of (MPI, command)
        The commands of all MPIs, for programs; empty where one command is for all.
    """

    lines: tuple[tuple[str, str], ...] = ()
    notices: tuple[str, ...] = ()
    others: tuple[tuple[str, str], ...] = ()

    @property
    def command(self) -> str:
        """The one to type, the first of several, or "" where there is none."""
        return self.lines[0][1] if self.lines else ""


def advice(receipt: Receipt, form: str, environment: Dictionary[str, str]) -> Advice:
    """Return the command for the MPI that is there, or all of them where nothing can be asked.

    Parameters
    ----------
    receipt : Receipt
        Of :func:`hopbytes.write`.
    form : str
        Name of the format that was written.
    environment : mapping
        Of this process: PATH, variables of the batch system, variables of modules.

    Notes
    -----
    Starts ``LAUNCHER --version`` of a few names at most, each with a limit of five seconds.
    """
    if not receipt.launch:
        return Advice()
    lines = receipt.lines or _only_line(receipt, form)
    if not lines:
        return Advice((("launch", receipt.launch),))
    others = tuple((line.mpi, line.command) for line in receipt.lines)
    in_the_way: dict[str, Launcher] = {}
    for name, path in _installed(lines, environment):
        found = _launcher(path)
        if found is None:
            continue
        for line in lines:
            if _fits(line, found):
                return Advice((("launch", _started_by(line.command, name)),), (), others)
        in_the_way.setdefault(name, found)
    notices = tuple(_stranger(name, found, lines) for name, found in list(in_the_way.items())[:1])
    if len(lines) == 1:
        return Advice((("launch", lines[0].command),), notices, others)
    return Advice(tuple((f"launch, {line.mpi}", line.command) for line in lines), notices, others)


def _only_line(receipt: Receipt, form: str) -> tuple[LaunchLine, ...]:
    """Formats for one MPI whose launcher has a name that others use as well."""
    return (LaunchLine(LAUNCHERS[form].name, form, receipt.launch),) if form in NAMES else ()


def _installed(lines: tuple[LaunchLine, ...], environment: Dictionary[str, str]) -> Iterator[tuple[str, str]]:
    """Launchers to ask: the name to type and the path, the word of the first command first."""
    if environment.get("SLURM_JOB_ID") and any(line.family == "slurm" for line in lines):
        srun = shutil.which("srun", path=environment.get("PATH"))
        if srun:
            yield "srun", srun
    words = lines[0].command.split(" ")
    first = words[_launcher_word(words)]
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
        return asked(path, PATIENCE)
    except UnsupportedError:
        return None


def _fits(line: LaunchLine, found: Launcher) -> bool:
    # The newer command is also that of versions to come, and of PRRTE, which counts otherwise.
    version = "4" if found.form == "openmpi" and found.version == "4" else "5"
    return line.family == found.form and (not line.version or line.version == version)


def _started_by(command: str, name: str) -> str:
    """Return a command with another name for its launcher, behind variables set for it."""
    words = command.split(" ")
    place = _launcher_word(words)
    return " ".join([*words[:place], shlex.quote(name), *words[place + 1 :]])


def _launcher_word(words: list[str]) -> int:
    """Place of the launcher in a command: behind variables set for it and the command of a batch system."""
    known = {"srun", *(name for names in NAMES.values() for name in names)}
    return next(place for place, word in enumerate(words) if word in known)


def _stranger(name: str, found: Launcher, lines: tuple[LaunchLine, ...]) -> str:
    expected = " or ".join(line.mpi for line in lines)
    version = f" {found.version}" if found.version else ""
    other = f"`write(format={found.form!r})`"
    return f"{name} is that of {found.name}{version} here, expected {expected} (or {other})"
