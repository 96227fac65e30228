"""Launchers: how each is recognised, which options take a value, and which determine where ranks run."""

from __future__ import annotations

import dataclasses
import os
import re
import shutil
import subprocess
from collections.abc import Mapping as Dictionary
from collections.abc import Sequence

from hopbytes._frozen import frozen
from hopbytes.errors import UnsupportedError
from hopbytes.launch.launcher_options import (
    FLUX_PLACING,
    FLUX_VALUES,
    HYDRA_PLACING,
    HYDRA_VALUES,
    MVAPICH_PLACING,
    MVAPICH_VALUES,
    OMPI_PLACING,
    OMPI_VALUES,
    PALS_VALUES,
    SLURM_PLACING,
    SLURM_VALUES,
)


@frozen
class Launcher:
    """Properties of the command line of a launcher."""

    name: str  # name in messages
    form: str  # name of the launch format that it reads
    rank_variable: str  # environment variable with the rank of a process
    #: options are written without dashes. Options that are not listed stand alone.
    values: Dictionary[str, int]
    placing: frozenset[str]  # options that determine where ranks run; those of a mapping replace them
    #: options that name the hosts; if the user gives one, that of the mapping is left out
    hosts: frozenset[str] = frozenset()
    counts: tuple[str, ...] = ("n", "np")  # options for the number of ranks
    several: frozenset[str] = frozenset()  # options that start several programs at once
    #: environment variable with the launcher's name of the host; "" means that ``hostname`` is called
    host_variable: str = ""
    #: the launcher accepts the number of ranks either per node or in total; a mapping needs it per node
    counts_per_node: bool = False
    version: str = ""  # version of the installed launcher, if its options depend on the version
    settings: tuple[str, ...] = ()  # prefixes of MCA parameters that place or bind ranks
    assigns: bool = False  # variables for the ranks are given as words NAME=VALUE after the options


def _ones(names: str, **more: int) -> dict[str, int]:
    return dict.fromkeys(names.split(), 1) | more


_OPEN_MPI = Launcher(
    "Open MPI", "openmpi", "OMPI_COMM_WORLD_RANK",
    _ones(OMPI_VALUES, mca=2, gmca=2, prtemca=2, pmixmca=2, gpmixmca=2, gprtemca=2),
    frozenset(OMPI_PLACING.split()),
    hosts=frozenset({"hostfile", "machinefile", "host", "H", "default-hostfile"}),
    counts=("n", "np", "c"), several=frozenset({"app"}),
    settings=("rmaps", "hwloc_base_binding_policy", "hwloc_base_cpu_set"),
)
_SLURM = Launcher(
    "Slurm", "slurm", "SLURM_PROCID", _ones(SLURM_VALUES), frozenset(SLURM_PLACING.split()),
    counts=("n", "ntasks"), several=frozenset({"multi-prog"}), host_variable="SLURMD_NODENAME",
)
_HYDRA = Launcher(
    "Hydra", "hydra", "PMI_RANK", _ones(HYDRA_VALUES, genv=2, env=2), frozenset(HYDRA_PLACING.split()),
    several=frozenset({"configfile"}),
)
_PALS = Launcher(
    "PALS", "pals", "PALS_RANKID", _ones(PALS_VALUES),
    frozenset({"ppn", "N", "hostfile", "hosts", "host", "cpu-bind", "exclude"}),
    several=frozenset({"configfile"}),
)
_FLUX = Launcher(
    "Flux", "flux", "FLUX_TASK_RANK", _ones(FLUX_VALUES),
    frozenset(FLUX_PLACING.split()), counts=("n", "ntasks"), counts_per_node=True,
)
_MVAPICH = Launcher(
    "MVAPICH", "mvapich", "MV2_COMM_WORLD_RANK", _ones(MVAPICH_VALUES), frozenset(MVAPICH_PLACING.split()),
    several=frozenset({"config", "configfile"}), assigns=True,
)
LAUNCHERS: dict[str, Launcher] = {
    "openmpi": _OPEN_MPI,
    "slurm": _SLURM,
    "hydra": _HYDRA,
    "intel": dataclasses.replace(_HYDRA, name="Intel MPI", form="intel"),
    "pals": _PALS,
    "flux": _FLUX,
    "mvapich": _MVAPICH,
}

#: An unknown launcher: its options are not interpreted, and its program is the first executable word.
OTHER = Launcher("another launcher", "other", "", {}, frozenset(), counts=())
#: Values of the option ``--launcher``.
KINDS = {**LAUNCHERS, "other": OTHER}
#: An assignment of an environment variable, in a shell or on the command line of a launcher.
ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)=.*", re.DOTALL)

#: Patterns in the output of ``--version`` and the launcher each belongs to. The order matters: the output of
#: Intel's mpiexec.hydra also contains HYDRA.
_VERSION_PATTERNS = (
    (re.compile(r"\((?:Open MPI|OpenRTE)\) (\d+)"), "openmpi"),
    (re.compile(r"prte[a-z]* .*?(\d+)\.\d+", re.IGNORECASE), "openmpi"),
    (re.compile(r"Intel\(R\) MPI"), "intel"),
    (re.compile(r"HYDRA"), "hydra"),
    (re.compile(r"PALS", re.IGNORECASE), "pals"),
)


#: Variables of a job that srun takes as limits of a step (all of them since 23.11): it would choose the CPUs.
STEP_LIMITS = ("SLURM_CPUS_PER_TASK", "SRUN_CPUS_PER_TASK", "SLURM_TRES_PER_TASK")

#: Programs that submit a script to a queue.
SUBMITTERS = ("sbatch", "qsub", "bsub", "oarsub", "msub", "condor_submit")


def recognise(words: list[str], kind: str | None = None) -> tuple[Launcher, int]:
    """Return the launcher at the start of a command, and the number of words it takes up."""
    before = _prefix(words)
    if len(words) == before:
        raise UnsupportedError("no command, expected a launcher after -- such as: -- mpirun -n 64 ./app")
    word = words[before]
    if os.path.basename(word) in SUBMITTERS:
        raise UnsupportedError(
            f"{word} submits a job and starts no ranks: call hopbytes inside the job script, in front of "
            "srun or mpirun"
        )
    path = shutil.which(word)
    if path is None:
        what = "not installed or not in PATH, expected a launcher such as mpirun -n 16 ./app"
        raise UnsupportedError(f"{word}: {what}")
    if kind is not None:
        if kind not in KINDS:
            raise UnsupportedError(f"`launcher={kind!r}`: unknown kind, expected one of {', '.join(KINDS)}")
        return _with_version(KINDS[kind], _version_in_path(kind)), before + 1 + (kind == "flux")
    name = os.path.basename(word)
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
    suggestion = "; for a wrapper, `launcher=KIND` of record names the launcher it stands for"
    what = f"no known launcher, expected one of {names}, such as mpirun -n 16 ./app"
    raise UnsupportedError(f"{word}: {what}{suggestion}")


def without_limits(environment: Dictionary[str, str]) -> tuple[str, ...]:
    """Return the words in front of srun that take the limits of a job away, () where there are none.

    A mapping says which CPUs ranks run on; with a number of CPUs per task, srun gives a step that many of its
    own choice and refuses the others (tried with 24.11 and 26.05).
    """
    found = [name for name in STEP_LIMITS if name in environment]
    return ("env", *(word for name in found for word in ("-u", name))) if found else ()


def silent_end(launcher: Launcher, words: Sequence[str], code: int) -> str:
    """Return the known reason for which a launcher ends with a code and no message; "" if there is none."""
    names = {word.lstrip("-").partition("=")[0] for word in words if word.startswith("-")}
    if code != 1 or launcher.form != "openmpi" or launcher.version != "4" or not names & {"rf", "rankfile"}:
        return ""
    return "Open MPI 4 ends without a message if a rank file names a core that its host does not have"


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


def _version_in_path(kind: str) -> str:
    """Return the version of the launcher of that kind in PATH, if it matters; "" if there is none."""
    if kind != "openmpi":
        return ""
    try:
        found, _ = recognise(["mpirun"])
    except UnsupportedError:
        return ""
    return found.version if found.form == kind else ""


def identify_launcher(path: str, timeout: float = 60) -> Launcher | None:
    """Return the launcher that a program is, by the output of its ``--version``; None if it is unknown."""
    output = _version_output(path, timeout)
    for pattern, known in _VERSION_PATTERNS:
        found = pattern.search(output)
        if found:
            version = found[1] if found.groups() else ""
            return _with_version(LAUNCHERS[known], version)
    return None


def _with_version(launcher: Launcher, version: str) -> Launcher:
    return dataclasses.replace(launcher, version=version)


def _version_output(path: str, timeout: float) -> str:
    try:
        done = subprocess.run(
            [path, "--version"], capture_output=True, text=True, errors="replace", timeout=timeout,
            stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise UnsupportedError(f"{path} --version: {type(error).__name__}, expected its version") from None
    return done.stdout + done.stderr
