"""How launchers count the cores of a node: by position, among those allowed, or by the operating system."""

from __future__ import annotations

import numpy as np

from hopbytes._arrays import Bool, Int64
from hopbytes._frozen import frozen
from hopbytes.errors import FormatError, InfeasibleError
from hopbytes.machines.base import Machine
from hopbytes.machines.node.node_tree import NodeInventory
from hopbytes.text.cpu_lists import number_range

#: Names of innermost levels whose units are hardware threads, not cores.
THREAD_NAMES = ("pu", "thread", "hwthread")

#: Largest CPU number of an operating system that is believed.
MAX_CPU = 2**20

Numbers = tuple[int, ...]


def _distinct(numbers: Int64) -> Int64:
    """Return the distinct numbers, ascending; asked for indices NumPy need not load its masked arrays."""
    found: Int64 = np.unique(numbers, return_index=True)[0]
    return found


@frozen(eq=False)
class Numbering:
    """Numbers of a machine's places (its innermost units) within their nodes."""

    position: Int64  # int64[places]: Place counted from the first of its node
    rank: Int64  # int64[places]: Place counted over those of its node that the job may use
    core: Int64  # int64[places]: Core the place lies in; itself unless places are hardware threads
    core_rank: Int64  # int64[places]: Core counted over those of its node of which the job may use a place
    usable: Bool  # bool[places]: The job may use the place at launch
    restricted: bool  # somebody said which places may be used
    #: int64[places] or None: CPU number of the operating system of each place; None when nobody knows them.
    #: Positions are then taken for them.
    cpus: Int64 | None = None

    @classmethod
    def of(cls, machine: Machine, allowed: str | None = None) -> Numbering:
        """Return the numbering of a machine; `allowed` lists CPU numbers, the same on every node.

        O(places).
        """
        node = machine.node_of_core().astype(np.int64)
        position = _counted(np.ones(len(node), np.int64), node)
        inventory = machine.inventory
        cpus = None if inventory is None or not inventory.pus_known else inventory.os_cpus()
        usable = np.ones(len(node), np.bool_)
        if allowed is not None:
            wanted = np.array(sorted(parse_cpus(allowed)), np.int64)
            usable = np.isin(position if cpus is None else cpus, wanted)
        core = _core_of_place(machine, node)
        first_usable = np.zeros(len(node), np.int64)
        first_usable[np.flatnonzero(usable)[np.unique(core[usable], return_index=True)[1]]] = 1
        # A core's own number is that of its first usable place, wherever in the core a place lies.
        core_rank = np.maximum(_counted(first_usable, node) + first_usable - 1, 0)
        rank = _counted(usable.astype(np.int64), node)
        return cls(position, rank, core, core_rank, usable, allowed is not None, cpus)

    @property
    def known(self) -> bool:
        """CPU numbers of the operating system are known, not assumed."""
        return self.cpus is not None

    def whole_nodes(self, places: Int64) -> bool:
        """Whether nothing says that the job has a part only of the nodes some places lie on.

        Where the CPUs of a node are not simply 0, 1, 2 …, some are somebody else's, the system's, or off.
        """
        if self.restricted:
            return False
        if self.cpus is None:
            return True
        nodes = np.searchsorted(self._first_of_nodes, _distinct(places), side="right") - 1
        ends = np.append(self._first_of_nodes, len(self.position))
        for node in _distinct(nodes).tolist():
            own = self.cpus[ends[node] : ends[node + 1]]
            if int(own.max(initial=-1)) + 1 != len(_distinct(own)):
                return False
        return True

    @property
    def _first_of_nodes(self) -> Int64:
        return np.flatnonzero(self.position == 0)

    def in_node(self, places: Int64) -> Numbers:
        """Places counted from the first of their node."""
        return tuple(self.position[places].tolist())

    def os_cpus(self, places: Int64) -> Numbers:
        """CPU numbers of the operating system, ascending."""
        if self.cpus is None:
            return self.in_node(places)
        return tuple(sorted(self.cpus[places].tolist()))

    def launcher_places(self, places: Int64) -> Numbers:
        """Places counted over those of their node that the job may use."""
        return tuple(self.rank[places].tolist())

    def launcher_cores(self, places: Int64) -> Numbers | None:
        """Cores counted over those of their node that the job may use; None when one is cut in two."""
        cores = _distinct(self.core[places])
        low, high = np.searchsorted(self.core, cores), np.searchsorted(self.core, cores, side="right")
        if sum(int(self.usable[a:b].sum()) for a, b in zip(low, high, strict=True)) != len(places):
            return None
        return tuple(self.core_rank[high - 1].tolist())

    def whole_cores(self, places: Int64) -> int:
        """How many cores some places lie in."""
        return len(_distinct(self.core[places]))

    def check_allowed(self, places: Int64, host: str) -> None:
        """Refuse places the job may not use at launch."""
        if not self.usable[places].all():
            outside = ", ".join(map(str, self.os_cpus(places[~self.usable[places]])[:4]))
            raise InfeasibleError(
                f"CPU {outside} of {host} is used but not allowed there, expected slots of allowed CPUs only "
                "(map inside the job, or on a machine without the others)"
            )


def parse_cpus(text: str, where: str = "`allowed`") -> set[int]:
    """Return the numbers of ``0-15,32-47``."""
    numbers: set[int] = set()
    for run in text.strip().split(","):
        cpus = number_range(run, 7)
        if cpus is None or cpus.stop > MAX_CPU:
            raise FormatError(where, None, f"{text[:40]!r}, expected CPU numbers like 0-15,32-47")
        numbers.update(cpus)
    return numbers


def _counted(marks: Int64, node: Int64) -> Int64:
    """int64[places]: marks of the node before each place."""
    before = np.cumsum(marks) - marks
    counted: Int64 = (before - before[np.searchsorted(node, node)]).astype(np.int64)
    return counted


def _core_of_place(machine: Machine, node: Int64) -> Int64:
    """Core every place lies in, ascending: itself, unless places are hardware threads inside cores."""
    if machine.inventory is not None:
        return _cores_of_trees(machine.inventory)
    levels = machine.levels
    core = machine.level_named(("core",))
    if not levels or levels[-1].name not in THREAD_NAMES or core is None:
        return np.arange(machine.n_cores, dtype=np.int64)
    return machine.ancestors(core).astype(np.int64)


def _cores_of_trees(inventory: NodeInventory) -> Int64:
    """Cores as the trees of the nodes have them, which may be uneven."""
    parts: list[Int64] = []
    before = 0
    for node in range(inventory.n_nodes):
        own = inventory.tree(node).cores
        parts.append(own + before)
        before += int(own[-1]) + 1
    return np.concatenate(parts)
