"""A job as its resource manager describes it."""

from __future__ import annotations

import itertools
import json
import re
import shutil
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from hopbytes._frozen import frozen
from hopbytes.errors import FormatError, UnsupportedError, damaged
from hopbytes.machines.node.node_tree import Gpu, NodeTree, Part, node_tree
from hopbytes.text.cpu_lists import parse_list
from hopbytes.text.hostlist import MAX_HOSTS, distinct_hosts, expand_hosts, read_slots, short_name
from hopbytes.text.lines import some_of

Environment = Mapping[str, str]


@frozen
class JobInfo:
    """A job as its resource manager describes it."""

    system: str  # name for people: ``Slurm``, ``PBS`` …
    hosts: tuple[str, ...]  # in the order of the system, each once
    #: CPUs of the job on every host (hardware threads or cores, as the system counts); None if unknown
    cpus: tuple[int, ...] | None = None
    #: tasks the job was asked to have on every host; None if unknown. In a host file one host may have None,
    #: see :meth:`with_cores`.
    tasks: tuple[int | None, ...] | None = None
    cpus_per_task: int | None = None
    notices: tuple[str, ...] = ()
    threads_per_core: int | None = None  # hardware threads of a core that tasks use; None if unknown
    #: cores of every host and the units they lie in, and which of them the job has; None if unknown
    trees: tuple[tuple[NodeTree, frozenset[int]], ...] | None = None
    uncounted: bool = False  # a host file says the slots of no host

    @property
    def slots(self) -> dict[str, int]:
        """Tasks of every host for which the job says how many: the slots that Open MPI gives it."""
        tasks = self.tasks or (None,) * len(self.hosts)
        return {host: count for host, count in zip(self.hosts, tasks, strict=True) if count is not None}

    def with_cores(self, cores: Sequence[int]) -> JobInfo:
        """Fill in the number of cores for hosts whose slots a host file does not say, as Open MPI does."""
        tasks = self.tasks or ()
        open_ended = [host for host, count in zip(self.hosts, tasks, strict=bool(tasks)) if count is None]
        if not open_ended:
            return self
        hosts = some_of(open_ended, 1)
        notice = f"the {self.system} has no slots= or :N for {hosts}: as many tasks as cores, as in Open MPI"
        filled = None
        if len(open_ended) < len(self.hosts):
            filled = tuple(own if count is None else count for own, count in zip(cores, tasks, strict=True))
        return replace(self, tasks=filled, notices=(*self.notices, notice), uncounted=filled is None)


def number_of(environment: Environment, name: str) -> int | None:
    """Return the value of a variable if it is a number above 0."""
    text = environment.get(name, "")
    return int(text) if text.isdecimal() and 0 < len(text) < 7 and int(text) > 0 else None


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
        for found, counts in ((cpus, _counts(own, "SLURM_JOB_CPUS_PER_NODE")), (tasks, _tasks_of_slurm(own))):
            known = counts if counts is not None and len(counts) == len(hosts) else (None,) * len(hosts)
            for host, count in zip(hosts, known, strict=True):
                before = found.get(host, 0)
                found[host] = None if before is None or count is None else before + count
        sizes.add(_cpus_per_task(own))
        threads.add(_threads_per_core(own))
    together = f"{len(cpus)} host{'s' if len(cpus) != 1 else ''} together"
    notices = [f"the Slurm job has {components} components: {together}"]
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
    return a == b or short_name(a) == b or short_name(b) == a


def pbs_job(environment: Environment) -> JobInfo:
    """Read the host file of PBS or Torque: a line for every task (mpiprocs, ppn)."""
    hosts, slots = _listed(environment["PBS_NODEFILE"])
    threads, cpus = number_of(environment, "OMP_NUM_THREADS"), number_of(environment, "NCPUS")
    notices = []
    if cpus is not None and slots[0] * (threads or 1) > cpus:
        # Where nobody asked for ompthreads, both variables may be the CPUs of the first chunk, or of a task.
        asked = f"{slots[0]} tasks with OMP_NUM_THREADS={threads or 1} do not fit into NCPUS={cpus}"
        notices.append(f"{asked} on {hosts[0]}: both are ignored, one core per task")
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
    elif environment.get("LSB_HOSTS", "").strip():
        hosts, slots = _summed([(host, 1) for host in environment["LSB_HOSTS"].split()])
    elif environment.get("LSB_DJOB_HOSTFILE"):
        hosts, slots = _listed(environment["LSB_DJOB_HOSTFILE"])
    else:
        hosts, slots = (), ()
    expand_hosts(",".join(hosts), "LSB_MCPU_HOSTS")  # which refuses what is no name of a host
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
    command = ("flux", "job", "info", job, "R") if job else ("flux", "kvs", "get", RESOURCES)
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise UnsupportedError(f"inside Flux, but '{' '.join(command)}' failed: {error}") from None
    if done.returncode:
        message = " ".join(done.stderr.split())[:120]
        raise UnsupportedError(f"inside Flux, but '{' '.join(command)}' failed: {message}")
    return read_flux(done.stdout)


def read_flux(text: str) -> JobInfo:
    """Read resources as Flux writes them (R, version 1; Flux RFC 20)."""
    with damaged(RESOURCES, "the resources of Flux, R in version 1"):
        resources: dict[str, Any] = json.loads(text)
        execution: dict[str, Any] = resources["execution"]
        hosts = [host for item in execution["nodelist"] for host in expand_hosts(item, RESOURCES)]
        cores: dict[int, frozenset[int]] = {}
        for entry in execution["R_lite"]:
            own = frozenset(_numbers(entry["children"]["core"]))
            cores.update(dict.fromkeys(_numbers(str(entry["rank"])), own))
        # Ranks are those of the instance; the hosts of a job in it are listed in their order.
        granted = [cores[rank] for rank in sorted(cores)]
        if len(granted) != len(hosts):
            raise ValueError(f"{len(granted)} ranks on {len(hosts)} hosts")
    trees = _flux_trees(resources.get("scheduling"), granted, f"{RESOURCES}.scheduling")
    return JobInfo("Flux", distinct_hosts(hosts, RESOURCES), tuple(map(len, granted)), trees=trees)


#: Name of the resources of an instance in its store, and units inside nodes that Flux calls otherwise.
RESOURCES = "resource.R"
FLUX_KINDS = {"socket": "package"}


def _flux_trees(
    scheduling: Any, granted: Sequence[frozenset[int]], where: str
) -> tuple[tuple[NodeTree, frozenset[int]], ...] | None:
    """Read the units inside nodes as TreePool of flux-core 0.87 writes them, or Fluxion (RFC 40).

    None for what another scheduler writes, which is its own affair. Ranks are numbered anew in instances
    inside others, so only their order counts.
    """
    if not isinstance(scheduling, dict) or not scheduling.keys() & {"children", "graph"}:
        return None
    with damaged(where, "units inside nodes as TreePool or RFC 40 have them"):
        topos = _topos(scheduling)
        if len(topos) != len(granted):
            return None
        trees = [_flux_tree(topos[rank], where) for rank in sorted(topos)]
        if any(not own <= set(tree.os_pus.tolist()) for tree, own in zip(trees, granted, strict=True)):
            raise ValueError("a core of the job that no node has")
    return tuple(zip(trees, granted, strict=True))


def _topos(scheduling: dict[str, Any]) -> dict[int, dict[str, Any]]:
    """Return the units of every rank: lists of units by their kind, and ``cores`` in the innermost."""
    found: dict[int, dict[str, Any]] = {}
    for entry in scheduling.get("children", ()):
        found.update(dict.fromkeys(_numbers(entry["ranks"]), entry["topo"]))
    vertices = [vertex["metadata"] for vertex in scheduling.get("graph", {}).get("nodes", ())]
    kinds = {vertex["paths"]["containment"]: vertex["type"] for vertex in vertices}
    inside: dict[str, dict[str, Any]] = {}
    for path, kind in sorted(kinds.items(), key=lambda item: item[0].count("/")):
        above = inside.get(path.rpartition("/")[0])
        if kind == "node":
            inside[path] = {}
        elif above is not None and kind not in ("core", "gpu", "memory"):
            inside[path] = {}
            above.setdefault(kind, []).append(inside[path])
    for vertex in vertices:
        if vertex["type"] in ("core", "gpu"):
            unit = inside[vertex["paths"]["containment"].rpartition("/")[0]]
            numbers = f"{unit[name]}," if (name := vertex["type"] + "s") in unit else ""
            unit[name] = f"{numbers}{int(vertex['id'])}"
        elif vertex["type"] == "node":
            found[int(vertex["rank"])] = inside[vertex["paths"]["containment"]]
    return found


def _flux_tree(topo: dict[str, Any], where: str) -> NodeTree:
    """Return a node whose CPUs are its cores: Flux does not say the numbers of the operating system."""
    serial, gpus = itertools.count(), []

    def part(kind: str, unit: dict[str, Any]) -> Part:
        cores = _numbers(unit["cores"]) if "cores" in unit else []
        inner = [Part("core", core, (Part("pu", core),)) for core in cores]
        if not cores:
            inner = [part(name, one) for name, all in unit.items() if isinstance(all, list) for one in all]
        for gpu in _numbers(unit["gpus"]) if "gpus" in unit else ():
            gpus.append(Gpu(gpu, f"gpu{gpu}", tuple(cores)))
        return Part(FLUX_KINDS.get(kind, kind), next(serial), tuple(inner))

    root = part("machine", topo)
    return node_tree(root, gpus=tuple(sorted(gpus, key=lambda gpu: gpu.index)), where=where)


def host_file_job(environment: Environment) -> JobInfo:
    """Read the host file that Open MPI, MPICH or Intel MPI uses by default."""
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
    slots = Counter[str]()
    for host, count in rows:
        slots[host] += count
    return tuple(slots), tuple(slots.values())


def _numbers(text: str) -> list[int]:
    return sorted(parse_list(text, RESOURCES))
