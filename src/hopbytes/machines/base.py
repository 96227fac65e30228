"""Machine: cores, named levels, distances and cuts, and what else is known of the hardware, part by part."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from hopbytes._arrays import Bool, Int32, Int64
from hopbytes._frozen import frozen
from hopbytes.errors import UnsupportedError
from hopbytes.machines.distances import Distance
from hopbytes.machines.network import Network
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
#: Characters of a spec in the text of a machine.
LONGEST_SPEC = 80

machines: Registry[type[Machine]] = Registry(
    "machine", "hopbytes.machines.kinds", entry_points="hopbytes.machines",
    modules={
        "tree": "hopbytes.machines.tree", "mesh": "hopbytes.machines.kinds.torus",
        "dragonfly_plus": "hopbytes.machines.kinds.dragonfly", "job": "hopbytes.machines.kinds.local",
        "amd": "hopbytes.machines.kinds.nvidia",
    },
)  # fmt: skip


@frozen
class Level:
    """One level of a tree, named for people."""

    name: str  # a word such as ``node`` or ``core``, distinct within a machine
    distance: int  # of two cores that first differ at this level, >= 0, no smaller than further inside
    bandwidth: float | None = None  # bytes per second across this level (``bw=`` in a spec)
    latency: float | None = None  # seconds per message across this level (``lat=``)
    #: how much more than others the units of this level can take (``cap=``): one number for all, one for each
    #: unit inside every unit of the level outside, or one for each unit of the machine; empty: all alike
    capacity: tuple[int, ...] = ()
    #: a unit of this level, above the nodes, sends 1/N of what its nodes could send together (``over=``)
    oversubscription: float | None = None


@frozen
class KnownHosts:
    """The hosts that a machine knows by name."""

    names: tuple[str, ...] = ()  # of every node in machine order; empty where the machine's source has none
    fixed: bool = False  # the nodes cannot be given other names
    hint: str = ""  # what to add to an error about hosts that the machine does not have


@frozen(eq=False)
class NetworkUse:
    """How the cores of a machine use its network; everything is computed only when it is needed."""

    #: returns int32[n_cores], the endpoint of the network that each core sends through
    endpoint_of_core: Callable[[], Int32]
    #: takes int32[slots], the node of each slot; int32[slots] or None, the number of its GPU on the node; and
    #: a NodeInventory or None, which knows the adapters near GPUs. Returns int32[slots] or None, the endpoint
    #: that each slot sends through (None means that of its cores), and notices about assumptions
    slot_endpoints: Callable[
        [Int32, Int32 | None, NodeInventory | None], tuple[Int32 | None, tuple[str, ...]]
    ] = lambda *_: (None, ())
    hop_latency: float | None = None  # seconds per link; capacities are then in bytes per second


class Machine(ABC):
    """Hardware that exists: `n_cores` cores numbered from 0, levels of units that hold them, distances.

    All is that of `topology`, another machine such as a tree, but for what a kind overrides: a network, node
    inventories, a job, as far as its source describes them. A kind with levels, distances and cuts of its own
    is its own topology. A machine is final and frozen; what a job may use of it is an
    :class:`hopbytes.model.allocation.Allocation`.
    """

    __slots__ = ()
    #: The name of the kind is a whole spec (``local``); what follows a colon may be left out.
    stands_alone: ClassVar[bool] = False

    def __init_subclass__(cls, **options: object) -> None:
        """Keep the representation of every kind; a dataclass would replace it by one of all its fields."""
        super().__init_subclass__(**options)
        if "__repr__" not in cls.__dict__:
            cls.__repr__ = Machine.__repr__  # type: ignore[method-assign]

    def __repr__(self) -> str:
        text = self.spec()
        cut = text if len(text) <= LONGEST_SPEC else f"{text[: LONGEST_SPEC - 1]}…"
        return f"{type(self).__name__}({cut!r}, {self.n_cores} cores)"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Machine) and self._identity() == other._identity()

    def __hash__(self) -> int:
        return hash(self._identity())

    def _identity(self) -> tuple[object, ...]:
        """Return what equal machines have in common."""
        return (id(self),)

    @classmethod
    def parse(cls, text: str) -> Machine:
        """Build a machine from what follows ``kind:`` in a spec (see :mod:`hopbytes.machines.spec`)."""
        raise UnsupportedError(f"a {cls.__name__.lower()} machine cannot be given as text")

    @abstractmethod
    def spec(self) -> str:
        """Return a text from which :func:`hopbytes.allocate` makes this machine again."""

    @property
    @abstractmethod
    def topology(self) -> Machine:
        """The machine whose levels, distances, cuts and other parts these are; may be the machine itself."""

    @property
    def n_cores(self) -> int:
        """Number of cores."""
        return self.topology.n_cores

    @property
    def levels(self) -> tuple[Level, ...]:
        """Named levels, outermost first; empty for machines that have none."""
        return self.topology.levels

    def distance(self) -> Distance:
        """Lower the distances between cores to one of the forms that kernels know."""
        return self.topology.distance()

    def distance_of(self, cores: Int64) -> Distance:
        """Lower the distances among some cores (ascending)."""
        return self.distance().select(cores)

    def ancestors(self, level: int) -> Int32:
        """int32[n_cores]: number of the unit at ``levels[level]`` that each core belongs to.

        Units are numbered over the whole machine in machine order.
        """
        return self.topology.ancestors(level)

    def split(self, cores: Int64) -> list[Int64]:
        """Cut a set of cores (ascending) into the outermost units that they lie in.

        Returns two or more non-empty ascending parts that together hold `cores`; one part only when
        there is a single core. Multisection descends by this, so that it works on every machine.
        """
        return self.topology.split(cores)

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
        This general version calls :meth:`split` once per group; machines with a faster way override it.
        """
        if self.topology is not self:
            return self.topology.groups(cores)
        return cut_down(cores, self.split) or [np.zeros(len(cores), np.int32)]

    def node_of_core(self) -> Int32:
        """int32[n_cores]: host of each core; all 0 when no level is a node (one host)."""
        if self.topology is not self:
            return self.topology.node_of_core()
        level = self.level_named(NODE_NAMES)
        return np.zeros(self.n_cores, np.int32) if level is None else self.ancestors(level)

    def level_named(self, names: tuple[str, ...]) -> int | None:
        """Index of the first level with one of the names; None if there is none."""
        return next((index for index, level in enumerate(self.levels) if level.name in names), None)

    def gpu_of_core(self) -> Int32 | None:
        """int32[n_cores]: GPU of its node that each core is or lies beside, by its own number if known.

        None without a level of GPUs.
        """
        level = self.gpu_level()
        if level is None:
            return None
        known = None if self.inventory is None else self.inventory.gpu_of_place()
        if known is not None:
            return known
        unit, node = self.ancestors(level), self.node_of_core()
        return (unit - unit[np.searchsorted(node, node)]).astype(np.int32)

    def gpu_level(self) -> int | None:
        """Index of the level whose units are GPUs inside nodes; None when there is none. O(cores).

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

    def with_distances(self, distances: Mapping[str, int]) -> Machine:
        """Return the machine with other distances of the levels named; UnsupportedError without levels."""
        wanted = ", ".join(distances)
        raise UnsupportedError(f"a distance of {wanted} needs levels, '{self.spec()}' has none to change")

    def with_defaults_written(self) -> Machine:
        """Return this machine with everything written down that its spec left to defaults."""
        return self

    @property
    def innermost(self) -> Machine:
        """The machine itself, or the one whose parts it replaces."""
        return self

    @property
    def known_hosts(self) -> KnownHosts:
        """The hosts that the machine's source names."""
        return KnownHosts() if self.topology is self else self.topology.known_hosts

    @property
    def inventory(self) -> NodeInventory | None:
        """CPU numbers and GPUs of the nodes, as their operating systems number them; None if unknown."""
        return None if self.topology is self else self.topology.inventory

    @property
    def job(self) -> JobInfo | None:
        """The job the machine belongs to, with what it asked for; None when it was described otherwise."""
        return None if self.topology is self else self.topology.job

    def network(self) -> Network | None:
        """Return the network of links between the nodes; None when the machine knows only distances."""
        return None if self.topology is self else self.topology.network()

    @property
    def network_use(self) -> NetworkUse:
        """The endpoints that cores and slots send through; by default each node has one."""
        return NetworkUse(self.node_of_core) if self.topology is self else self.topology.network_use

    def for_nodes(self, nodes: Int32) -> Machine:
        """The machine as a job uses it whose slots lie on these nodes; all nodes keep their numbers."""
        return self

    def notices(self, used: Bool | None = None) -> tuple[str, ...]:
        """Sentences for the user about where the machine came from.

        Parameters
        ----------
        used : bool[nodes] or None
            The nodes of a job: only what matters to them is mentioned. None: all nodes.
        """
        return () if self.topology is self else self.topology.notices(used)


def cut_down(items: Int64, split: Callable[[Int64], list[Int64]]) -> list[Int32]:
    """Return the groupings that repeated cuts make of ascending numbers, coarsest first."""
    groups, found = [items], []
    while len(groups) < len(items):
        groups = [part for group in groups for part in (split(group) if len(group) > 1 else [group])]
        grouping = np.empty(len(items), np.int32)
        sizes = [len(part) for part in groups]
        members = np.searchsorted(items, np.concatenate(groups))
        grouping[members] = np.repeat(np.arange(len(groups), dtype=np.int32), sizes)
        found.append(grouping)
    return found
