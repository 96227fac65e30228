"""Named hosts at some of the endpoints of a network, several or none at each router."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from hopbytes._arrays import Int32, Int64
from hopbytes.errors import FormatError
from hopbytes.machines.common.geometry import Geometry, geometry_of
from hopbytes.machines.common.networked import NetworkMachine, check_nodes
from hopbytes.machines.common.tree import Tree
from hopbytes.machines.network.network import Network
from hopbytes.textio.hostlist import expand_hosts


@dataclass(frozen=True, slots=True, eq=False)
class HostsOn(NetworkMachine):
    """Hosts at endpoints of a network that has more of them than hosts, or other numbers.

    Parameters
    ----------
    text : str
        Spec of the whole, without distance per hop.
    around : NetworkMachine
        The network; what is inside its nodes and its distances do not matter.
    hosts : tuple of str
        Names in machine order.
    places : tuple of int
        Endpoint of each host, distinct.
    said : tuple of str
        What the user should know.
    per_hop, inside
        See :class:`hopbytes.machines.common.networked.NetworkMachine`.
    """

    text: str
    around: NetworkMachine
    hosts: tuple[str, ...]
    places: tuple[int, ...]
    said: tuple[str, ...] = ()
    per_hop: int | None = None
    inside: Tree | None = None

    def __post_init__(self) -> None:
        check_nodes(self)

    def _identity(self) -> tuple[object, ...]:
        return self.around.network_spec(), self.hosts, self.places, self.hop_distance, self.inside

    def __eq__(self, other: object) -> bool:
        return isinstance(other, HostsOn) and self._identity() == other._identity()

    def __hash__(self) -> int:
        return hash(self._identity())

    @property
    def n_nodes(self) -> int:
        """Number of hosts."""
        return len(self.hosts)

    def node_names(self) -> tuple[str, ...]:
        """Host names."""
        return self.hosts

    def keeps_names(self) -> bool:
        """Nodes are those of the file."""
        return True

    def notices(self) -> tuple[str, ...]:
        """What was left out or assumed."""
        return self.said

    def network_spec(self) -> str:
        """The file and the options it was read with."""
        return self.text

    def network(self) -> Network:
        """The whole network, also where no host is."""
        return self.around.network()

    def endpoint_of_core(self) -> Int32:
        """int32[n_cores]: endpoint of the host of each core."""
        return np.asarray(self.places, np.int32)[self.node_of_core()]

    def split_nodes(self, nodes: Int64) -> list[Int64]:
        """Cut as the network cuts the endpoints of these hosts."""
        places = np.asarray(self.places, np.int64)[nodes]
        order = np.argsort(places)
        parts = self.around.split_nodes(places[order])
        return [np.sort(nodes[order[np.searchsorted(places[order], part)]]) for part in parts]

    def geometry(self) -> Geometry | None:
        """Where every host is, if the network is a grid."""
        around = geometry_of(self.around)
        return None if around is None else around._replace(places=around.places[:, list(self.places)])

    def kept(self, wanted: str | None) -> HostsOn:
        """Return the machine of some of its hosts; FormatError for names it does not have."""
        if wanted is None:
            return self
        chosen = set(expand_hosts(wanted))
        missing = sorted(chosen - set(self.hosts))
        if missing:
            names = ", ".join(missing[:3])
            raise FormatError("`hosts`", None, f"{len(missing)} hosts are not in {self.text} ({names})")
        kept = [node for node, host in enumerate(self.hosts) if host in chosen]
        hosts, places = tuple(self.hosts[node] for node in kept), tuple(self.places[node] for node in kept)
        return replace(self, hosts=hosts, places=places)
