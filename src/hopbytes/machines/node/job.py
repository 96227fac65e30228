"""A job as its resource manager describes it."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from hopbytes._frozen import frozen
from hopbytes.errors import FormatError, UnsupportedError
from hopbytes.text.cpu_lists import parse_list
from hopbytes.text.hostlist import expand_hosts, read_slots


def find_job(environment: Environment) -> JobInfo | None:
    """Return the job that the environment belongs to; None outside any."""
    for sign, reader in READERS:
        if environment.get(sign):
            return reader(environment)
    return None


def manager_without_job() -> str | None:
    """Return the resource manager installed on this host, for a warning; None when there is none."""
    commands = {"srun": "Slurm", "qsub": "PBS", "bsub": "LSF", "oarsub": "OAR"}
    return next((name for command, name in commands.items() if shutil.which(command)), None)


def missing_list(environment: Environment) -> str | None:
    """Say which variable is missing where others of a job are set; None where none is."""
    for sign, name in WITHOUT_LIST.items():
        if environment.get(sign):
            return f"{sign} is set, but " + (f"{name} is not" if name else "no variable names the hosts")
    return None


def same_host(a: str, b: str) -> bool:
    """Tell whether two names are of one host, one perhaps without its domain."""
    return a == b or a.partition(".")[0] == b or b.partition(".")[0] == a


def pbs_job(environment: Environment) -> JobInfo:
    """Read the host file of PBS or Torque: a line for every task (mpiprocs, ppn)."""
    hosts, slots = _listed(environment["PBS_NODEFILE"])
    threads, cpus = number_of(environment, "OMP_NUM_THREADS"), number_of(environment, "NCPUS")
    notices = []
    if cpus is not None and slots[0] * (threads or 1) > cpus:
        # Where nobody asked for ompthreads, both variables may be the CPUs of the first chunk, or of a task.
        asked = f"{slots[0]} tasks with OMP_NUM_THREADS={threads or 1} do not fit into NCPUS={cpus}"
        notices.append(f"{asked} on {hosts[0]}: both are left aside, one core per task")
        threads = cpus = None
    of_hosts = None if cpus is None else (cpus,) * len(hosts)
    return JobInfo("PBS", hosts, of_hosts, slots, threads, tuple(notices))


def lsf_job(environment: Environment) -> JobInfo:
    """Read the variables of LSF: ``LSB_MCPU_HOSTS="h1 16 h2 16"``, or names repeated for every slot."""
    words = environment.get("LSB_MCPU_HOSTS", "").split()
    if words:
        if len(words) % 2 or not all(word.isdecimal() for word in words[1::2]):
            raise FormatError("LSB_MCPU_HOSTS", None, f"{' '.join(words)[:60]!r}, expected HOST SLOTS …")
        hosts, slots = _summed([(h, int(s)) for h, s in zip(words[::2], words[1::2], strict=True)])
    elif environment.get("LSB_HOSTS"):
        hosts, slots = _summed([(host, 1) for host in environment["LSB_HOSTS"].split()])
    else:
        hosts, slots = _listed(environment["LSB_DJOB_HOSTFILE"])
    _check(hosts, "LSB_MCPU_HOSTS")
    affinity = _lsf_affinity(environment, hosts)
    if affinity is not None:
        return affinity
    batch = len(slots) > 1 and slots[0] == 1 and min(slots[1:]) > 1
    if batch and shutil.which("jsrun", path=environment.get("PATH")):
        # Where jsrun starts programs, the host of the script comes first, and no program runs there.
        notice = f"{hosts[0]} has one slot, the others more: taken for the host that starts the job, left out"
        return JobInfo("LSF", hosts[1:], slots[1:], None, notices=(notice,))
    return JobInfo("LSF", hosts, slots)


def _lsf_affinity(environment: Environment, hosts: tuple[str, ...]) -> JobInfo | None:
    """Read which CPUs each task may use: a line ``host 0,1,2,3`` for every task; None without such a file."""
    path = environment.get("LSB_AFFINITY_HOSTFILE", "")
    tasks = dict.fromkeys(hosts, 0)
    cpus: dict[str, set[int]] = {host: set() for host in hosts}
    sizes = set()
    try:
        with open(path, encoding="utf-8", errors="replace") as stream:
            for line in stream.read(MAX_AFFINITY).splitlines():
                host, *sets = line.split()
                own = parse_list(sets[0], path)
                tasks[host] += 1
                cpus[host] |= own
                sizes.add(len(own))
    except (OSError, ValueError, IndexError, KeyError):
        return None
    if not all(tasks.values()):
        return None
    per_task = sizes.pop() if len(sizes) == 1 else None
    of_hosts = tuple(len(cpus[host]) for host in hosts)
    return JobInfo("LSF", hosts, of_hosts, tuple(tasks.values()), per_task)


def oar_job(environment: Environment) -> JobInfo:
    """Read the host file of OAR: a line for every core."""
    return JobInfo("OAR", *_listed(environment["OAR_NODEFILE"]))


def grid_engine_job(environment: Environment) -> JobInfo:
    """Read the host file of Grid Engine: ``host slots queue processors``."""
    path = environment["PE_HOSTFILE"]
    hosts, slots = read_slots(path)
    if None in slots:
        raise FormatError(path, None, "a host without a number, expected HOST SLOTS QUEUE PROCESSORS")
    return JobInfo("Grid Engine", hosts, None, slots)


def flux_job(environment: Environment) -> JobInfo:
    """Ask Flux for the resources of the job, or else of the instance, this runs in."""
    import subprocess

    job = environment.get("FLUX_JOB_ID")  # unset in an instance of its own (flux alloc, flux batch)
    command = ("flux", "job", "info", job, "R") if job else ("flux", "kvs", "get", "resource.R")
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise UnsupportedError(f"inside Flux, but '{' '.join(command)}' failed: {error}") from None
    if done.returncode:
        message = " ".join(done.stderr.split())[:120]
        raise UnsupportedError(f"inside Flux, but '{' '.join(command)}' failed: {message}")
    return read_flux(done.stdout)


def read_flux(text: str, where: str = "resource.R") -> JobInfo:
    """Read resources as Flux writes them (R, version 1; Flux RFC 20)."""
    try:
        execution: dict[str, Any] = json.loads(text)["execution"]
        hosts = [host for item in execution["nodelist"] for host in expand_hosts(item, where)]
        cores: dict[int, int] = {}
        for entry in execution["R_lite"]:
            count = len(_numbers(entry["children"]["core"]))
            cores.update(dict.fromkeys(_numbers(str(entry["rank"])), count))
        # Ranks are those of the instance; the hosts of a job in it are listed in their order.
        counts = tuple(cores[rank] for rank in sorted(cores))
        if len(counts) != len(hosts):
            raise ValueError
    except (ValueError, KeyError, TypeError, IndexError, RecursionError) as error:
        if isinstance(error, FormatError):
            raise
        raise FormatError(where, None, "no resources of Flux, expected R in version 1") from None
    return JobInfo("Flux", distinct_hosts(hosts, where), counts)


def host_file_job(environment: Environment) -> JobInfo:
    """Read the host file that Open MPI, MPICH or Intel MPI was told to use by default."""
    name = next(n for n in HOST_FILES if environment.get(n))
    hosts, slots = read_slots(environment[name])
    return JobInfo(f"host file of {HOST_FILES[name]}", hosts, None, slots)


#: Variables that name a host file: of mpirun 5, of mpirun 4, of Hydra, of Intel's Hydra.
HOST_FILES = {
    "PRTE_MCA_prte_default_hostfile": "Open MPI", "OMPI_MCA_orte_default_hostfile": "Open MPI",
    "HYDRA_HOST_FILE": "MPICH", "I_MPI_HYDRA_HOST_FILE": "Intel MPI",
}  # fmt: skip
#: The manager started last comes first: Flux runs inside jobs of others.
READERS: Sequence[tuple[str, Callable[[Environment], JobInfo]]] = (
    ("FLUX_URI", flux_job), ("SLURM_JOB_NODELIST", slurm_job), ("SLURM_NODELIST", slurm_job),
    ("SLURM_JOB_NODELIST_HET_GROUP_0", slurm_job), ("PBS_NODEFILE", pbs_job),
    ("LSB_MCPU_HOSTS", lsf_job), ("LSB_HOSTS", lsf_job), ("LSB_DJOB_HOSTFILE", lsf_job),
    ("OAR_NODEFILE", oar_job), ("PE_HOSTFILE", grid_engine_job),
    *((name, host_file_job) for name in HOST_FILES),
)  # fmt: skip
WITHOUT_LIST = {
    "SLURM_JOB_ID": "SLURM_JOB_NODELIST", "PBS_JOBID": "PBS_NODEFILE", "LSB_JOBID": "LSB_MCPU_HOSTS",
    "FLUX_JOB_ID": "FLUX_URI", "OAR_JOB_ID": "OAR_NODEFILE", "SGE_TASK_ID": "PE_HOSTFILE",
    "OMPI_COMM_WORLD_SIZE": "", "PMI_SIZE": "",
}  # fmt: skip
MAX_AFFINITY = 2**26


def _listed(path: str) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """Hosts of a file with a line for every slot, and the number of lines of each."""
    hosts, slots = read_slots(path)
    return hosts, tuple(1 if count is None else count for count in slots)


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


def _numbers(text: str) -> list[int]:
    return sorted(parse_list(text, "resource.R"))
