"""Launchers: how each is recognised, which options take a value, and which say where ranks go."""

from __future__ import annotations

import dataclasses
import os
import re
import shutil
import subprocess
from collections.abc import Mapping as Dictionary
from dataclasses import dataclass

from hopbytes.errors import UnsupportedError
from hopbytes.launching.launcher_options import (
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


@dataclass(frozen=True, slots=True)
class Launcher:
    """What is known about a launcher's command line.

    Parameters
    ----------
    name : str
        For people.
    form : str
        Placement format it reads.
    rank_variable : str
        Environment variable with a process's number.
    values : mapping of option → number of words that follow it
        Options are written without dashes. Options that are not listed stand alone.
    placing : set of str
        Options that say where ranks go, which a placement has to replace.
    hosts : set of str
        Options that name the hosts; where the user has one, ours is left away.
    counts : tuple of str
        Options with the number of ranks.
    several : set of str
        Options that start several programs at once.
    host_variable : str
        Environment variable with the host as the launcher calls it; "": ask ``hostname``.
    counts_per_node : bool
        It takes ranks per node or in all, but not both, and a placement needs them per node.
    version : str
        Of the installed one, where it matters.
    settings : tuple of str
        Beginnings of MCA parameters that place or bind.
    assigns : bool
        Variables for the ranks are words NAME=VALUE behind its options.
    """

    name: str
    form: str
    rank_variable: str
    values: Dictionary[str, int]
    placing: frozenset[str]
    hosts: frozenset[str] = frozenset()
    counts: tuple[str, ...] = ("n", "np")
    several: frozenset[str] = frozenset()
    host_variable: str = ""
    counts_per_node: bool = False
    version: str = ""
    settings: tuple[str, ...] = ()
    assigns: bool = False


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

#: A launcher nobody here knows: its program is the first word that can be executed, options are left alone.
OTHER = Launcher("another launcher", "other", "", {}, frozenset(), counts=())
#: Kinds that a command may be said to be of, as ``--launcher`` does.
KINDS = {**LAUNCHERS, "other": OTHER}
#: A variable of a shell or of a launcher whose ranks get it by its words.
ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)=.*", re.DOTALL)

#: What ``--version`` prints, and whose that is. In this order: Intel's mpiexec.hydra names itself as well.
_SAYS = (
    (re.compile(r"\((?:Open MPI|OpenRTE)\) (\d+)"), "openmpi"),
    (re.compile(r"prte[a-z]* .*?(\d+)\.\d+", re.IGNORECASE), "openmpi"),
    (re.compile(r"Intel\(R\) MPI"), "intel"),
    (re.compile(r"HYDRA"), "hydra"),
    (re.compile(r"PALS", re.IGNORECASE), "pals"),
)


#: Programs that put a script into a queue.
SUBMITTERS = ("sbatch", "qsub", "bsub", "oarsub", "msub", "condor_submit")


def recognise(words: list[str], kind: str | None = None) -> tuple[Launcher, int]:
    """Return the launcher a command begins with, and how many words that is.

    Parameters
    ----------
    words : list of str
        ``env`` with assignments may stand in front.
    kind : str, optional
        What the launcher is like, a key of `KINDS`, for the wrappers that sites have; by default its name and
        what it says of itself tell.

    Raises
    ------
    UnsupportedError
        No command, a program that is not installed, or none of the launchers known.
    """
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
        what = "not installed or not in PATH, expected a launcher such as mpirun"
        raise UnsupportedError(f"{word}: {what}")
    if kind is not None:
        if kind not in KINDS:
            raise UnsupportedError(f"`launcher={kind!r}`: no kind, expected one of {', '.join(KINDS)}")
        return _with_version(KINDS[kind], _version_in_path(kind)), before + 1 + (kind == "flux")
    name = os.path.basename(word)
    if name in ("srun", "mpirun_rsh"):
        return LAUNCHERS["slurm" if name == "srun" else "mvapich"], before + 1
    if name == "flux":
        if words[before + 1 : before + 2] not in (["run"], ["submit"]):
            raise UnsupportedError("flux: expected flux run")
        return LAUNCHERS["flux"], before + 2
    launcher = asked(path)
    if launcher is not None:
        return launcher, before + 1
    names = ", ".join(launcher.name for launcher in LAUNCHERS.values())
    way_out = "; `launcher=KIND` of record says what a wrapper is like"
    what = f"no launcher that is known, expected one of {names}, such as mpirun -n 16"
    raise UnsupportedError(f"{word}: {what}{way_out}")


def _prefix(words: list[str]) -> int:
    """Return how many words stand before the launcher: ``env`` and what it sets."""
    if not words or os.path.basename(words[0]) != "env":
        return 0
    size = 1
    while size < len(words) and ASSIGNMENT.fullmatch(words[size]):
        size += 1
    if size < len(words) and words[size].startswith("-"):
        raise UnsupportedError(f"env {words[size]}: expected assignments only, as in: env NAME=x mpirun …")
    return size


def _version_in_path(kind: str) -> str:
    """Return the version of the launcher of that kind in PATH, where it matters; "" where there is none."""
    if kind != "openmpi":
        return ""
    try:
        found, _ = recognise(["mpirun"])
    except UnsupportedError:
        return ""
    return found.version if found.form == kind else ""


def asked(path: str, patience: float = 60) -> Launcher | None:
    """Return whose launcher a program is, by what its ``--version`` prints; None where that says nothing.

    Raises
    ------
    UnsupportedError
        It cannot be started, or did not answer within `patience` seconds.
    """
    said = _version(path, patience)
    for pattern, known in _SAYS:
        found = pattern.search(said)
        if found:
            version = found[1] if found.groups() else ""
            return _with_version(LAUNCHERS[known], version)
    return None


def _with_version(launcher: Launcher, version: str) -> Launcher:
    return dataclasses.replace(launcher, version=version)


def _version(path: str, patience: float) -> str:
    try:
        done = subprocess.run(
            [path, "--version"], capture_output=True, text=True, errors="replace", timeout=patience,
            stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise UnsupportedError(f"{path} --version: {type(error).__name__}, expected its version") from None
    return done.stdout + done.stderr
