"""Machine: a topology, and what else is known of the hardware, each kind of knowledge a part of its own."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from hopbytes._arrays import Bool, Int32, Int64
from hopbytes._frozen import frozen
from hopbytes.errors import UnsupportedError
from hopbytes.machines.distances import Distance
from hopbytes.machines.network.network import Network
from hopbytes.util.registry import Registry

if TYPE_CHECKING:
    from hopbytes.machines.node.job import JobInfo
    from hopbytes.machines.node.node_tree import NodeInventory


#: Largest relative capacity: products with loads and counts then stay small.
MAX_CAPACITY = 10**6

#: Names of levels whose units are GPUs.
GPU_NAMES = ("gpu", "gpus")
#: Level names that mean "one host with its own operating system".
NODE_NAMES = ("node", "host", "server")


@frozen
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


class Topology(ABC):
    """`n_cores` cores numbered from 0 (logical numbers), levels of units that hold them, and distances."""

    __slots__ = ()

    @property
    @abstractmethod
    def n_cores(self) -> int:
        """Number of cores."""

    @property
    @abstractmethod
    def levels(self) -> tuple[Level, ...]:
        """Named levels, outermost first; empty for topologies that have none."""

    @abstractmethod
    def distance(self) -> Distance:
        """Lower the distances between cores to one of the forms that kernels know."""

    @abstractmethod
    def ancestors(self, level: int) -> Int32:
        """int32[n_cores]: number of the unit at ``levels[level]`` that each core belongs to.

        Units are numbered over the whole machine in machine order.
        """

    @abstractmethod
    def split(self, cores: Int64) -> list[Int64]:
        """Cut a set of cores (ascending) into the outermost units that they lie in.

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
        This general version calls :meth:`split` once per group; topologies with a faster way override it.
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

    def node_of_core(self) -> Int32:
        """int32[n_cores]: host of each core; all 0 when no level is a node (one host)."""
        level = self.level_named(NODE_NAMES)
        return np.zeros(self.n_cores, np.int32) if level is None else self.ancestors(level)

    def level_named(self, names: tuple[str, ...]) -> int | None:
        """Index of the first level with one of the names, None when there is none."""
        for index, level in enumerate(self.levels):
            if level.name in names:
                return index
        return None

    def gpu_of_core(self) -> Int32 | None:
        """int32[n_cores]: GPU of its node that each core is or lies beside; None without a level of GPUs."""
        level = self.gpu_level()
        if level is None:
            return None
        unit, node = self.ancestors(level), self.node_of_core()
        return (unit - unit[np.searchsorted(node, node)]).astype(np.int32)

    def gpu_level(self) -> int | None:
        """Index of the level whose units are GPUs inside nodes; None when there is none. O(places).

        A level of that name outside the nodes does not count, since a GPU does not hold several hosts.
        """
        names = [level.name.lower() for level in self.levels]
        index = next((number for number, name in enumerate(names) if name in GPU_NAMES), None)
        if index is None:
            return None
        unit, node = self.ancestors(index), self.node_of_core()
        return None if np.any((unit[1:] == unit[:-1]) & (node[1:] != node[:-1])) else index

    def leaves_are_gpus(self) -> bool:
        """Tell whether the smallest units are GPUs, so that nothing is known about cores."""
        level = self.gpu_level()
        return level is not None and level == len(self.levels) - 1


#: Characters of a spec in one line.
LONGEST_SPEC = 80


class ShownBySpec(ABC):
    """What has a spec and a number of cores."""

    __slots__ = ()

    def __init_subclass__(cls, **options: object) -> None:
        """Keep the representation of every kind; a dataclass would replace it by one of all its fields."""
        super().__init_subclass__(**options)
        if "__repr__" not in cls.__dict__:
            cls.__repr__ = ShownBySpec.__repr__  # type: ignore[method-assign]

    @abstractmethod
    def spec(self) -> str:
        """Return a text from which :func:`hopbytes.machine` makes this again."""

    @property
    @abstractmethod
    def n_cores(self) -> int:
        """Number of places."""

    def __repr__(self) -> str:
        text = self.spec()
        cut = text if len(text) <= LONGEST_SPEC else f"{text[: LONGEST_SPEC - 1]}…"
        return f"{type(self).__name__}({cut!r}, {self.n_cores} cores)"


machines: Registry[type[Machine]] = Registry(
    "machine", "hopbytes.machines.kinds", entry_points="hopbytes.machines"
)


@frozen
class KnownHosts:
    """The hosts that a machine knows by name.

    Parameters
    ----------
    names : tuple of str
        Host name of every node in machine order; empty where the machine's source has none.
    fixed : bool
        The nodes cannot be given other names.
    hint : str
        What to add to an error about hosts that the machine does not have.
    """

    names: tuple[str, ...] = ()
    fixed: bool = False
    hint: str = ""


def _of_their_cores(
    nodes: Int32, gpus: Int32 | None, inventory: NodeInventory | None
) -> tuple[Int32 | None, tuple[str, ...]]:
    return None, ()


@frozen(eq=False)
class NetworkUse:
    """How the cores of a machine use its network; everything is computed only when it is needed.

    Parameters
    ----------
    endpoint_of_core : callable
        Returns int32[n_cores], the endpoint of the network that each core sends through.
    slot_endpoints : callable
        Takes int32[slots], the node of each slot; int32[slots] or None, the number of its GPU on the node;
        and a NodeInventory or None, which knows the adapters near GPUs. Returns int32[slots] or None, the
        endpoint that each slot sends through (None means the endpoint of its cores), and a tuple of str,
        notices about assumptions.
    hop_latency : float or None
        Latency of a message per link in seconds, or None if it is not known. If it is known, capacities are
        in bytes per second.
    """

    endpoint_of_core: Callable[[], Int32]
    slot_endpoints: Callable[
        [Int32, Int32 | None, NodeInventory | None], tuple[Int32 | None, tuple[str, ...]]
    ] = _of_their_cores
    hop_latency: float | None = None


class Machine(ShownBySpec, Topology):
    """Hardware that exists: a topology with, where they are known, a network, node inventories and a job.

    A machine is final and frozen; what a job may use of it is an
    :class:`hopbytes.model.allocation.Allocation`.
    A kind of machine overrides the parts that its source describes.
    """

    __slots__ = ()
    #: The name of the kind is a whole spec (``local``); what follows a colon may be left out.
    stands_alone: ClassVar[bool] = False

    @classmethod
    def parse(cls, text: str) -> Machine:
        """Build a machine from what follows ``kind:`` in a spec (see :mod:`hopbytes.machines.spec`)."""
        raise UnsupportedError(f"a {cls.__name__.lower()} machine cannot be given as text")

    @abstractmethod
    def spec(self) -> str:
        """Return a text from which :func:`hopbytes.machine` makes this machine again."""

    def with_distances(self, distances: Mapping[str, int]) -> Machine:
        """Return the machine with other distances of the levels named; UnsupportedError without levels."""
        wanted = ", ".join(distances)
        raise UnsupportedError(f"a distance of {wanted} needs levels, '{self.spec()}' has none to change")

    def with_defaults_written(self) -> Machine:
        """Return this machine with everything written down that its spec left to defaults."""
        return self

    @property
    def known_hosts(self) -> KnownHosts:
        """The hosts that the machine's source names."""
        return KnownHosts()

    @property
    def inventory(self) -> NodeInventory | None:
        """CPU numbers and GPUs of the nodes, as their operating systems number them; None when unknown."""
        return None

    @property
    def job(self) -> JobInfo | None:
        """The job the machine belongs to, with what it asked for; None when it was described otherwise."""
        return None

    def gpu_of_core(self) -> Int32 | None:
        """int32[n_cores]: GPU of its node that each core lies beside, by its own number where known."""
        counted = super().gpu_of_core()
        known = None if counted is None or self.inventory is None else self.inventory.gpu_of_place()
        return counted if known is None else known

    def network(self) -> Network | None:
        """Return the network of links between the nodes; None when the machine knows only distances."""
        return None

    @property
    def network_use(self) -> NetworkUse:
        """The endpoints that cores and slots send through; by default each node has one."""
        return NetworkUse(self.node_of_core)

    def for_nodes(self, nodes: Int32) -> Machine:
        """The machine as a job uses it whose slots lie on these nodes; all nodes keep their numbers."""
        return self

    def notices(self, used: Bool | None = None) -> tuple[str, ...]:
        """Sentences for the user about where the machine came from.

        Parameters
        ----------
        used : bool[nodes] or None
            The nodes of a job: only what matters to them is said. None: all nodes.
        """
        return ()
