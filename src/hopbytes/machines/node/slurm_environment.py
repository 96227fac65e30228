"""Variables that Slurm sets in jobs, in steps and in the components of heterogeneous jobs."""

from __future__ import annotations

import re
from collections.abc import Collection

from hopbytes.errors import FormatError
from hopbytes.machines.node.job_info import Environment, JobInfo, distinct_hosts, number_of
from hopbytes.text.hostlist import MAX_HOSTS, expand_hosts

COUNT = re.compile(r"([0-9]{1,9})(?:\(x([0-9]{1,9})\))?", re.ASCII)
#: Hints of Slurm by which tasks use one hardware thread of a core.
ONE_THREAD = ("nomultithread", "compute_bound", "memory_bound")
CPUS_OF_TRES = re.compile(r"(?:^|,)cpu[:=]([0-9]{1,6})(?:,|$)", re.ASCII)


def slurm_job(environment: Environment) -> JobInfo:
    """Read the variables of Slurm (srun(1), sbatch(1), salloc(1): OUTPUT ENVIRONMENT VARIABLES).

    The list of hosts is that of the job, counts of tasks are those of the step this runs in, where it is one.
    """
    components = number_of(environment, "SLURM_HET_SIZE") or 1
    if any(environment.get(f"SLURM_JOB_NODELIST_HET_GROUP_{group}") for group in range(components)):
        return _heterogeneous(environment, components)
    name = next(n for n in ("SLURM_JOB_NODELIST", "SLURM_NODELIST") if environment.get(n))
    hosts = distinct_hosts(expand_hosts(environment[name], name), name)
    notices = []
    if components > 1:
        known = f"only the hosts in {name} are known ({len(hosts)})"
        notices.append(f"the Slurm job has {components} components: {known}")
    cpus = _counts(environment, "SLURM_JOB_CPUS_PER_NODE")
    if cpus is not None and len(cpus) != len(hosts):
        of = f"{len(cpus)} host{'s' if len(cpus) > 1 else ''}"
        notices.append(f"SLURM_JOB_CPUS_PER_NODE is that of {of}, not of {len(hosts)}: not used")
        cpus = None
    tasks = _tasks_of_slurm(environment)
    step = environment.get("SLURM_STEP_NODELIST")
    step_hosts = expand_hosts(step, "SLURM_STEP_NODELIST") if step else list(hosts)
    if set(step_hosts) != set(hosts) or (tasks is not None and len(tasks) != len(hosts)):
        several = f"{len(step_hosts)} host{'s' if len(step_hosts) != 1 else ''}"
        where = f"inside a step on {several}" if step else "counts of a step"
        meant = f"the {len(hosts)} hosts of the job are meant, its tasks per host are not known"
        notices.append(f"{where}: {meant}")
        tasks = None
    size, threads = _cpus_per_task(environment), _threads_per_core(environment)
    return JobInfo("Slurm", hosts, cpus, tasks, size, tuple(notices), threads)


def _heterogeneous(environment: Environment, components: int) -> JobInfo:
    """Join the components of a heterogeneous job, whose variables end in _HET_GROUP_0 …"""
    cpus: dict[str, int | None] = {}
    tasks: dict[str, int | None] = {}
    sizes, threads, unknown = set(), set(), []
    for group in range(components):
        own = _of_component(environment, group)
        name = "SLURM_JOB_NODELIST"
        if not own.get(name):
            unknown.append(f"SLURM_JOB_NODELIST_HET_GROUP_{group}")
            continue
        hosts = distinct_hosts(expand_hosts(own[name], name), name)
        for found, counts in (
            (cpus, _counts(own, "SLURM_JOB_CPUS_PER_NODE")),
            (tasks, _tasks_of_slurm(own)),
        ):
            known = counts if counts is not None and len(counts) == len(hosts) else (None,) * len(hosts)
            for host, count in zip(hosts, known, strict=True):
                before = found.get(host, 0)
                found[host] = None if before is None or count is None else before + count
        sizes.add(_cpus_per_task(own))
        threads.add(_threads_per_core(own))
    notices = [f"the Slurm job has {components} components: {len(cpus)} hosts together"]
    if unknown:
        names = ", ".join(unknown[:3])
        notices.append(f"without {names}: the hosts of {len(unknown)} components are not known")
    if len(sizes) > 1:
        notices.append("the components ask for different numbers of CPUs per task: one core each is assumed")
    size = sizes.pop() if len(sizes) == 1 else None
    used = threads.pop() if len(threads) == 1 else None
    of_hosts = _complete(cpus.values()), _complete(tasks.values())
    return JobInfo("Slurm", tuple(cpus), *of_hosts, size, tuple(notices), used)


def _of_component(environment: Environment, group: int) -> dict[str, str]:
    """Variables of a component under their plain names, which may be those of the first one already."""
    suffix = f"_HET_GROUP_{group}"
    own = {key.removesuffix(suffix): text for key, text in environment.items() if key.endswith(suffix)}
    described = group > 0 or "SLURM_JOB_NODELIST" in own
    return own if described else {key: text for key, text in environment.items() if "_GROUP_" not in key}


def _complete(counts: Collection[int | None]) -> tuple[int, ...] | None:
    known = [count for count in counts if count is not None]
    return tuple(known) if len(known) == len(counts) else None


def _tasks_of_slurm(environment: Environment) -> tuple[int, ...] | None:
    """Tasks per host, where somebody asked for them; else Slurm fills in one per CPU."""
    if "SLURM_NTASKS" not in environment and "SLURM_NTASKS_PER_NODE" not in environment:
        return None
    return _counts(environment, "SLURM_TASKS_PER_NODE")


def _cpus_per_task(environment: Environment) -> int | None:
    """CPUs per task; since 22.05 srun takes the variable with R, since 23.11 also that of all resources."""
    tres = CPUS_OF_TRES.search(environment.get("SLURM_TRES_PER_TASK", ""))
    stated = number_of(environment, "SRUN_CPUS_PER_TASK") or number_of(environment, "SLURM_CPUS_PER_TASK")
    return stated or (int(tres[1]) or None if tres else None)


def _threads_per_core(environment: Environment) -> int | None:
    hint = environment.get("SLURM_HINT", "").split(",")
    return 1 if any(word in ONE_THREAD for word in hint) else number_of(environment, "SLURM_THREADS_PER_CORE")


def _counts(environment: Environment, name: str) -> tuple[int, ...] | None:
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
        if len(counts) > MAX_HOSTS:
            raise FormatError(name, None, f"counts of more than {MAX_HOSTS} hosts")
    return tuple(counts)
