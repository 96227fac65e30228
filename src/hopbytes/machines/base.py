"""Machine: a topology, and what else is known of the hardware, each kind of knowledge a part of its own."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, ClassVar

from hopbytes._arrays import Bool, Int32
from hopbytes._frozen import frozen
from hopbytes.errors import UnsupportedError
from hopbytes.machines.network.network import Network
from hopbytes.machines.shown_by_spec import ShownBySpec
from hopbytes.machines.topology import Topology
from hopbytes.util.registry import Registry

if TYPE_CHECKING:
    from hopbytes.machines.node.inventory import NodeInventory
    from hopbytes.machines.node.job_info import JobInfo


machines: Registry[type[Machine]] = Registry(
    "machine", ("hopbytes.machines.kinds", "hopbytes.machines.common"), entry_points="hopbytes.machines"
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
        """Return a text from which :func:`hopbytes.allocate` makes this machine again."""

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
