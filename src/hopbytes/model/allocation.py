"""Allocation: the part of a machine that a job may use, divided into slots, whose numbers are PEs."""

from __future__ import annotations

import os
from collections.abc import Mapping as Dictionary
from dataclasses import field, replace
from typing import Any, Protocol, TypeAlias, Union, cast

import numpy as np

from hopbytes._arrays import Int32, Int64
from hopbytes._frozen import frozen
from hopbytes.errors import FormatError, InfeasibleError, WrongTypeError
from hopbytes.model.given_as_text import converted
from hopbytes.util.computed_once import kept

#: Characters of a text in a line about an allocation, and host names in a notebook.
LONGEST_TEXT, NODES_SHOWN = 80, 16


def _bad(what: str) -> FormatError:
    return FormatError("allocation", None, what)


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST_TEXT else f"{text[: LONGEST_TEXT - 1]}…"


@frozen
class SlotUse:
    """Which slots tasks use, and how many tasks a unit of the machine gets (:func:`hopbytes.allocate`)."""

    tasks_per_node: int | None = None
    tasks_per: str | Dictionary[str, int] | None = None
    pack: bool = False
    spread: bool = False
    equal_nodes: bool = False
    oversubscribe: bool = False

    @property
    def counted(self) -> bool:
        """Whether the number of tasks per unit of a level is prescribed."""
        return self.tasks_per_node is not None or self.tasks_per is not None

    @property
    def chosen(self) -> bool:
        """Whether fewer tasks than slots have a prescribed choice of slots."""
        return self.pack or self.spread or self.counted


#: The arrays of an allocation.
ARRAYS = ("core_start", "cores", "capacity", "endpoints", "gpus", "tasks_of_nodes")


@frozen(eq=False, repr=False, owns=ARRAYS)
class Allocation:
    """Where tasks may run: k PEs in machine order, each a set of cores of one node.

    Parameters
    ----------
    machine : hopbytes.machines.base.Machine
    core_start : int64[k+1]
        The cores of PE p are ``cores[core_start[p]:core_start[p+1]]``.
    cores : int64[...]
        Logical core numbers of the machine, ascending.
    hosts : tuple of str
        Host name of node i of the machine; empty when unknown.
    capacity : int64[k] or None
        Relative load capacity of each PE; None when all are equal.
    endpoints : int32[k] or None
        Network endpoint (adapter) of each PE; None means one per node.
    gpus : int32[k] or None
        GPU of each PE, counted on its node; -1 where it has none. None: slots without GPUs.
    notices : tuple of str
        Sentences for the user about the division into slots (unused cores, slots across several units).
    tasks_of_nodes : int64[nodes] or None
        Tasks that the job requested on each node; used if the pattern has exactly that many tasks.
    use : SlotUse
        Which of the PEs tasks use.

    Raises
    ------
    InfeasibleError
        There is no PE.
    FormatError
        Arrays contradict each other, or a core is outside the machine.
    """

    machine: Any  # a Machine, which a higher layer defines
    core_start: Int64
    cores: Int64
    hosts: tuple[str, ...] = ()
    capacity: Int64 | None = None
    endpoints: Int32 | None = None
    gpus: Int32 | None = None
    notices: tuple[str, ...] = ()
    tasks_of_nodes: Int64 | None = None
    use: SlotUse = SlotUse()
    _cache: dict[str, Any] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        if len(self.core_start) < 2:
            raise InfeasibleError("the allocation has no slot left, expected at least one")
        starts, cores = self.core_start, self.cores
        if starts[0] != 0 or bool(np.any(starts[1:] <= starts[:-1])) or starts[-1] != len(cores):
            raise _bad(f"core_start, expected numbers that ascend from 0 to {len(cores)}, that of cores")
        if int(cores.min()) < 0 or int(cores.max()) >= self.machine.n_cores:
            wrong = cores[(cores < 0) | (cores >= self.machine.n_cores)][0]
            raise _bad(f"core {wrong}, expected one of 0..{self.machine.n_cores - 1}")
        for name in ("capacity", "endpoints", "gpus"):
            array = getattr(self, name)
            if array is not None and len(array) != self.k:
                raise _bad(f"{name} of {len(array)} PEs, expected {self.k}")

    def __repr__(self) -> str:
        return f"Allocation({_cut(self.machine.spec())!r}, {self.k} PEs)"

    def _repr_html_(self) -> str:
        from hopbytes.model.html_table import html_table

        nodes, slots = np.unique(self.node_of_pe, return_counts=True)
        per_node = f"{slots.min()} to {slots.max()}" if slots.min() < slots.max() else str(slots[0])
        rows = [("nodes", len(nodes)), ("PEs per node", per_node)]
        if self.hosts:
            rows.append(("hosts", _cut(", ".join(self.hosts[node] for node in nodes[:NODES_SHOWN].tolist()))))
        table = html_table(f"{self.k:,} PEs of {_cut(self.machine.spec())}", rows)
        return table + (self._repr_svg_() or "")

    def _repr_svg_(self) -> str | None:
        from hopbytes.model import picture

        return picture(self)

    @classmethod
    def of(cls, where: object) -> Allocation:
        """Return the allocation; a machine means all its cores, one per PE, and a text is a spec.

        >>> import hopbytes as hb
        >>> hb.Allocation.of("node:2@10 core:4@1")
        Allocation('node:2@10 core:4@1', 8 PEs)
        """
        if isinstance(where, Allocation):
            return where
        if isinstance(where, (str, os.PathLike)):
            return cast("Allocation", converted("machine", where))
        if hasattr(where, "n_cores"):
            return cls.whole(where)
        raise WrongTypeError(
            f"the machine is a {type(where).__name__}, expected an Allocation (hopbytes.allocate), a "
            "Machine or a spec such as 'node:6 core:12'"
        )

    @classmethod
    def whole(cls, machine: Any, hosts: tuple[str, ...] = ()) -> Allocation:
        """Return the allocation of all cores of a machine, one per slot."""
        cores = np.arange(machine.n_cores, dtype=np.int64)
        return cls(machine, np.arange(len(cores) + 1, dtype=np.int64), cores, hosts)

    @property
    def k(self) -> int:
        """Number of PEs."""
        return len(self.core_start) - 1

    @property
    def first_core(self) -> Int64:
        """int64[k]: the core that stands for each PE in distances."""
        return self.cores[self.core_start[:-1]]

    @property
    @kept
    def distance(self) -> Any:
        """Distances between PEs as kernels take them (TreeDistance or TableDistance), computed once."""
        return self.machine.distance_of(self.first_core)

    @property
    def node_of_pe(self) -> Int32:
        """int32[k]: the node of each PE."""
        nodes: Int32 = self.machine.node_of_core()[self.first_core]
        return nodes

    def in_use(self) -> Allocation:
        """Return the allocation on a machine of only the nodes in use, if that differs; O(k)."""
        machine = self.machine.for_nodes(self.node_of_pe)
        return self if machine is self.machine else replace(self, machine=machine)

    def using(self, **use: Any) -> Allocation:
        """Return the allocation with other values of :attr:`use`."""
        return replace(self, use=replace(self.use, **use)) if use else self

    def cores_of(self, pe: int) -> Int64:
        """Return the logical cores of one PE."""
        return self.cores[self.core_start[pe] : self.core_start[pe + 1]]

    @property
    @kept
    def has_cores(self) -> bool:
        """Whether slots are sets of cores; False where the smallest units known are GPUs.

        The cores of a process are unknown then, so that launchers bind no process.

        Examples
        --------
        >>> import hopbytes as hb
        >>> hb.allocate("node:2 gpu:4").has_cores, hb.allocate("node:2 gpu:4 core:8").has_cores
        (False, True)
        """
        return not self.machine.leaves_are_gpus()

    @property
    def slot_word(self) -> str:
        """What people call a slot: ``"GPU"``, ``"core"``, or ``"slot"`` where it is neither.

        Examples
        --------
        >>> import hopbytes as hb
        >>> wide = hb.allocate("core:8", cores_per_task=2)
        >>> [where.slot_word for where in (hb.allocate("node:2 gpu:4"), hb.allocate("core:8"), wide)]
        ['GPU', 'core', 'slot']
        """
        if not self.has_cores or (self.gpus is not None and bool(np.all(self.gpus >= 0))):
            return "GPU"
        threads = self.machine.levels and self.machine.levels[-1].name == "pu"
        return "slot" if threads or len(self.cores) > self.k else "core"

    def gpus_of(self, pe: int) -> tuple[int, ...]:
        """GPUs of one PE, counted on its node; empty if none are known.

        Examples
        --------
        >>> import hopbytes as hb
        >>> hb.allocate("node:2 gpu:4").gpus_of(6)
        (2,)
        >>> hb.allocate("node:2 package:2 gpu:2", per="package").gpus_of(1)
        (2, 3)
        """
        if self.gpus is not None:
            return (int(self.gpus[pe]),) if self.gpus[pe] >= 0 else ()
        of_core = self._gpu_of_core()
        return () if of_core is None else tuple(np.unique(of_core[self.cores_of(pe)]).tolist())

    @kept
    def _gpu_of_core(self) -> Int32 | None:
        found: Int32 | None = self.machine.gpu_of_core()
        return found

    def os_pus(self, pe: int) -> tuple[int, ...] | None:
        """CPU numbers that the operating system of its node uses for one PE, ascending; None if unknown.

        Examples
        --------
        >>> import hopbytes as hb
        >>> where = hb.allocate("synthetic:pack:2 core:2 pu:2(indexes=0,4,1,5,2,6,3,7)", cores_per_task=2)
        >>> where.os_pus(1)
        (2, 3, 6, 7)
        """
        cpus = self._os_cpus()
        return None if cpus is None else tuple(sorted(cpus[self.cores_of(pe)].tolist()))

    @kept
    def _os_cpus(self) -> Int64 | None:
        inventory = self.machine.inventory
        return None if inventory is None or not inventory.pus_known else inventory.os_cpus()

    def known_gpus(self, pe: int) -> tuple[Any, ...]:
        """The Gpu of every GPU of one PE, as far as the machine knows more than their numbers."""
        if self.machine.inventory is None:
            return ()
        known = {gpu.index: gpu for gpu in self.machine.inventory.tree(int(self.node_of_pe[pe])).gpus}
        return tuple(known[index] for index in self.gpus_of(pe) if index in known)

    def shown_gpus(self, pe: int) -> tuple[str, ...]:
        """What the variable of the GPUs' maker, such as CUDA_VISIBLE_DEVICES, takes for those of one PE.

        Examples
        --------
        >>> import hopbytes as hb
        >>> hb.allocate("node:2 gpu:4").shown_gpus(6)
        ('2',)
        """
        shown = {gpu.index: gpu.shown_as for gpu in self.known_gpus(pe)}
        return tuple(shown.get(index, str(index)) for index in self.gpus_of(pe))

    def split(self, pes: Int64) -> list[Int64]:
        """Divide a set of PEs (ascending) into the parts that are farthest apart; see Topology.split."""
        parts: list[Int64] = self.machine.split(self.first_core[pes])
        cuts = np.cumsum([len(part) for part in parts])[:-1]
        order = np.concatenate(parts)
        # Parts hold cores; the same positions hold the PEs, since first cores ascend with PE numbers.
        position = np.searchsorted(self.first_core[pes], order)
        return [np.sort(part) for part in np.split(pes[position], cuts)]

    def groups(self) -> list[Int32]:
        """Divide the allocation down to single PEs: int32[k] group of every PE, coarsest grouping first.

        Levels of equal distance are one grouping; groupings where nothing splits are left out; the
        last one is k singletons. Groups are numbered 0..g-1, each grouping refines the one before
        and numbers the parts of a group consecutively. On trees numbers ascend with the PEs; on other
        machines they need not. Computed once; O(k x levels) on trees.

        Examples
        --------
        >>> import hopbytes as hb
        >>> [g.tolist() for g in hb.allocate("node:2@10 core:[1,2]@1").groups()]
        [[0, 1, 1], [0, 1, 2]]
        """
        return list(self._groups())

    @kept
    def _groups(self) -> list[Int32]:
        groupings: list[Int32] = self.machine.groups(self.first_core)
        for grouping in groupings:
            grouping.setflags(write=False)
        return groupings

    def select(self, pes: Int64) -> Allocation:
        """Return the allocation of some of its PEs (ascending), all of which may be used."""
        lengths = np.diff(self.core_start)[pes]
        starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        # Entry e of the new rows is entry e - starts[row] + core_start[pes[row]] of the old ones.
        places = np.arange(starts[-1]) + np.repeat(self.core_start[pes] - starts[:-1], lengths)
        return Allocation(
            self.machine, starts, self.cores[places], self.hosts,
            None if self.capacity is None else self.capacity[pes],
            None if self.endpoints is None else self.endpoints[pes],
            None if self.gpus is None else self.gpus[pes],
            self.notices,
            self.tasks_of_nodes,
        )


class Cores(Protocol):
    """A machine, of which all cores are meant."""

    @property
    def n_cores(self) -> int:
        """Number of cores."""
        ...


#: Types that :func:`hopbytes.map_tasks` accepts as a machine.
PlaceLike: TypeAlias = Union[Allocation, Cores, str, "os.PathLike[str]"]
