"""What a machine is to the rest of the package: places, distances between them, and a way to split them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hopbytes._arrays import Int32, Int64, UInt64
from hopbytes._util.registry import Registry
from hopbytes.errors import UnsupportedError
from hopbytes.machines.network.network import Network
from hopbytes.machines.network.node_distances import NetworkDistance
from hopbytes.machines.shown_by_spec import ShownBySpec

if TYPE_CHECKING:
    from hopbytes.machines.node.job_environment import Job
    from hopbytes.machines.node.node_tree import NodeTree


machines: Registry[type[Machine]] = Registry(
    "machine", ("hopbytes.machines.kinds", "hopbytes.machines.common"), entry_points="hopbytes.machines"
)

#: Largest relative capacity: products with loads and counts then stay small.
MAX_CAPACITY = 10**6

#: Names of levels whose units are GPUs.
GPU_NAMES = ("gpu", "gpus")
#: Level names that mean "one host with its own operating system".
NODE_NAMES = ("node", "host", "server")


@dataclass(frozen=True, slots=True)
class Level:
    """One level of a tree, named for people.

    Parameters
    ----------
    name : str
        Word such as ``node`` or ``core``, distinct within a machine.
    distance : int
        Distance of two cores that first differ at this level, >= 0, no smaller than further inside.
    bandwidth : float or None
        Bytes per second across this level (``bw=`` in a spec).
    latency : float or None
        Seconds per message across this level (``lat=``).
    capacity : tuple of int
        How much more than others the units of this level can take (``cap=``): one number for all, one
        for each unit inside every unit of the level outside, or one for each unit of the machine.
        Empty: all alike.
    """

    name: str
    distance: int
    bandwidth: float | None = None
    latency: float | None = None
    capacity: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class TreeDistance:
    """Distances of k places in a tree, as kernels want them.

    The label of a place is the path of child numbers from the root, one bit field per level, the
    innermost level in the lowest bits. The highest bit in which two labels differ names the
    outermost level at which the places part, so one xor, one bit count and one table look-up give
    the distance.

    Parameters
    ----------
    labels : uint64[k]
        Ascending, so every subtree is a contiguous range of places.
    level_of_bit : uint8[65]
        Level for every width of the xor: 0 for equal labels, 1 for the innermost level, ...
    costs : int64[levels + 1]
        Distance per level; ``costs[0] = 0``.
    """

    labels: UInt64
    level_of_bit: NDArray[np.uint8]
    costs: Int64

    @property
    def largest(self) -> int:
        """Largest distance of two places: labels ascend, first and last part at the outermost level."""
        return int(self.bit_costs[int(self.labels[0] ^ self.labels[-1]).bit_length()])

    @property
    def bit_costs(self) -> Int64:
        """int64[65]: distance for every width of the xor of two labels."""
        return self.costs[self.level_of_bit]

    def between(self, a: int, b: int) -> int:
        """Distance of two places."""
        return int(self.costs[self.level_of_bit[(int(self.labels[a]) ^ int(self.labels[b])).bit_length()]])

    def select(self, places: Int64) -> TreeDistance:
        """Distances among some of the places (ascending numbers)."""
        if len(places) == len(self.labels):
            return self
        return TreeDistance(self.labels[places], self.level_of_bit, self.costs)

    def matrix(self) -> Int64:
        """int64[k, k] of all distances; for small k and tests, O(k^2) memory."""
        differing = self.labels[:, None] ^ self.labels[None, :]
        levels = np.zeros(differing.shape, np.uint8)
        for level in range(1, len(self.costs)):  # innermost first: the outermost that differs wins
            bits = np.flatnonzero(self.level_of_bit == level)
            if len(bits):
                levels[differing >= np.uint64(1 << (int(bits[0]) - 1))] = level
        return self.costs[levels]


@dataclass(frozen=True, slots=True, eq=False)
class TableDistance:
    """Distances of k places as a dense int64[k, k] table (kept small: see the machine that makes it)."""

    table: Int64

    @property
    def largest(self) -> int:
        """Largest distance between two places."""
        return int(self.table.max())

    def between(self, a: int, b: int) -> int:
        """Distance of two places."""
        return int(self.table[a, b])

    def select(self, places: Int64) -> TableDistance:
        """Distances among some of the places (ascending numbers)."""
        if len(places) == len(self.table):
            return self
        return TableDistance(np.ascontiguousarray(self.table[np.ix_(places, places)]))

    def matrix(self) -> Int64:
        """int64[k, k] of all distances."""
        return self.table


Distance: TypeAlias = "TreeDistance | TableDistance | NetworkDistance"


class Machine(ShownBySpec):
    """Hardware that exists: `n_cores` places numbered from 0 in machine order (logical numbers).

    A machine is final and frozen; what a job may use of it is an :class:`hopbytes.model.allocation.Allocation`.
    """

    __slots__ = ()
    #: The name of the kind is a whole spec (``local``); what follows a colon may be left out.
    stands_alone: ClassVar[bool] = False

    @classmethod
    def parse(cls, text: str) -> Machine:
        """Build a machine from what follows ``kind:`` in a spec (see :mod:`hopbytes.machines.spec`)."""
        raise UnsupportedError(f"a {cls.__name__.lower()} machine cannot be given as text")

    @property
    @abstractmethod
    def n_cores(self) -> int:
        """Number of places (cores)."""

    @property
    @abstractmethod
    def levels(self) -> tuple[Level, ...]:
        """Named levels, outermost first; empty for machines that have none."""

    @abstractmethod
    def spec(self) -> str:
        """Return a text from which :func:`hopbytes.machine` makes this machine again."""

    @abstractmethod
    def distance(self) -> Distance:
        """Lower the machine to one of the forms kernels know; places are its cores."""

    @abstractmethod
    def ancestors(self, level: int) -> Int32:
        """int32[n_cores]: number of the unit at ``levels[level]`` that each core belongs to.

        Units are numbered over the whole machine in machine order.
        """

    @abstractmethod
    def split(self, cores: Int64) -> list[Int64]:
        """Cut a set of cores (ascending) along the machine's natural outermost seam.

        Returns two or more non-empty ascending parts that together hold `cores`; one part only when
        there is a single core. Multisection descends by this, so that it works on every machine.
        """

    def groups(self, cores: Int64) -> list[Int32]:
        """Cut a set of cores (ascending) all the way down: the group of each, coarsest grouping first.

        Returns
        -------
        list of int32[len(cores)]
            Every grouping numbers its groups 0..g-1, refines the one before, and the parts of one
            group have consecutive numbers. The last has one group per core; groupings that would
            repeat the one before, and the trivial one of a single group, are left out (a single
            core gives ``[[0]]``). Numbers ascend with the cores on a tree, not in general.

        Notes
        -----
        This general version calls :meth:`split` once per group; machines that can do better do.
        """
        level = [np.arange(len(cores), dtype=np.int64)]  # positions within `cores`, one array per group
        found = []
        while len(level) < len(cores):
            finer: list[Int64] = []
            for places in level:
                parts = self.split(cores[places]) if len(places) > 1 else [cores[places]]
                finer.extend(places[np.searchsorted(cores[places], part)] for part in parts)
            level = finer
            grouping = np.empty(len(cores), np.int32)
            grouping[np.concatenate(level)] = np.repeat(
                np.arange(len(level), dtype=np.int32), [len(places) for places in level]
            )
            found.append(grouping)
        return found or [np.zeros(len(cores), np.int32)]

    def with_distances(self, distances: Mapping[str, int]) -> Machine:
        """Return the machine with other distances of the levels named; UnsupportedError without levels."""
        wanted = ", ".join(distances)
        raise UnsupportedError(f"a distance of {wanted} needs levels, '{self.spec()}' has none to change")

    def level_same_as(self, name: str) -> str | None:
        """Level with the same units as the kind `name`, which has no level of its own; None: unknown."""
        return None

    def node_names(self) -> tuple[str, ...]:
        """Host name of every node, where the machine's source has them; else empty."""
        return ()

    def node_places(self) -> tuple[tuple[str, ...], Int64]:
        """Names of the coordinates that a table of hosts may give, and int64[coordinates, nodes]."""
        return (), np.empty((0, 0), np.int64)

    def keeps_names(self) -> bool:
        """Whether nodes cannot be called otherwise than :meth:`node_names` says."""
        return False

    def hosts_hint(self) -> str:
        """What to add to an error about hosts the machine does not have."""
        return ""

    def for_nodes(self, nodes: Int32) -> Machine:
        """The machine as a job uses it whose slots lie on these nodes; all nodes keep their numbers."""
        return self

    def slot_endpoints(
        self, nodes: Int32, gpus: Int32 | None, tree_of: Callable[[int], NodeTree | None]
    ) -> tuple[Int32 | None, tuple[str, ...]]:
        """int32[slots]: endpoint each slot sends through, from its node and GPU; None: that of its cores.

        Parameters
        ----------
        nodes, gpus : int32[slots]
            Node of each slot and the number of its GPU there; `gpus` is None for slots without GPUs.
        tree_of : callable
            From a node to its tree, which knows the adapters near its GPUs; None where nobody knows it.

        Returns
        -------
        endpoints : int32[slots] or None
        notices : tuple of str
            What had to be assumed.
        """
        return None, ()

    def notices(self) -> tuple[str, ...]:
        """Sentences for the user about where the machine came from."""
        return ()

    def notices_on(self, used: NDArray[np.bool_]) -> tuple[str, ...]:
        """Those of the notices that matter to a job on some of the nodes (bool[nodes])."""
        return self.notices()

    def job(self) -> Job | None:
        """The job the machine belongs to, with what it asked for; None when it was described otherwise."""
        return None

    def repeated(self, hosts: Sequence[str]) -> Machine | None:
        """The machine of several such nodes with these names; None when it cannot be repeated."""
        return None

    def node_tree(self, node: int) -> NodeTree | None:
        """The tree of one node with the numbers its operating system uses; None when nobody knows it."""
        return None

    def os_cpus(self) -> tuple[Int64, Int64] | None:
        """CPU numbers of the operating system of every place, as row starts and numbers; None: unknown.

        Returns
        -------
        int64[n_cores + 1], int64[...]
            Place p has CPUs ``numbers[start[p]:start[p + 1]]``, counted on its own node.
        """
        return None

    def settled(self) -> Machine:
        """Return this machine with everything written down that its spec left to defaults."""
        return self

    def network(self) -> Network | None:
        """Return the network of links between the nodes; None when the machine knows only distances."""
        return None

    def hop_latency(self) -> float | None:
        """Seconds of a message per link of the network; None when not known. Capacities then are bytes/s."""
        return None

    def nodes_along_curve(self) -> Int64:
        """int64[nodes]: nodes in the order in which schedulers keep jobs compact; here machine order."""
        return np.arange(int(self.node_of_core()[-1]) + 1, dtype=np.int64)

    def endpoint_of_core(self) -> Int32:
        """int32[n_cores]: endpoint of the network that each core sends through; one per node unless said."""
        return self.node_of_core()

    def gpu_of_core(self) -> Int32 | None:
        """int32[n_cores]: GPU of its node each place is or lies beside; None without a level of GPUs."""
        level = self.gpu_level()
        if level is None:
            return None
        unit, node = self.ancestors(level), self.node_of_core()
        return (unit - unit[np.searchsorted(node, node)]).astype(np.int32)

    def gpu_level(self) -> int | None:
        """Index of the level whose units are GPUs inside nodes; None when there is none. O(places).

        A level of that name around nodes is none: a GPU does not hold several hosts.
        """
        names = [level.name.lower() for level in self.levels]
        index = next((number for number, name in enumerate(names) if name in GPU_NAMES), None)
        if index is None:
            return None
        unit, node = self.ancestors(index), self.node_of_core()
        return None if np.any((unit[1:] == unit[:-1]) & (node[1:] != node[:-1])) else index

    def leaves_are_gpus(self) -> bool:
        """Tell whether the places are GPUs, so that nothing is known about cores."""
        level = self.gpu_level()
        return level is not None and level == len(self.levels) - 1

    def level_named(self, names: tuple[str, ...]) -> int | None:
        """Index of the first level with one of the names, None when there is none."""
        for index, level in enumerate(self.levels):
            if level.name in names:
                return index
        return None

    def node_of_core(self) -> Int32:
        """int32[n_cores]: host of each core; all 0 when no level is a node (one host)."""
        level = self.level_named(NODE_NAMES)
        return np.zeros(self.n_cores, np.int32) if level is None else self.ancestors(level)
