"""Named hosts at some of the endpoints of a network, several or none at each router."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from hopbytes._arrays import Bool, Int32, Int64
from hopbytes._frozen import frozen
from hopbytes.errors import FormatError
from hopbytes.machines.base import KnownHosts, NetworkUse
from hopbytes.machines.common.networked import NetworkMachine, check_nodes
from hopbytes.machines.common.tree import Tree
from hopbytes.machines.network.network import Network
from hopbytes.text.hostlist import expand_hosts


@frozen(eq=False)
class AttachedHosts(NetworkMachine):
    """Hosts at some endpoints of a network, which may have more endpoints than hosts, numbered differently.
    """

    text: str  # spec of this machine, without distance per hop
    #: the machine whose network it is; its distances and the levels inside its nodes are ignored
    around: NetworkMachine
    hosts: tuple[str, ...]  # names in machine order
    places: tuple[int, ...]  # endpoint of each host, distinct
    warnings: tuple[str, ...] = ()  # what the user should know about the source
    per_hop: int | None = None  # see :class:`hopbytes.machines.common.networked.NetworkMachine`.
    inside: Tree | None = None

    def __post_init__(self) -> None:
        check_nodes(self)

    def _identity(self) -> tuple[object, ...]:
        return self.around.network_spec(), self.hosts, self.places, self.hop_distance, self.inside

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AttachedHosts) and self._identity() == other._identity()

    def __hash__(self) -> int:
        return hash(self._identity())

    @property
    def n_nodes(self) -> int:
        """Number of hosts."""
        return len(self.hosts)

    @property
    def known_hosts(self) -> KnownHosts:
        """The nodes of the file."""
        return KnownHosts(self.hosts, fixed=True)

    def notices(self, used: Bool | None = None) -> tuple[str, ...]:
        """What was left out or assumed."""
        return self.warnings

    def network_spec(self) -> str:
        """The file and the options it was read with."""
        return self.text

    def network(self) -> Network:
        """The whole network, with the endpoints that have no host."""
        return self.around.network()

    @property
    def network_use(self) -> NetworkUse:
        """Every core sends through the endpoint of its host."""
        return NetworkUse(self._endpoint_of_core)

    def _endpoint_of_core(self) -> Int32:
        """int32[n_cores]: endpoint of the host of each core."""
        return np.asarray(self.places, np.int32)[self.node_of_core()]

    def split_nodes(self, nodes: Int64) -> list[Int64]:
        """Cut the hosts as the network cuts their endpoints."""
        places = np.asarray(self.places, np.int64)[nodes]
        order = np.argsort(places)
        parts = self.around.split_nodes(places[order])
        return [np.sort(nodes[order[np.searchsorted(places[order], part)]]) for part in parts]

    def kept(self, wanted: str | None) -> AttachedHosts:
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
