"""A mapping as launchers see it: hosts by name, cores counted inside them, and one list of cores for all."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable
from collections.abc import Mapping as Dictionary
from math import inf
from typing import Any

import numpy as np

from hopbytes._arrays import Int32, Int64
from hopbytes._frozen import frozen
from hopbytes.errors import FormatError, InfeasibleError, UnsupportedError
from hopbytes.formats.base import Capabilities, Format, Written
from hopbytes.formats.mappings.numbering import Numbering, Numbers
from hopbytes.machines.base import NODE_NAMES
from hopbytes.model.mapping import Mapping
from hopbytes.text.hostlist import NODE_NAME, distinct_hosts, host_argument

ASSUMED_CPUS = (
    "the CPU numbers of the operating system are unknown and assumed to be the core numbers; "
    "check with: hopbytes verify"
)
ONLY_GPUS = "slots are GPUs: {stem}.place.sh shows each rank its GPU, and no rank is bound to cores"
WITH_GPUS = "slots have GPUs: {stem}.place.sh binds each rank to its cores and shows it its GPU"
RENUMBERED = "slots are renumbered inside nodes, so that one list of cores serves all; no metric changes"
PLACEHOLDERS = "host names are unknown, the file has placeholders: give `hosts`"

#: What a format can express that names the host and the cores of every rank.
ANY_MAPPING = Capabilities(
    any_host_order=True, scattered_ranks=True, per_rank_cores=True, per_node_cores=True,
    several_cores_per_rank=True, unequal_nodes=True, gpus=True,
)


class LaunchFormat(Format):
    """Base of the formats that hold a mapping."""

    __slots__ = ()
    holds = "mapping"


@frozen
class Run:
    """`count` consecutive ranks on one node, the first of which is rank `first`."""

    node: int
    first: int
    count: int


@frozen(eq=False)
class Launch:
    """A mapping as a launcher sees it: nodes by name, and cores counted within each node."""

    mapping: Mapping
    hosts: tuple[str, ...]  # name of every node of the machine
    #: the names are placeholders, because neither the user nor the machine named the nodes
    hosts_unknown: bool
    node: Int32  # int32[n]: node of each task
    numbering: Numbering

    @property
    def n(self) -> int:
        return self.mapping.n

    @property
    def pes(self) -> list[int]:
        return sorted(set(self.mapping.pe.tolist()))

    @property
    def used_hosts(self) -> list[str]:
        """Names of the nodes in use, in machine order."""
        return [self.hosts[node] for node in sorted(set(self.node.tolist()))]

    def host(self, task: int) -> str:
        return self.hosts[int(self.node[task])]

    @property
    def binds(self) -> bool:
        """Whether slots have cores to which ranks are bound; otherwise they are GPUs without known cores."""
        return self.mapping.where.has_cores

    def cpus(self, task: int) -> Numbers:
        """CPU numbers of the operating system of a task, as taskset takes them; empty without cores."""
        where = self.mapping.where
        return self.numbering.os_cpus(where.cores_of(int(self.mapping.pe[task]))) if self.binds else ()

    def threads_of_pe(self, pe: int) -> int:
        """Number of OpenMP threads for a PE: one for each of its cores."""
        return self.numbering.whole_cores(self.mapping.where.cores_of(pe))

    @property
    def has_gpus(self) -> bool:
        return any(self.mapping.where.gpus_of(pe) for pe in self.pes)

    def gpus(self, task: int) -> Numbers:
        """GPUs of a task, counted within its node; empty if its slot has none."""
        return self.mapping.where.gpus_of(int(self.mapping.pe[task]))

    def shown_gpus(self, task: int) -> tuple[str, ...]:
        """What the variable of the GPUs' maker takes to show a task its GPUs."""
        return self.mapping.where.shown_gpus(int(self.mapping.pe[task]))

    def tasks_per_node(self) -> Int64:
        return np.bincount(self.node, minlength=len(self.hosts)).astype(np.int64)

    def most_tasks_on_a_slot(self) -> int:
        """Largest number of tasks on one PE; 1 unless slots are oversubscribed."""
        return int(self.mapping.tasks_per_pe().max())

    def beyond_slots(self) -> str:
        """Return a host with more tasks than its job, or a host file, gives it slots; "" without one."""
        job = self.mapping.where.machine.job
        slots = {} if job is None else job.slots
        counts = zip(self.hosts, self.tasks_per_node().tolist(), strict=True)
        return next((host for host, count in counts if count > slots.get(host, count)), "")

    def runs(self) -> list[Run]:
        starts = np.flatnonzero(np.diff(self.node, prepend=-1)).tolist()
        ends = [*starts[1:], self.n]
        return [Run(int(self.node[a]), a, b - a) for a, b in zip(starts, ends, strict=True)]

    def rearranged(self, mapping: Mapping) -> Launch:
        return dataclasses.replace(self, mapping=mapping, node=mapping.where.node_of_pe[mapping.pe])

    def block_runs(self, form: str) -> list[Run]:
        """Return the runs, exactly one per node in use; UnsupportedError if a format cannot express more."""
        before: dict[int, Run] = {}
        for run in self.runs():
            if run.node in before:
                last = before[run.node].first + before[run.node].count - 1
                raise UnsupportedError(
                    f"ranks {last} and {run.first} are on host {self.hosts[run.node]} but the ranks between "
                    f"them are not, which {form} cannot express: map again with `form={form!r}`, or write "
                    "openmpi, slurm or newrank"
                )
            before[run.node] = run
        return list(before.values())

    def equal_count(self, form: str) -> int:
        """Return the number of tasks on every node in use; UnsupportedError if they differ."""
        tasks = self.tasks_per_node()
        used = np.flatnonzero(tasks)
        few, many = int(used[np.argmin(tasks[used])]), int(used[np.argmax(tasks[used])])
        if tasks[few] != tasks[many]:
            raise UnsupportedError(
                f"{tasks[few]} tasks on host {self.hosts[few]} and {tasks[many]} on {self.hosts[many]}, "
                f"which {form} cannot express: map again with `tasks_per_node`, or write openmpi, slurm or "
                "newrank"
            )
        return int(tasks[few])

    def common(self, numbers: Callable[[int], Numbers]) -> tuple[Numbers, ...] | None:
        """Return the numbers of ranks by their order within the node, or None if nodes differ."""
        of_node: dict[int, list[Numbers]] = {}
        for rank, node in enumerate(self.node.tolist()):
            of_node.setdefault(node, []).append(numbers(rank))
        longest = max(of_node.values(), key=len)
        return tuple(longest) if all(own == longest[: len(own)] for own in of_node.values()) else None

    def nodelist(self) -> str:
        """Return the option of srun that names the nodes in use, if a job with all nodes has others, too."""
        if self.hosts_unknown or len(self.used_hosts) == len(self.hosts):
            return ""
        return f" --nodelist={host_argument(self.used_hosts)}"

    @property
    def placeholders(self) -> str:
        replace = f"replace {self.hosts[0]}, ... in {{stem}} by the real names"
        return f"host names are unknown: {replace}, or give `hosts`"

    def assumptions(self) -> list[str]:
        assumed = [ASSUMED_CPUS] if self.binds and not self.numbering.known else []
        return [self.placeholders, *assumed] if self.hosts_unknown else assumed

    def by_script(self, reason: str) -> str:
        """Return the notice that a script binds the ranks: `reason`, unless slots have GPUs."""
        if not self.has_gpus:
            return reason
        return WITH_GPUS if self.binds else ONLY_GPUS


def prepare(mapping: Mapping, options: Dictionary[str, Any]) -> Launch:
    """Check that a launch file can express this mapping, and count cores within nodes."""
    # Options: `hosts`, the names of all nodes; `allowed`, the CPUs of each node that the job may use;
    # `oversubscribe`, true if a slot may hold several tasks.
    if mapping.n == 0:
        raise InfeasibleError("no task to launch, expected at least one")
    where, tasks = mapping.where, mapping.tasks_per_pe()
    # A mapping of processes has several tasks on a slot only if the user asked for it. A partition has many
    # tasks on a PE, which are not processes to launch.
    shared = options.get("oversubscribe") or mapping.info.get("problem") == "processes"
    fullest = int(np.argmax(tasks))
    if tasks[fullest] > 1 and not shared:
        raise InfeasibleError(
            f"{mapping.n} tasks on {where.k} slots, {tasks[fullest]} of them on slot {fullest}, "
            "expected one per slot (`oversubscribe=True` allows more; plain and json hold any mapping)"
        )
    nodes = int(where.machine.node_of_core()[-1]) + 1
    hosts, hosts_unknown = _host_names(tuple(options.get("hosts") or where.hosts), nodes)
    launch = Launch(
        mapping, hosts, hosts_unknown, where.node_of_pe[mapping.pe],
        Numbering.of(where.machine, options.get("allowed")),
    )
    for pe in launch.pes if launch.numbering.restricted else ():
        launch.numbering.check_allowed(where.cores_of(pe), hosts[int(where.node_of_pe[pe])])
    return launch


def _host_names(hosts: tuple[str, ...], nodes: int) -> tuple[tuple[str, ...], bool]:
    if not hosts and nodes == 1:
        return ("localhost",), False
    if not hosts:
        width = max(3, len(str(nodes - 1)))
        return tuple(f"node{number:0{width}}" for number in range(nodes)), True
    if len(hosts) != nodes:
        raise InfeasibleError(f"{len(hosts)} host names for {nodes} nodes, expected one for each")
    for host in hosts:
        if not NODE_NAME.fullmatch(host):
            what = f"host name {host[:60]!r}, expected letters, digits and . _ - after a letter or digit"
            raise FormatError("hosts", None, what)
    return distinct_hosts(hosts, "hosts"), False


def refuse_gpus(launch: Launch, form: str) -> None:
    """Raise UnsupportedError for slots with GPUs in a format that cannot show every rank its own GPU."""
    if launch.has_gpus:
        raise UnsupportedError(
            f"slots have GPUs, but {form} cannot show each rank its own GPU; expected the format openmpi, "
            "slurm, hydra or newrank"
        )


@frozen
class Binding:
    """The CPUs of the ranks of every node, by the order of the ranks within the node."""

    #: the mapping that is written: the given one, or one of the same cost with slots renumbered
    launch: Launch
    #: CPUs of the first, second, … rank of a node; None if nodes need different lists, or if slots have GPUs,
    #: because then the script binds every rank and shows it its GPU
    cpus: tuple[Numbers, ...] | None
    notices: tuple[str, ...] = ()

    def written(self, files: dict[str, str], command: str, notices: Iterable[str]) -> Written:
        """Return the result of a writer; all files except the one that the user named are scripts."""
        scripts = tuple(suffix for suffix in files if suffix)
        return Written(files, command, tuple(notices), scripts, self.launch.mapping)

    @property
    def widest(self) -> int:
        """Number of OpenMP threads for the largest slot in use."""
        return max(map(self.launch.threads_of_pe, self.launch.pes)) if self.launch.binds else 1

    @property
    def openmp(self) -> str:
        """OpenMP settings that precede a command whose ranks have several cores each, with a final blank."""
        return f"OMP_NUM_THREADS={self.widest} OMP_PLACES=cores " if self.widest > 1 else ""


def common_binding(launch: Launch) -> Binding:
    """Return the binding of a mapping; slots are renumbered inside nodes if that gives one list for all."""
    # Launchers that take one list apply it to the ranks of a node in ascending order. Renumbering changes no
    # distance (`renumbered`). O(n).
    if launch.has_gpus:
        return Binding(launch, None)
    common = _common_list(launch)
    if common is not None:
        return Binding(launch, common)
    alike = launch.rearranged(dataclasses.replace(launch.mapping, pe=renumbered(launch.mapping)))
    common, usable = _common_list(alike), launch.numbering.usable
    if common is not None and all(usable[launch.mapping.where.cores_of(pe)].all() for pe in alike.pes):
        return Binding(alike, common, (RENUMBERED,))
    return Binding(launch, None)


def _common_list(launch: Launch) -> tuple[Numbers, ...] | None:
    if len(set(map(launch.threads_of_pe, launch.pes))) > 1:
        return None  # one OMP_NUM_THREADS cannot be right for slots of different sizes
    return launch.common(launch.cpus)


Shape = tuple[object, ...] | int
Tasks = tuple[int, ...]


def renumbered(mapping: Mapping) -> Int32:
    """Return int32[n], a mapping of the same cost in which nodes with equal groups use the same slots."""
    # Within every unit of a node, children of the same shape are sorted by the lowest task that they hold.
    # Tasks that share a unit still share it, so every distance and every metric stays the same; two nodes
    # that group their tasks in the same way (by rank within the node) get the same slots. A mapping to a
    # machine without named levels is returned unchanged. O(n log n + k * levels).
    machine, where = mapping.where.machine, mapping.where
    if not machine.levels:
        return mapping.pe
    node_level = machine.level_named(NODE_NAMES)
    start = 0 if node_level is None else node_level + 1
    levels = range(start, len(machine.levels))
    units = [machine.ancestors(level)[where.first_core].tolist() for level in levels]
    tasks_of: list[list[int]] = [[] for _ in range(where.k)]
    for task, pe in enumerate(mapping.pe.tolist()):
        tasks_of[pe].append(task)
    result: Int32 = mapping.pe.copy()
    boundaries = np.flatnonzero(np.diff(where.node_of_pe)) + 1
    for pes in np.split(np.arange(where.k), boundaries):
        _, arranged = _arrange(pes.tolist(), units, tasks_of, mapping)
        for pe, tasks in zip(pes.tolist(), arranged, strict=True):
            result[list(tasks)] = pe
    return result


def _arrange(
    pes: list[int], units: list[list[int]], tasks_of: list[list[int]], mapping: Mapping
) -> tuple[Shape, list[Tasks]]:
    """Return the shape of a unit, and the tasks of each of its PEs after its children were sorted."""
    if not units:
        gpus = mapping.where.gpus
        has_gpu = [gpus is not None and int(gpus[pe]) >= 0 for pe in pes]
        sizes = tuple((len(mapping.where.cores_of(pe)), own) for pe, own in zip(pes, has_gpu, strict=True))
        return sizes, [tuple(tasks_of[pe]) for pe in pes]
    children: dict[int, list[int]] = {}
    for pe in pes:
        children.setdefault(units[0][pe], []).append(pe)
    parts = [_arrange(part, units[1:], tasks_of, mapping) for part in children.values()]
    waiting: dict[Shape, list[list[Tasks]]] = {}
    for shape, part_tasks in parts:
        waiting.setdefault(shape, []).append(part_tasks)
    for alike in waiting.values():
        # The one with the lowest task is at the end, where pop() takes it.
        alike.sort(key=lambda part: min((tasks[0] for tasks in part if tasks), default=inf), reverse=True)
    arranged = [tasks for shape, _ in parts for tasks in waiting[shape].pop()]
    return tuple(shape for shape, _ in parts), arranged
