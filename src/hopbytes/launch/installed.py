"""Launchers that are installed: which one a command names, and which of several commands fits this host."""

from __future__ import annotations

import dataclasses
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from collections.abc import Mapping as Dictionary

from hopbytes._frozen import frozen
from hopbytes.errors import UnsupportedError
from hopbytes.formats.base import LaunchLine
from hopbytes.formats.exchange import Receipt
from hopbytes.formats.mappings.launchers import KINDS, LAUNCHERS, STEP_LIMITS, Launcher

#: An assignment of an environment variable, in a shell or on the command line of a launcher.
ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)=.*", re.DOTALL)
#: Patterns in the output of ``--version`` and the launcher each belongs to. The order matters: the output of
#: Intel's mpiexec.hydra also contains HYDRA.
_VERSION_PATTERNS = (
    (re.compile(r"\((?:Open MPI|OpenRTE)\) (\d+)"), "openmpi"),
    (re.compile(r"prte[a-z]* .*?(\d+)\.\d+", re.IGNORECASE), "openmpi"),
    (re.compile(r"Intel\(R\) MPI()"), "intel"),
    (re.compile(r"HYDRA()"), "hydra"),
    (re.compile(r"PALS()", re.IGNORECASE), "pals"),
)
#: Programs that submit a script to a queue.
SUBMITTERS = ("sbatch", "qsub", "bsub", "oarsub", "msub", "condor_submit")
#: Time limit in seconds for ``LAUNCHER --version`` when a command is advised; it usually takes about 0.01 s.
VERSION_TIMEOUT = 5.0
#: A word of a command as a shell reads it, with its quotes.
WORD = re.compile(r"""(?:[^\s'"]|'[^']*'|"[^"]*")+""")
#: Variables that modules and installers set to the folder of an MPI; that folder may be missing in PATH.
FOLDERS = ("I_MPI_ROOT", "MPI_HOME", "MPI_ROOT", "OPAL_PREFIX")


def recognise(words: list[str], kind: str | None = None) -> tuple[Launcher, int]:
    """Return the launcher at the start of a command, and the number of words it takes up."""
    before = _prefix(words)
    if len(words) == before:
        raise UnsupportedError("no command, expected a launcher after -- such as: -- mpirun -n 64 ./app")
    word = words[before]
    name, path = os.path.basename(word), shutil.which(word)
    if name in SUBMITTERS:
        raise UnsupportedError(
            f"{word} submits a job and starts no ranks: call hopbytes inside the job script, in front of "
            "srun or mpirun"
        )
    if path is None:
        what = "not installed or not in PATH, expected a launcher such as mpirun -n 16 ./app"
        raise UnsupportedError(f"{word}: {what}")
    if kind is not None:
        if kind not in KINDS:
            raise UnsupportedError(f"`launcher={kind!r}`: unknown kind, expected one of {', '.join(KINDS)}")
        version = version_in_path() if kind == "openmpi" else ""
        return dataclasses.replace(KINDS[kind], version=version), before + 1 + (kind == "flux")
    if name in ("srun", "mpirun_rsh"):
        return LAUNCHERS["slurm" if name == "srun" else "mvapich"], before + 1
    if name == "flux":
        if words[before + 1 : before + 2] not in (["run"], ["submit"]):
            raise UnsupportedError("flux: expected flux run")
        return LAUNCHERS["flux"], before + 2
    launcher = identify_launcher(path)
    if launcher is not None:
        return launcher, before + 1
    names = ", ".join(launcher.name for launcher in LAUNCHERS.values())
    raise UnsupportedError(
        f"{word}: not a known launcher, expected one of {names}, such as mpirun -n 16 ./app; for a wrapper, "
        "`launcher=KIND` of record names the launcher it stands for"
    )


def _prefix(words: list[str]) -> int:
    """Return the number of words before the launcher: ``env`` and its assignments."""
    if not words or os.path.basename(words[0]) != "env":
        return 0
    size = 1
    while size < len(words) and ASSIGNMENT.fullmatch(words[size]):
        size += 1
    if size < len(words) and words[size].startswith("-"):
        raise UnsupportedError(f"env {words[size]}: expected assignments only, as in: env NAME=x mpirun …")
    return size


def version_in_path() -> str:
    """Return the version of Open MPI in PATH; "" if there is none."""
    try:
        launcher, _ = recognise(["mpirun"])
    except UnsupportedError:
        return ""
    return launcher.version if launcher.form == "openmpi" else ""


def identify_launcher(path: str, timeout: float = 60) -> Launcher | None:
    """Return the launcher that a program is, by the output of its ``--version``; None if it is unknown."""
    try:
        done = subprocess.run(
            [path, "--version"], capture_output=True, text=True, errors="replace", timeout=timeout,
            stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise UnsupportedError(f"{path} --version: {type(error).__name__}, expected its version") from None
    for pattern, form in _VERSION_PATTERNS:
        match = pattern.search(done.stdout + done.stderr)
        if match:
            return dataclasses.replace(LAUNCHERS[form], version=match[1])
    return None


def without_limits(environment: Dictionary[str, str]) -> tuple[str, ...]:
    """Return the words in front of srun that take the limits of a job away, () where there are none."""
    # A mapping says which CPUs ranks run on; with a number of CPUs per task, srun gives a step that many of
    # its own choice and refuses the others (tried with 24.11 and 26.05).
    limits = [name for name in STEP_LIMITS if name in environment]
    return ("env", *(word for name in limits for word in ("-u", name))) if limits else ()


def silent_end(launcher: Launcher, words: Sequence[str], code: int) -> str:
    """Return the known reason for which a launcher ends with a code and no message; "" if there is none."""
    names = {word.lstrip("-").partition("=")[0] for word in words if word.startswith("-")}
    if code != 1 or launcher.form != "openmpi" or launcher.version != "4" or not names & {"rf", "rankfile"}:
        return ""
    return "Open MPI 4 ends without a message if a rank file names a core that its host does not have"


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
    """Return the command for the installed MPI, or the commands for all MPIs if none is found."""
    # Runs ``LAUNCHER --version`` for at most a few launchers, each with a time limit of five seconds.
    if not receipt.launch:
        return Advice()
    lines = receipt.lines
    if not lines and form in LAUNCHERS and LAUNCHERS[form].programs:
        # The launcher of a single MPI, which shares its name with others.
        lines = (LaunchLine(LAUNCHERS[form].name, form, receipt.launch),)
    if not lines:
        return Advice((("launch", _without_limits(receipt.launch, form, environment)),))
    others = tuple((line.mpi, line.command) for line in receipt.lines)
    notices: tuple[str, ...] = ()
    for name, path in _installed(lines, environment):
        launcher = _launcher(path)
        if launcher is None:
            continue
        for line in lines:
            if _fits(line, launcher):
                word, command = _launcher_word(line.command), line.command
                named = f"{command[: word.start()]}{shlex.quote(name)}{command[word.end() :]}"
                return Advice((("launch", named),), (), others)
        if not notices:
            installed = f"{launcher.name} {launcher.version}".strip()
            wanted, other = " or ".join(line.mpi for line in lines), f"`write(format={launcher.form!r})`"
            notices = (f"{name} on this host is {installed}, expected {wanted} (or {other})",)
    if len(lines) == 1:
        return Advice((("launch", lines[0].command),), notices, others)
    return Advice(tuple((f"launch, {line.mpi}", line.command) for line in lines), notices, others)


def _installed(lines: Sequence[LaunchLine], environment: Dictionary[str, str]) -> Iterator[tuple[str, str]]:
    """Yield installed launchers as (name to type, path); the launcher of the first command comes first."""
    families = dict.fromkeys(line.family for line in lines)
    path_of_job = environment.get("PATH")
    if environment.get("SLURM_JOB_ID") and "slurm" in families:
        srun = shutil.which("srun", path=path_of_job)
        if srun:
            yield "srun", srun
    first = _launcher_word(lines[0].command)[0]
    names = dict.fromkeys((first, *(name for family in families for name in LAUNCHERS[family].programs)))
    candidates = [(name, path_of_job, name) for name in names]
    folders = [str(environment[variable]) for variable in FOLDERS if environment.get(variable)]
    candidates += [(name, os.path.join(folder, "bin"), "") for folder in folders for name in names]
    seen = set()
    for name, folder, typed in candidates:
        path = shutil.which(name, path=folder)
        if path and os.path.realpath(path) not in seen:
            seen.add(os.path.realpath(path))
            yield typed or path, path


def _launcher(path: str) -> Launcher | None:
    if os.path.basename(path) == "srun":
        return LAUNCHERS["slurm"]
    try:
        return identify_launcher(path, VERSION_TIMEOUT)
    except UnsupportedError:
        return None


def _fits(line: LaunchLine, launcher: Launcher) -> bool:
    # Versions after 5 and PRRTE, which has its own version numbers, take the command of version 5.
    version = "4" if launcher.form == "openmpi" and launcher.version == "4" else "5"
    return line.family == launcher.form and (not line.version or line.version == version)


def _without_limits(command: str, form: str, environment: Dictionary[str, str]) -> str:
    """Return a command whose srun does not see how many CPUs the job has for a task."""
    words = without_limits(environment) if form in ("slurm", "cray") else ()
    start = _launcher_word(command).start() if words else 0
    return command[:start] + "".join(f"{word} " for word in words) + command[start:]


def _launcher_word(command: str) -> re.Match[str]:
    """Return the launcher in a command, after assignments and a batch system's command."""
    known = {"srun", *(name for launcher in LAUNCHERS.values() for name in launcher.programs)}
    return next(word for word in WORD.finditer(command) if word[0] in known)
