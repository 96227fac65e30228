"""How launchers count the cores of a node: by position, among those allowed, or by the operating system."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import numpy as np

from hopbytes._arrays import Bool, Int64
from hopbytes._frozen import frozen
from hopbytes.errors import FormatError, InfeasibleError
from hopbytes.machines.base import Machine
from hopbytes.model.allocation import Allocation
from hopbytes.text.cpu_lists import format_list, number_range

#: Names of innermost levels whose units are hardware threads, not cores.
THREAD_NAMES = ("pu", "thread", "hwthread")
#: Largest CPU number of an operating system that is believed.
MAX_CPU = 2**20

Numbers = tuple[int, ...]
Counting = Literal["core", "thread", "cpu"]
WORDS = {"core": "core", "thread": "hardware thread", "cpu": "CPU"}
#: Name of a file and number of a line, for messages.
Line = tuple[str, int | None]


def numbers_in(text: str, most: int, error: FormatError) -> set[int]:
    """Return the numbers of ``0-3,6``; raise `error` for any other text or a run of more than `most`."""
    numbers: set[int] = set()
    for run in text.split(","):
        run_numbers = number_range(run, 7)
        if run_numbers is None or len(run_numbers) > most:
            raise error
        numbers.update(run_numbers)
    return numbers


def parse_cpus(text: str, where: str = "`allowed`") -> set[int]:
    """Return the numbers of ``0-15,32-47``."""
    error = FormatError(where, None, f"{text[:40]!r}, expected CPU numbers like 0-15,32-47")
    numbers = numbers_in(text.strip(), MAX_CPU, error)
    if max(numbers) >= MAX_CPU:
        raise error
    return numbers


@frozen(eq=False)
class Numbering:
    """Numbers of a machine's innermost units (hardware threads, else cores) within their nodes."""

    position: Int64  # int64[units]: unit counted from the first of its node
    rank: Int64  # int64[units]: unit counted over those of its node that the job may use
    core: Int64  # int64[units]: core the unit lies in; itself unless units are hardware threads
    core_rank: Int64  # int64[units]: core counted over those of its node of which the job may use a unit
    usable: Bool  # bool[units]: whether the job may use the unit at launch
    restricted: bool  # the user said which units may be used
    #: int64[units] or None: CPU number of the operating system; if None, positions are taken for them
    cpus: Int64 | None = None

    @classmethod
    def of(cls, machine: Machine, allowed: str | None = None) -> Numbering:
        """Return the numbering of a machine; `allowed` lists CPU numbers of every node. O(units)."""
        node = machine.node_of_core().astype(np.int64)
        position = _counted(np.ones(len(node), np.int64), node)
        inventory = machine.inventory
        cpus = None if inventory is None or not inventory.pus_known else inventory.os_cpus()
        usable = np.ones(len(node), np.bool_)
        if allowed is not None:
            wanted = np.array(sorted(parse_cpus(allowed)), np.int64)
            usable = np.isin(position if cpus is None else cpus, wanted)
        core = _core_of_unit(machine)
        first_usable = np.zeros(len(node), np.int64)
        first_usable[np.flatnonzero(usable)[np.unique(core[usable], return_index=True)[1]]] = 1
        # A core's own number is that of its first usable unit, wherever in the core a unit lies.
        core_rank = np.maximum(_counted(first_usable, node) + first_usable - 1, 0)
        rank = _counted(usable.astype(np.int64), node)
        return cls(position, rank, core, core_rank, usable, allowed is not None, cpus)

    @property
    def known(self) -> bool:
        return self.cpus is not None

    def whole_nodes(self, units: Int64) -> bool:
        """Tell whether nothing says that the job has only a part of the nodes on which some units lie."""
        # If the CPUs of a node are not simply 0, 1, 2 …, some are those of other jobs, reserved, or offline.
        if self.restricted:
            return False
        if self.cpus is None:
            return True
        first = np.flatnonzero(self.position == 0)
        ends = np.append(first, len(self.position))
        for node in _distinct(np.searchsorted(first, _distinct(units), side="right") - 1).tolist():
            own = self.cpus[ends[node] : ends[node + 1]]
            if int(own.max(initial=-1)) + 1 != len(_distinct(own)):
                return False
        return True

    def os_cpus(self, units: Int64) -> Numbers:
        return tuple((self.position[units] if self.cpus is None else np.sort(self.cpus[units])).tolist())

    def launcher_units(self, units: Int64) -> Numbers:
        """Return units counted over those of their node that the job may use."""
        return tuple(self.rank[units].tolist())

    def launcher_cores(self, units: Int64) -> Numbers | None:
        """Return cores counted over those of their node that the job may use; None if one is cut in two."""
        cores = _distinct(self.core[units])
        low, high = np.searchsorted(self.core, cores), np.searchsorted(self.core, cores, side="right")
        if sum(int(self.usable[a:b].sum()) for a, b in zip(low, high, strict=True)) != len(units):
            return None
        return tuple(self.core_rank[high - 1].tolist())

    def whole_cores(self, units: Int64) -> int:
        return len(_distinct(self.core[units]))

    def check_allowed(self, units: Int64, host: str) -> None:
        if not self.usable[units].all():
            outside = ", ".join(map(str, self.os_cpus(units[~self.usable[units]])[:4]))
            raise InfeasibleError(
                f"CPU {outside} of {host} is used but not allowed there, expected slots of allowed CPUs only "
                "(map inside the job, or on a machine without the others)"
            )


def _distinct(numbers: Int64) -> Int64:
    # If NumPy is asked for indices, it need not load its masked arrays.
    distinct: Int64 = np.unique(numbers, return_index=True)[0]
    return distinct


def _counted(marks: Int64, node: Int64) -> Int64:
    """int64[units]: marks of the node before each unit."""
    before = np.cumsum(marks) - marks
    counted: Int64 = (before - before[np.searchsorted(node, node)]).astype(np.int64)
    return counted


def _core_of_unit(machine: Machine) -> Int64:
    """Return the core of every unit, ascending: itself, unless units are hardware threads inside cores."""
    inventory, levels = machine.inventory, machine.levels
    if inventory is None:
        core = machine.level_named(("core",))
        if not levels or levels[-1].name not in THREAD_NAMES or core is None:
            return np.arange(machine.n_cores, dtype=np.int64)
        return machine.ancestors(core).astype(np.int64)
    parts: list[Int64] = []
    before = 0
    for node in range(inventory.n_nodes):  # the trees of the nodes may be uneven
        own = inventory.tree(node).cores
        parts.append(own + before)
        before += int(own[-1]) + 1
    return np.concatenate(parts)


class Slots:
    """Finds the PE of a rank from its node and its cores, as launch files and probes name them."""

    def __init__(self, where: Allocation) -> None:
        self.where = where
        self.numbering = Numbering.of(where.machine)
        self.node_of_unit = where.machine.node_of_core()
        self._pe_of_unit = np.full(where.machine.n_cores, -1, np.int64)
        self._pe_of_unit[where.cores] = np.repeat(np.arange(where.k), np.diff(where.core_start))
        self._units: dict[tuple[int, Counting], dict[int, list[int]]] = {}
        self._pes: dict[tuple[int, Counting, Numbers], int] = {}

    def units(self, node: int, counting: Counting) -> dict[int, list[int]]:
        """Return the units of a node by their numbers, which count cores, hardware threads or CPUs."""
        if (node, counting) not in self._units:
            numbering = self.numbering
            cpus = numbering.position if numbering.cpus is None else numbering.cpus
            numbers = {"core": numbering.core_rank, "thread": numbering.rank, "cpu": cpus}[counting]
            first, last = np.searchsorted(self.node_of_unit, [node, node + 1]).tolist()
            by_number = self._units.setdefault((node, counting), {})
            for unit, number in enumerate(numbers[first:last].tolist(), start=first):
                by_number.setdefault(number, []).append(unit)
        return self._units[node, counting]

    def cores_of_part(self, node: int, level: int, part: int) -> list[int]:
        """Return the cores of the part-th unit of a level of a node; empty if there is no such part."""
        first, last = np.searchsorted(self.node_of_unit, [node, node + 1]).tolist()
        parts = self.where.machine.ancestors(level)[first:last]
        inside = np.flatnonzero(parts == parts[0] + part)
        return sorted({int(self.numbering.core_rank[first + unit]) for unit in inside})

    def units_of(self, node: int, numbers: Iterable[int], counting: Counting, line: Line) -> Numbers:
        """Return the units that have these numbers on a node, ascending."""
        known, what, wanted = self.units(node, counting), WORDS[counting], sorted(set(numbers))
        missing = [number for number in wanted if number not in known]
        if missing or not wanted:
            found = f"{what} {missing[0]}" if missing else f"no {what}"
            raise FormatError(*line, f"{found} of node {node}, expected {what}s of 0..{max(known)}")
        return tuple(sorted(unit for number in wanted for unit in known[number]))

    def pe(self, node: int, numbers: Iterable[int], counting: Counting, line: Line) -> int:
        """Return the PE that contains all these numbers of a node."""
        key = (node, counting, tuple(sorted(set(numbers))))
        if key not in self._pes:
            self._pes[key] = self._pe_with(*key, line)
        return self._pes[key]

    def _pe_with(self, node: int, counting: Counting, numbers: Numbers, line: Line) -> int:
        pes = np.unique(self._pe_of_unit[list(self.units_of(node, numbers, counting, line))])
        if pes[0] < 0 and len(pes) > 1 and counting == "cpu":
            pes = pes[1:]  # ignore CPUs outside every slot if the other CPUs belong to a slot
        if len(pes) == 1 and pes[0] >= 0:
            return int(pes[0])
        what = WORDS[counting]
        listed = f"{what}s {format_list(numbers)} of node {node}"
        if pes[0] < 0:
            raise FormatError(*line, f"{listed}, expected {what}s the job may use")
        what = f"{listed} belong to {len(pes)} slots, expected those of one slot (`cores_per_task`, `per`)"
        raise FormatError(*line, what)

    def possible(self, node: int, cpus: Iterable[int]) -> Numbers:
        """Return the PEs of a node that contain any of these CPUs; without CPUs all PEs of the node."""
        known = self.units(node, "cpu")
        units = [unit for number in sorted(set(cpus)) or known for unit in known.get(number, ())]
        pes = np.unique(self._pe_of_unit[units]) if units else np.empty(0, np.int64)
        return tuple(pes[pes >= 0].tolist())
