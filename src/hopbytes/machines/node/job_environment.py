"""What a resource manager tells the processes of a job: hosts, slots on each, cores per task."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from hopbytes._frozen import frozen
from hopbytes.errors import FormatError, UnsupportedError
from hopbytes.textio.cpu_lists import parse_list
from hopbytes.textio.hostlist import MAX_HOSTS, expand_hosts

Environment = Mapping[str, str]
COUNT = re.compile(r"([0-9]{1,9})(?:\(x([0-9]{1,9})\))?", re.ASCII)
MAX_LINE = 2**16


@frozen
class JobInfo:
    """A job as its resource manager describes it.

    Parameters
    ----------
    system : str
        Name for people: ``Slurm``, ``PBS`` …
    hosts : tuple of str
        In the order of the system, each once.
    cpus : tuple of int or None
        CPUs of the job on every host (hardware threads or cores, as the system counts); None: not said.
    tasks : tuple of int or None
        Tasks the job was asked to have on every host; None: not said.
    cpus_per_task : int or None
    notices : tuple of str
    """

    system: str
    hosts: tuple[str, ...]
    cpus: tuple[int, ...] | None = None
    tasks: tuple[int, ...] | None = None
    cpus_per_task: int | None = None
    notices: tuple[str, ...] = ()


def find_job(environment: Environment) -> JobInfo | None:
    """Return the job that the environment belongs to; None outside any.

    Raises
    ------
    FormatError
        Variables or files of the job that contradict each other or cannot be read.
    """
    for sign, reader in READERS:
        if environment.get(sign):
            return reader(environment)
    return None


def manager_without_job() -> str | None:
    """Return the resource manager installed on this host, for a warning; None when there is none."""
    import shutil

    commands = {"srun": "Slurm", "qsub": "PBS", "bsub": "LSF", "oarsub": "OAR"}
    return next((name for command, name in commands.items() if shutil.which(command)), None)


def same_host(a: str, b: str) -> bool:
    """Tell whether two names are of one host, one perhaps without its domain."""
    return a == b or a.partition(".")[0] == b or b.partition(".")[0] == a


def slurm_job(environment: Environment) -> JobInfo:
    """Read the variables of Slurm (srun(1), sbatch(1): OUTPUT ENVIRONMENT VARIABLES)."""
    name = next(n for n in ("SLURM_JOB_NODELIST", "SLURM_NODELIST") if environment.get(n))
    hosts = _distinct(expand_hosts(environment[name], name), name)
    cpus = _counts(environment, "SLURM_JOB_CPUS_PER_NODE", len(hosts))
    tasks = _counts(environment, "SLURM_TASKS_PER_NODE", len(hosts))
    if "SLURM_NTASKS" not in environment and "SLURM_NTASKS_PER_NODE" not in environment:
        tasks = None  # Slurm then fills in one per CPU, which the user did not ask for
    return JobInfo("Slurm", hosts, cpus, tasks, _number(environment, "SLURM_CPUS_PER_TASK"))


def pbs_job(environment: Environment) -> JobInfo:
    """Read the host file of PBS or Torque: a line for every task (mpiprocs)."""
    hosts, slots = read_slots(environment["PBS_NODEFILE"])
    threads = _number(environment, "OMP_NUM_THREADS")
    cpus = _number(environment, "NCPUS")
    return JobInfo("PBS", hosts, None if cpus is None else (cpus,) * len(hosts), slots, threads)


def lsf_job(environment: Environment) -> JobInfo:
    """Read the variables of LSF: ``LSB_MCPU_HOSTS="h1 16 h2 16"``, or names repeated for every slot."""
    words = environment.get("LSB_MCPU_HOSTS", "").split()
    if words:
        if len(words) % 2 or not all(word.isdecimal() for word in words[1::2]):
            raise FormatError("LSB_MCPU_HOSTS", None, f"{' '.join(words)[:60]!r}, expected HOST SLOTS …")
        hosts, slots = _summed([(h, int(s)) for h, s in zip(words[::2], words[1::2], strict=True)])
    else:
        hosts, slots = _summed([(host, 1) for host in environment["LSB_HOSTS"].split()])
    _check(hosts, "LSB_MCPU_HOSTS")
    if len(slots) > 1 and slots[0] == 1 and min(slots[1:]) > 1:
        # Some sites put the host that runs the job's script first.
        notice = f"{hosts[0]} has one slot, the others more: taken for the host that starts the job, left out"
        return JobInfo("LSF", hosts[1:], slots[1:], None, notices=(notice,))
    return JobInfo("LSF", hosts, slots)


def oar_job(environment: Environment) -> JobInfo:
    """Read the host file of OAR: a line for every core."""
    hosts, slots = read_slots(environment["OAR_NODEFILE"])
    return JobInfo("OAR", hosts, slots)


def grid_engine_job(environment: Environment) -> JobInfo:
    """Read the host file of Grid Engine: ``host slots queue processors``."""
    path = environment["PE_HOSTFILE"]
    rows = []
    for number, words in _lines(path):
        if len(words) < 2 or not words[1].isdecimal():
            raise FormatError(path, number, f"{' '.join(words)[:60]!r}, expected HOST SLOTS QUEUE PROCESSORS")
        rows.append((words[0], int(words[1])))
    hosts, slots = _summed(rows)
    _check(hosts, path)
    return JobInfo("Grid Engine", hosts, None, slots)


def flux_job(environment: Environment) -> JobInfo:
    """Ask Flux for the resources of the instance this runs in."""
    import subprocess

    command = ("flux", "kvs", "get", "resource.R")
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise UnsupportedError(f"inside Flux, but '{' '.join(command)}' failed: {error}") from None
    if done.returncode:
        message = " ".join(done.stderr.split())[:120]
        raise UnsupportedError(f"inside Flux, but '{' '.join(command)}' failed: {message}")
    return read_flux(done.stdout)


def read_flux(text: str, where: str = "resource.R") -> JobInfo:
    """Read resources as Flux writes them (R, version 1; Flux RFC 20).

    Raises
    ------
    FormatError
        Other text, or ranks without a host.
    """
    try:
        execution: dict[str, Any] = json.loads(text)["execution"]
        hosts = [host for item in execution["nodelist"] for host in expand_hosts(item, where)]
        cores = [0] * len(hosts)
        for entry in execution["R_lite"]:
            count = len(_numbers(entry["children"]["core"]))
            for rank in _numbers(str(entry["rank"])):
                cores[rank] = count
    except (ValueError, KeyError, TypeError, IndexError, RecursionError) as error:
        if isinstance(error, FormatError):
            raise
        raise FormatError(where, None, "no resources of Flux, expected R in version 1") from None
    return JobInfo("Flux", _distinct(hosts, where), tuple(cores))


def host_file_job(environment: Environment) -> JobInfo:
    """Read the host file that Open MPI was told to use by default."""
    name = next(n for n in OPEN_MPI if environment.get(n))
    hosts, slots = read_slots(environment[name])
    return JobInfo("Open MPI", hosts, None, slots)


OPEN_MPI = ("PRTE_MCA_prte_default_hostfile", "OMPI_MCA_orte_default_hostfile")
READERS: Sequence[tuple[str, Callable[[Environment], JobInfo]]] = (
    ("SLURM_JOB_NODELIST", slurm_job), ("SLURM_NODELIST", slurm_job), ("PBS_NODEFILE", pbs_job),
    ("LSB_MCPU_HOSTS", lsf_job), ("LSB_HOSTS", lsf_job), ("OAR_NODEFILE", oar_job),
    ("PE_HOSTFILE", grid_engine_job), ("FLUX_URI", flux_job),
    *((name, host_file_job) for name in OPEN_MPI),
)  # fmt: skip


#: Words for the number of slots in host files, as Open MPI has them, and words that it refuses.
SLOTS, MISTAKEN = ("slots", "count", "cpu"), ("slot", "cpus", "cores", "np", "ppn")


def read_slots(path: str) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """Read a host file with slots: names repeated, ``name slots=4`` or ``name:4``.

    Returns
    -------
    hosts, slots : tuples
        Every host once, in the order of first mention; its slots in all lines together.

    Raises
    ------
    FormatError
        Unreadable, no host, a bad name or number.
    """
    rows = []
    for number, words in _lines(path):
        found = re.fullmatch(r"([^:]+)(?::([0-9]{1,9}))?", words[0], re.ASCII)
        options = [(key, count) for key, equals, count in (w.partition("=") for w in words[1:]) if equals]
        stated = [count for key, count in options if key in SLOTS]
        counts = [count for count in (found[2] if found else None, *stated) if count is not None]
        mistaken = any(key in MISTAKEN for key, _ in options) or len(counts) > 1
        if found is None or mistaken or not all(c.isdecimal() and len(c) < 10 for c in counts):
            what = f"{' '.join(words)[:60]!r}, expected HOST, HOST:N or HOST slots=N"
            raise FormatError(path, number, what)
        rows += [(host, int(counts[0]) if counts else 1) for host in expand_hosts(found[1], path, number)]
        if len(rows) > MAX_HOSTS:
            raise FormatError(path, number, f"more than {MAX_HOSTS} hosts")
    hosts, slots = _summed(rows)
    _check(hosts, path)
    return hosts, slots


def _lines(path: str) -> list[tuple[int, list[str]]]:
    """Numbered lines of a file as words, without comments."""
    rows = []
    try:
        with open(path, encoding="utf-8-sig", errors="replace") as stream:
            for number, line in enumerate(iter(lambda: stream.readline(MAX_LINE), ""), start=1):
                words = line.partition("#")[0].split()
                if words:
                    rows.append((number, words))
                if number > MAX_HOSTS * 64:
                    raise FormatError(path, number, "too many lines, expected a file of hosts")
    except OSError as error:
        raise FormatError(path, None, f"{error.strerror}, expected a file of hosts") from None
    return rows


def _summed(rows: Sequence[tuple[str, int]]) -> tuple[tuple[str, ...], tuple[int, ...]]:
    slots: dict[str, int] = {}
    for host, count in rows:
        slots[host] = slots.get(host, 0) + count
    return tuple(slots), tuple(slots.values())


def _check(hosts: Sequence[str], where: str) -> None:
    if not hosts:
        raise FormatError(where, None, "no host, expected one or more")
    for host in hosts:
        expand_hosts(host, where)


def _distinct(hosts: Sequence[str], where: str) -> tuple[str, ...]:
    if len(set(hosts)) != len(hosts):
        raise FormatError(where, None, "a host twice, expected every host once")
    return tuple(hosts)


def _counts(environment: Environment, name: str, hosts: int) -> tuple[int, ...] | None:
    """Numbers per host in Slurm's short form, ``72(x2),36``."""
    text = environment.get(name)
    if not text:
        return None
    counts: list[int] = []
    for word in text.split(","):
        found = COUNT.fullmatch(word.strip())
        if found is None or int(found[2] or 1) > MAX_HOSTS:
            raise FormatError(name, None, f"{text[:60]!r}, expected counts like 72(x2),36")
        counts += [int(found[1])] * int(found[2] or 1)
        if len(counts) > hosts:
            break
    if len(counts) != hosts:
        raise FormatError(name, None, f"{text[:60]!r} for {hosts} hosts, expected one count each")
    return tuple(counts)


def _number(environment: Environment, name: str) -> int | None:
    text = environment.get(name, "")
    return int(text) if text.isdecimal() and 0 < len(text) < 7 and int(text) > 0 else None


def _numbers(text: str) -> list[int]:
    return sorted(parse_list(text, "resource.R"))
