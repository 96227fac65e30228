"""What launch formats share: host names, cores inside a node, and the checks before anything is written."""

from __future__ import annotations

import re
from collections.abc import Mapping as Dictionary
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hopbytes.errors import FormatError, InfeasibleError
from hopbytes.mapping import Mapping

#: What stands for the user's program in a printed command.
PROGRAM = "./app"

HOST_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")

#: Names of innermost levels whose units are hardware threads, not cores.
THREAD_NAMES = ("pu", "thread", "hwthread")


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
    first_core : int64[nodes]
        Number of the first core of each node within the machine.
    """

    mapping: Mapping
    hosts: tuple[str, ...]
    invented: bool
    node: NDArray[np.int32]
    first_core: NDArray[np.int64]

    @property
    def n(self) -> int:
        """Number of tasks."""
        return self.mapping.n

    def host(self, task: int) -> str:
        """Name of the node a task runs on."""
        return self.hosts[int(self.node[task])]

    def cores_of_pe(self, pe: int) -> tuple[int, ...]:
        """Cores of a PE, counted from the first core of its node."""
        where = self.mapping.where
        start = self.first_core[where.node_of_pe[pe]]
        return tuple((where.cores_of(pe) - start).tolist())

    def cores(self, task: int) -> tuple[int, ...]:
        """Cores of a task, counted from the first core of its node."""
        return self.cores_of_pe(int(self.mapping.pe[task]))

    def slots_per_node(self) -> NDArray[np.int64]:
        """int64[nodes]: PEs of the allocation on each node."""
        return np.bincount(self.mapping.where.node_of_pe, minlength=len(self.hosts)).astype(np.int64)

    def tasks_per_node(self) -> NDArray[np.int64]:
        """int64[nodes]: tasks placed on each node."""
        return np.bincount(self.node, minlength=len(self.hosts)).astype(np.int64)

    def most_tasks_on_a_slot(self) -> int:
        """Largest number of tasks on one PE; 1 unless slots are oversubscribed."""
        return int(self.mapping.tasks_per_pe().max())

    @property
    def places_are_threads(self) -> bool:
        """The machine's places are hardware threads, so its core numbers count threads."""
        levels = self.mapping.where.machine.levels
        return bool(levels) and levels[-1].name in THREAD_NAMES


def prepare(mapping: Mapping, options: Dictionary[str, Any]) -> Launch:
    """Check that a launcher can be told this placement, and count cores within nodes.

    Parameters
    ----------
    mapping : Mapping
    options : mapping
        ``hosts``: names of the nodes in machine order (default: those of the allocation);
        ``oversubscribe``: several tasks on one slot are meant.

    Raises
    ------
    InfeasibleError
        No task; more tasks than slots that nobody asked for; fewer host names than nodes.
    FormatError
        A host name no launcher should see, or one that names two nodes.
    """
    if mapping.n == 0:
        raise InfeasibleError("no task to launch, expected at least one")
    _check_slots(mapping, options)
    node_of_core = mapping.where.machine.node_of_core()
    nodes = int(node_of_core[-1]) + 1
    hosts, invented = _host_names(tuple(options.get("hosts") or mapping.where.hosts), nodes)
    return Launch(
        mapping, hosts, invented,
        mapping.where.node_of_pe[mapping.pe],
        np.searchsorted(node_of_core, np.arange(nodes)).astype(np.int64),
    )


def _check_slots(mapping: Mapping, options: Dictionary[str, Any]) -> None:
    # In the processes problem several tasks on a slot were asked for; otherwise it is no placement to launch.
    if options.get("oversubscribe") or mapping.info.get("problem") == "processes":
        return
    tasks = mapping.tasks_per_pe()
    fullest = int(np.argmax(tasks))
    if tasks[fullest] > 1:
        raise InfeasibleError(
            f"{mapping.n} tasks on {mapping.where.k} slots, {tasks[fullest]} of them on slot {fullest}, "
            "expected one per slot (--oversubscribe allows more; plain and json hold any placement)"
        )


def _host_names(hosts: tuple[str, ...], nodes: int) -> tuple[tuple[str, ...], bool]:
    if not hosts and nodes == 1:
        return ("localhost",), False
    if not hosts:
        width = max(3, len(str(nodes - 1)))
        return tuple(f"node{number:0{width}}" for number in range(nodes)), True
    if len(hosts) < nodes:
        raise InfeasibleError(f"{len(hosts)} host names for {nodes} nodes, expected one for each")
    seen = set()
    for host in hosts:
        if not HOST_NAME.fullmatch(host):
            what = f"host name {host[:60]!r}, expected letters, digits and . _ - (not first)"
            raise FormatError("hosts", None, what)
        if host in seen:
            raise FormatError("hosts", None, f"host name {host} twice, expected a name for each node")
        seen.add(host)
    return hosts[:nodes], False


def number_list(numbers: tuple[int, ...]) -> str:
    """Return ascending numbers as launchers write them: ``0-3,6``."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1] = [runs[-1][0], number]
        else:
            runs.append([number])
    return ",".join("-".join(map(str, run)) for run in runs)
