"""Common parts of launch formats: host names, cores inside a node, and checks before a file is written."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping as Dictionary
from typing import Any

import numpy as np

from hopbytes._arrays import Int32, Int64
from hopbytes._frozen import frozen
from hopbytes.errors import FormatError, InfeasibleError, UnsupportedError
from hopbytes.formats.mappings.numbering import Numbering
from hopbytes.model.mapping import Mapping
from hopbytes.text.hostlist import NODE_NAME

#: Placeholder of the user's program in a printed command.
PROGRAM = "./app"

ASSUMED_CPUS = (
    "the CPU numbers of the operating system are unknown and assumed to be the core numbers; "
    "check with: hopbytes verify"
)

ONLY_GPUS = "slots are GPUs: {stem}.place.sh shows each rank its GPU, and no rank is bound to cores"
WITH_GPUS = "slots have GPUs: {stem}.place.sh binds each rank to its cores and shows it its GPU"


Numbers = tuple[int, ...]


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
    node: Int32  # int32[n]: Node of each task
    #: numbers of cores: within the node, among the allowed ones, and of the operating system
    numbering: Numbering

    @property
    def n(self) -> int:
        """Number of tasks."""
        return self.mapping.n

    def host(self, task: int) -> str:
        """Name of the node a task runs on."""
        return self.hosts[int(self.node[task])]

    def cores_of_pe(self, pe: int) -> Numbers:
        """Places (innermost units) of a PE, counted from the first place of its node."""
        return self.numbering.in_node(self.mapping.where.cores_of(pe))

    def cores(self, task: int) -> Numbers:
        """Places (innermost units) of a task's PE, counted from the first place of its node."""
        return self.cores_of_pe(int(self.mapping.pe[task]))

    def cpus_of_pe(self, pe: int) -> Numbers:
        """Operating system's CPU numbers of a PE, as taskset takes them; empty if slots have no cores."""
        if not self.binds:
            return ()
        return self.numbering.os_cpus(self.mapping.where.cores_of(pe))

    def cpus(self, task: int) -> Numbers:
        """Operating system's CPU numbers of a task's PE."""
        return self.cpus_of_pe(int(self.mapping.pe[task]))

    @property
    def binds(self) -> bool:
        """Whether slots have cores to which ranks are bound; otherwise they are GPUs without known cores."""
        return self.mapping.where.has_cores

    def all_allowed(self) -> bool:
        """Whether the job may use all cores of the slots in use."""
        cores_of = self.mapping.where.cores_of
        return all(self.numbering.usable[cores_of(pe)].all() for pe in set(self.mapping.pe.tolist()))

    @property
    def has_gpus(self) -> bool:
        """Whether some slot in use has a GPU."""
        return any(self.mapping.where.gpus_of(pe) for pe in set(self.mapping.pe.tolist()))

    def gpus(self, task: int) -> Numbers:
        """GPUs of a task, counted within its node; empty if its slot has none."""
        return self.mapping.where.gpus_of(int(self.mapping.pe[task]))

    def shown_gpus(self, task: int) -> tuple[str, ...]:
        """What the variable of the GPUs' maker takes to show a task its GPUs."""
        return self.mapping.where.shown_gpus(int(self.mapping.pe[task]))

    def threads_of_pe(self, pe: int) -> int:
        """Number of OpenMP threads for a PE: one for each of its cores."""
        return self.numbering.whole_cores(self.mapping.where.cores_of(pe))

    def slots_per_node(self) -> Int64:
        """int64[nodes]: PEs of the allocation on each node."""
        return np.bincount(self.mapping.where.node_of_pe, minlength=len(self.hosts)).astype(np.int64)

    def tasks_per_node(self) -> Int64:
        """int64[nodes]: number of tasks mapped to each node."""
        return np.bincount(self.node, minlength=len(self.hosts)).astype(np.int64)

    def most_tasks_on_a_slot(self) -> int:
        """Largest number of tasks on one PE; 1 unless slots are oversubscribed."""
        return int(self.mapping.tasks_per_pe().max())

    def runs(self) -> list[Run]:
        """Divide the ranks into runs of consecutive ranks on the same node, in rank order."""
        starts = np.flatnonzero(np.diff(self.node, prepend=-1)).tolist()
        ends = [*starts[1:], self.n]
        return [Run(int(self.node[a]), a, b - a) for a, b in zip(starts, ends, strict=True)]

    def rearranged(self, mapping: Mapping) -> Launch:
        """Return the launch of another mapping to the same nodes."""
        return dataclasses.replace(self, mapping=mapping, node=mapping.where.node_of_pe[mapping.pe])


def prepare(mapping: Mapping, options: Dictionary[str, Any]) -> Launch:
    """Check that a launch file can express this mapping, and count cores within nodes."""
    if mapping.n == 0:
        raise InfeasibleError("no task to launch, expected at least one")
    _check_slots(mapping, options)
    where = mapping.where
    nodes = int(where.machine.node_of_core()[-1]) + 1
    hosts, hosts_unknown = _host_names(tuple(options.get("hosts") or where.hosts), nodes)
    numbering = Numbering.of(where.machine, options.get("allowed"))
    if numbering.restricted:
        used = np.unique(mapping.pe).tolist()
        for pe in used:
            numbering.check_allowed(where.cores_of(pe), hosts[int(where.node_of_pe[pe])])
    return Launch(mapping, hosts, hosts_unknown, where.node_of_pe[mapping.pe], numbering)


def by_script(launch: Launch, reason: str) -> str:
    """Return the notice that a script binds the ranks: `reason`, unless slots have GPUs."""
    if not launch.has_gpus:
        return reason
    return WITH_GPUS if launch.binds else ONLY_GPUS


def refuse_gpus(launch: Launch, form: str) -> None:
    """Raise UnsupportedError for slots with GPUs in a format that cannot show every rank its own GPU."""
    if launch.has_gpus:
        raise UnsupportedError(
            f"slots have GPUs, but {form} cannot show each rank its own GPU; expected the format openmpi, "
            "slurm, hydra or newrank"
        )


def contiguous_runs(launch: Launch, form: str) -> list[Run]:
    """Return the runs of consecutive ranks, exactly one per node in use."""
    runs = launch.runs()
    seen: dict[int, Run] = {}
    for run in runs:
        if run.node in seen:
            before = seen[run.node]
            raise UnsupportedError(
                f"ranks {before.first + before.count - 1} and {run.first} are on host "
                f"{launch.hosts[run.node]} but the ranks between them are not, which {form} cannot express: "
                f"map again with `form={form!r}`, or write openmpi, slurm or newrank"
            )
        seen[run.node] = run
    return runs


def equal_count(launch: Launch, form: str) -> int:
    """Return the number of tasks on every node in use."""
    tasks = launch.tasks_per_node()
    used = np.flatnonzero(tasks)
    counts = np.unique(tasks[used])
    if len(counts) > 1:
        few, many = (int(used[np.flatnonzero(tasks[used] == count)[0]]) for count in (counts[0], counts[-1]))
        raise UnsupportedError(
            f"{tasks[few]} tasks on host {launch.hosts[few]} and {tasks[many]} on {launch.hosts[many]}, "
            f"which {form} cannot express: map again with `tasks_per_node`, or write openmpi, slurm or "
            "newrank"
        )
    return int(counts[0])


def nodelist(launch: Launch) -> str:
    """Return the option of srun that names the nodes in use, where a job with all nodes has others, too."""
    used = [launch.hosts[node] for node in sorted(set(launch.node.tolist()))]
    if launch.hosts_unknown or len(used) == len(launch.hosts):
        return ""
    return f" --nodelist={','.join(used)}"


def assumptions(launch: Launch, what: str = "{stem}") -> list[str]:
    """Return notices about host names and CPU numbers that had to be assumed."""
    notices = []
    if launch.hosts_unknown:
        notices.append(
            f"host names are unknown: replace {launch.hosts[0]}, ... in {what} by the real names, "
            "or give `hosts`"
        )
    if launch.binds and not launch.numbering.known:
        notices.append(ASSUMED_CPUS)
    return notices


def _check_slots(mapping: Mapping, options: Dictionary[str, Any]) -> None:
    # A mapping of processes has several tasks on a slot only if the user asked for it. A partition has many
    # tasks on a PE, which are not processes to launch.
    if options.get("oversubscribe") or mapping.info.get("problem") == "processes":
        return
    tasks = mapping.tasks_per_pe()
    fullest = int(np.argmax(tasks))
    if tasks[fullest] > 1:
        raise InfeasibleError(
            f"{mapping.n} tasks on {mapping.where.k} slots, {tasks[fullest]} of them on slot {fullest}, "
            "expected one per slot (`oversubscribe=True` allows more; plain and json hold any mapping)"
        )


def _host_names(hosts: tuple[str, ...], nodes: int) -> tuple[tuple[str, ...], bool]:
    if not hosts and nodes == 1:
        return ("localhost",), False
    if not hosts:
        width = max(3, len(str(nodes - 1)))
        return tuple(f"node{number:0{width}}" for number in range(nodes)), True
    if len(hosts) != nodes:
        raise InfeasibleError(f"{len(hosts)} host names for {nodes} nodes, expected one for each")
    seen = set()
    for host in hosts:
        if not NODE_NAME.fullmatch(host):
            what = f"host name {host[:60]!r}, expected letters, digits and . _ - after a letter or digit"
            raise FormatError("hosts", None, what)
        if host in seen:
            raise FormatError("hosts", None, f"host name {host} occurs twice, expected a name for each node")
        seen.add(host)
    return hosts, False


def number_list(numbers: Numbers, join: str = ",") -> str:
    """Return ascending numbers in the notation of launchers: ``0-3,6``."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1] = [runs[-1][0], number]
        else:
            runs.append([number])
    return join.join("-".join(map(str, run)) for run in runs)
