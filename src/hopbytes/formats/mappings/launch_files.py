"""What launch formats share: host names, cores inside a node, and the checks before anything is written."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping as Dictionary
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hopbytes.errors import FormatError, InfeasibleError, UnsupportedError
from hopbytes.formats.mappings.numbering import Numbering
from hopbytes.model.mapping import Mapping

#: What stands for the user's program in a printed command.
PROGRAM = "./app"

ASSUMED_CPUS = "cores are taken to be CPU numbers of the operating system; check with: hopbytes verify"

ONLY_GPUS = "slots are GPUs: {stem}.place.sh tells each rank its own, and no rank is bound to cores"
WITH_GPUS = "slots have GPUs: {stem}.place.sh binds each rank to its cores and shows it its GPU"

HOST_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")

Numbers = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Run:
    """Consecutive ranks on one node: `count` of them from rank `first` on."""

    node: int
    first: int
    count: int


@dataclass(frozen=True, slots=True, eq=False)
class Launch:
    """A placement as a launcher sees it: nodes by name, and cores counted within each node.

    Parameters
    ----------
    mapping : Mapping
    hosts : tuple of str
        Name of every node of the machine.
    invented : bool
        The names are placeholders: nobody said what the nodes are called.
    node : int32[n]
        Node of each task.
    numbering : Numbering
        How cores are counted: within the node, among those allowed, by the operating system.
    """

    mapping: Mapping
    hosts: tuple[str, ...]
    invented: bool
    node: NDArray[np.int32]
    numbering: Numbering

    @property
    def n(self) -> int:
        """Number of tasks."""
        return self.mapping.n

    def host(self, task: int) -> str:
        """Name of the node a task runs on."""
        return self.hosts[int(self.node[task])]

    def cores_of_pe(self, pe: int) -> Numbers:
        """Places of a PE, counted from the first of its node."""
        return self.numbering.in_node(self.mapping.where.cores_of(pe))

    def cores(self, task: int) -> Numbers:
        """Places of a task, counted from the first of its node."""
        return self.cores_of_pe(int(self.mapping.pe[task]))

    def cpus_of_pe(self, pe: int) -> Numbers:
        """CPU numbers of the operating system of a PE, as taskset takes them; none without cores."""
        if not self.binds:
            return ()
        return self.numbering.os_cpus(self.mapping.where.cores_of(pe))

    def cpus(self, task: int) -> Numbers:
        """CPU numbers of the operating system of a task."""
        return self.cpus_of_pe(int(self.mapping.pe[task]))

    @property
    def binds(self) -> bool:
        """Slots have cores that ranks are bound to; otherwise they are GPUs, and no core may be named."""
        return self.mapping.where.has_cores

    @property
    def carries(self) -> bool:
        """Some slot in use has a GPU."""
        return any(self.mapping.where.gpus_of(pe) for pe in set(self.mapping.pe.tolist()))

    def gpus(self, task: int) -> Numbers:
        """GPUs of a task, counted within its node; empty when the slot carries none."""
        return self.mapping.where.gpus_of(int(self.mapping.pe[task]))

    def threads_of_pe(self, pe: int) -> int:
        """OpenMP threads that suit a PE: one for each of its cores."""
        return self.numbering.whole_cores(self.mapping.where.cores_of(pe))

    def slots_per_node(self) -> NDArray[np.int64]:
        """int64[nodes]: PEs of the allocation on each node."""
        return np.bincount(self.mapping.where.node_of_pe, minlength=len(self.hosts)).astype(np.int64)

    def tasks_per_node(self) -> NDArray[np.int64]:
        """int64[nodes]: tasks placed on each node."""
        return np.bincount(self.node, minlength=len(self.hosts)).astype(np.int64)

    def most_tasks_on_a_slot(self) -> int:
        """Largest number of tasks on one PE; 1 unless slots are oversubscribed."""
        return int(self.mapping.tasks_per_pe().max())

    def runs(self) -> list[Run]:
        """Cut the ranks into runs on the same node, in rank order."""
        starts = np.flatnonzero(np.diff(self.node, prepend=-1)).tolist()
        ends = [*starts[1:], self.n]
        return [Run(int(self.node[a]), a, b - a) for a, b in zip(starts, ends, strict=True)]

    def rearranged(self, mapping: Mapping) -> Launch:
        """Return the same launch of another placement on the same nodes."""
        return dataclasses.replace(self, mapping=mapping, node=mapping.where.node_of_pe[mapping.pe])


def prepare(mapping: Mapping, options: Dictionary[str, Any]) -> Launch:
    """Check that a launcher can be told this placement, and count cores within nodes.

    Parameters
    ----------
    mapping : Mapping
    options : mapping
        ``hosts``: names of the nodes in machine order (default: those of the allocation);
        ``oversubscribe``: several tasks on one slot are meant; ``allowed``: the CPUs of each node that
        the job may use, numbers of the operating system like ``"0-15,32-47"``.

    Raises
    ------
    InfeasibleError
        No task; more tasks than slots that nobody asked for; another number of host names than nodes; a
        slot in use with a core outside `allowed`.
    FormatError
        A host name no launcher should see, or one that names two nodes; `allowed` is no list of numbers.
    """
    if mapping.n == 0:
        raise InfeasibleError("no task to launch, expected at least one")
    _check_slots(mapping, options)
    where = mapping.where
    nodes = int(where.machine.node_of_core()[-1]) + 1
    hosts, invented = _host_names(tuple(options.get("hosts") or where.hosts), nodes)
    numbering = Numbering.of(where.machine, options.get("allowed"))
    if numbering.restricted:
        used = np.unique(mapping.pe).tolist()
        for pe in used:
            numbering.check_allowed(where.cores_of(pe), hosts[int(where.node_of_pe[pe])])
    return Launch(mapping, hosts, invented, where.node_of_pe[mapping.pe], numbering)


def by_script(launch: Launch, reason: str) -> str:
    """Return the notice of a writer whose script binds for a reason; slots with GPUs are a reason."""
    if not launch.carries:
        return reason
    return WITH_GPUS if launch.binds else ONLY_GPUS


def refuse_gpus(launch: Launch, form: str) -> None:
    """Refuse slots with GPUs in a format that cannot tell ranks theirs.

    Raises
    ------
    UnsupportedError
        Names formats that can.
    """
    if launch.carries:
        raise UnsupportedError(
            f"slots have GPUs, which {form} cannot tell its ranks: write openmpi, slurm, hydra or newrank"
        )


def contiguous_runs(launch: Launch, form: str) -> list[Run]:
    """Return the runs of ranks, one per node in use, or refuse a placement that scatters them.

    Raises
    ------
    UnsupportedError
        A node holds ranks that are not consecutive.
    """
    runs = launch.runs()
    seen: dict[int, Run] = {}
    for run in runs:
        if run.node in seen:
            before = seen[run.node]
            raise UnsupportedError(
                f"ranks {before.first + before.count - 1} and {run.first} share host "
                f"{launch.hosts[run.node]} but not those between, which {form} cannot say: map again with "
                f"`form={form!r}`, or write openmpi, slurm or newrank"
            )
        seen[run.node] = run
    return runs


def equal_count(launch: Launch, form: str) -> int:
    """Return how many tasks every node in use holds.

    Raises
    ------
    UnsupportedError
        The nodes hold different numbers of tasks.
    """
    tasks = launch.tasks_per_node()
    used = np.flatnonzero(tasks)
    counts = np.unique(tasks[used])
    if len(counts) > 1:
        few, many = (int(used[np.flatnonzero(tasks[used] == count)[0]]) for count in (counts[0], counts[-1]))
        raise UnsupportedError(
            f"{tasks[few]} tasks on host {launch.hosts[few]} and {tasks[many]} on {launch.hosts[many]}, "
            f"which {form} cannot say: map again with `tasks_per_node`, or write openmpi, slurm or newrank"
        )
    return int(counts[0])


def assumptions(launch: Launch, what: str = "{stem}") -> list[str]:
    """Return what the user has to know about names and numbers that nobody gave."""
    notices = []
    if launch.invented:
        notices.append(
            f"host names are unknown: put the real ones into {what} for {launch.hosts[0]}, ... "
            "or give `hosts`"
        )
    if launch.binds and not launch.numbering.known:
        notices.append(ASSUMED_CPUS)
    return notices


def _check_slots(mapping: Mapping, options: Dictionary[str, Any]) -> None:
    # In the processes problem several tasks on a slot were asked for; otherwise it is no placement to launch.
    if options.get("oversubscribe") or mapping.info.get("problem") == "processes":
        return
    tasks = mapping.tasks_per_pe()
    fullest = int(np.argmax(tasks))
    if tasks[fullest] > 1:
        raise InfeasibleError(
            f"{mapping.n} tasks on {mapping.where.k} slots, {tasks[fullest]} of them on slot {fullest}, "
            "expected one per slot (`oversubscribe=True` allows more; plain and json hold any placement)"
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
        if not HOST_NAME.fullmatch(host):
            what = f"host name {host[:60]!r}, expected letters, digits and . _ - (not first)"
            raise FormatError("hosts", None, what)
        if host in seen:
            raise FormatError("hosts", None, f"host name {host} twice, expected a name for each node")
        seen.add(host)
    return hosts, False


def number_list(numbers: Numbers, join: str = ",") -> str:
    """Return ascending numbers as launchers write them: ``0-3,6``."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1] = [runs[-1][0], number]
        else:
            runs.append([number])
    return join.join("-".join(map(str, run)) for run in runs)
