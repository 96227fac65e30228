"""Hosts on a fabric that was read from files: they may have several adapters; switches forward by tables."""

from __future__ import annotations

from dataclasses import field, replace

import numpy as np

from hopbytes._arrays import Bool, Int32, Int64
from hopbytes._frozen import frozen
from hopbytes.errors import FormatError, UnsupportedError
from hopbytes.fabrics.arrival import Arrival, follow, leaf_switches
from hopbytes.fabrics.fabric import Fabric
from hopbytes.fabrics.hosts import Host
from hopbytes.machines.base import KnownHosts, NetworkUse
from hopbytes.machines.common.clustered_split import split_by_distance
from hopbytes.machines.common.gpu_rails import adapters_of_gpus
from hopbytes.machines.common.networked import NetworkMachine, check_nodes
from hopbytes.machines.common.tree import Tree
from hopbytes.machines.network.fabric_network import fabric_network
from hopbytes.machines.network.network import Network
from hopbytes.machines.node.inventory import NodeInventory

RAILS = ("first", "same", "spread", "gpu")


@frozen(eq=False)
class FabricMachine(NetworkMachine):
    """Hosts on a fabric; the endpoints of its network are the adapter ports of these hosts, host by host."""

    text: str  # spec of the network without distance per hop
    fabric: Fabric  # with routes
    hosts: tuple[Host, ...]  # nodes in machine order, with the adapters their tasks may use
    #: which adapter the cores of a host use. ``first``: all cores use the first one. ``same``: equal shares
    #: of the cores use the first, second, ... adapter, as many as every host of the job has, so that equal
    #: cores meet on one rail. ``spread``: equal shares use all adapters the host has. ``gpu``: slots of GPUs
    #: use the adapter nearest to their GPU, or equal shares in the order of the GPUs where it is unknown.
    rails: str = "first"
    per_hop: int | None = None  # see :class:`hopbytes.machines.common.networked.NetworkMachine`.
    inside: Tree | None = None
    #: flows divide evenly over all shortest paths between switches, as adaptive routing aims at, instead of
    #: taking the routes of the tables
    spread: bool = False
    nodes: tuple[int, ...] = ()  # hosts of the job, by which ``same`` counts adapters; empty: all hosts
    links: Network | None = field(default=None, repr=False)
    arrival: Arrival | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if self.rails not in RAILS:
            raise FormatError("`rails`", None, f"{self.rails[:20]!r}, expected one of {', '.join(RAILS)}")
        if self.links is None:  # a copy with other levels inside keeps its routes
            object.__setattr__(self, "arrival", follow(self.fabric))
            object.__setattr__(self, "links", fabric_network(self.fabric, self.hosts, spread=self.spread))
        check_nodes(self)

    def _identity(self) -> tuple[object, ...]:
        names = tuple((host.name, host.adapter_names) for host in self.hosts)
        return self.text, self.rails, self.hop_distance, self.inside, names, self._adapters_each()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FabricMachine) and self._identity() == other._identity()

    def __hash__(self) -> int:
        return hash(self._identity())

    @property
    def n_nodes(self) -> int:
        """Number of hosts."""
        return len(self.hosts)

    @property
    def known_hosts(self) -> KnownHosts:
        """The hosts of the fabric."""
        return KnownHosts(tuple(host.name for host in self.hosts), fixed=True, hint=names_hint(self.hosts))

    def network_spec(self) -> str:
        """The file or folder and the options it was read with."""
        return self.text

    def network(self) -> Network:
        """Links between adapters and switches, with the routes of the fabric."""
        assert self.links is not None
        return self.links

    def notices(self, used: Bool | None = None) -> tuple[str, ...]:
        """What was left out or assumed, hosts without a name, pairs of adapters in use without a route."""
        used = np.ones(len(self.hosts), np.bool_) if used is None else used
        notices = list(self.fabric.notices)
        nameless = sum(not host.named for host in self.hosts)
        if nameless:
            notices.append(
                f"{nameless} adapters name no host and count as hosts of their own: "
                "`node_name_map` says whose they are"
            )
        notices += self._fewer_rails()
        lost = self._unrouted(used)
        if len(lost):
            names = [self.fabric.adapters[number].name for number in lost[0]]
            notices.append(f"{len(lost)} pairs of adapters have no route, as {names[0]!r} to {names[1]!r}")
        return tuple(notices)

    def for_nodes(self, nodes: Int32) -> FabricMachine:
        """The same fabric, with the rails that all hosts of a job have."""
        return replace(self, nodes=tuple(np.unique(nodes).tolist())) if self.rails == "same" else self

    def _adapters_each(self) -> tuple[int, ...]:
        """Return how many adapters every host of the job uses with ``same``; empty with other rules."""
        if self.rails != "same":
            return ()
        return (min(len(self.hosts[node].adapters) for node in self.nodes or range(self.n_nodes)),)

    def _fewer_rails(self) -> list[str]:
        """Say that ``same`` leaves adapters of some hosts unused, and because of which host."""
        used = [self.hosts[node] for node in self.nodes or range(self.n_nodes)]
        least = min(used, key=lambda host: len(host.adapters))
        count, most = len(least.adapters), max(len(host.adapters) for host in used)
        if self.rails != "same" or count == most:
            return []
        first = "the first adapter" if count == 1 else f"the first {count} adapters"
        return [
            f"rails=same uses {first} of each host, since {least.name} has no more; other hosts have up to "
            f"{most} (rails=spread uses all of them, `hosts` leaves hosts out)"
        ]

    def _unrouted(self, used: Bool) -> Int64:
        """int64[pairs, 2]: adapters of different hosts in use, without a route from the one to the other."""
        assert self.arrival is not None
        lost = self.arrival.unrouted(self.fabric)
        owner = np.full(len(self.fabric.adapters), -1, np.int64)
        owner[self._adapters()] = [
            node if used[node] else -1 for node, host in enumerate(self.hosts) for _ in host.adapters
        ]
        host = owner[lost]
        matters = (host >= 0).all(axis=1) & (host[:, 0] != host[:, 1])
        found: Int64 = lost[matters]
        return found

    def _adapters(self) -> Int64:
        """int64[endpoints]: adapter port of the fabric that each endpoint is."""
        return np.array([number for host in self.hosts for number in host.adapters], np.int64)

    @property
    def adapters_per_host(self) -> Int64:
        """int64[hosts]: number of adapters of every host; endpoints are numbered host by host."""
        return np.array([len(host.adapters) for host in self.hosts], np.int64)

    @property
    def network_use(self) -> NetworkUse:
        """Adapters of cores and slots, by `rails`."""
        return NetworkUse(self._endpoint_of_core, self._slot_endpoints)

    def _endpoint_of_core(self) -> Int32:
        """int32[n_cores]: adapter each core sends through, by `rails`."""
        node = self.node_of_core().astype(np.int64)
        adapters = self.adapters_per_host
        first = np.cumsum(adapters) - adapters
        if self.rails == "first":
            return first[node].astype(np.int32)
        cores = np.bincount(node, minlength=len(self.hosts))
        place = np.arange(len(node)) - (np.cumsum(cores) - cores)[node]
        # A host outside the job may have fewer adapters than those of the job share.
        count = np.minimum(adapters, self._adapters_each()[0]) if self.rails == "same" else adapters
        return (first[node] + place * count[node] // cores[node]).astype(np.int32)

    def _slot_endpoints(
        self, nodes: Int32, gpus: Int32 | None, inventory: NodeInventory | None
    ) -> tuple[Int32 | None, tuple[str, ...]]:
        """int32[slots]: adapter nearest to the GPU of each slot with ``rails=gpu``, else None."""
        if self.rails != "gpu":
            return None, ()
        if gpus is None:
            raise UnsupportedError(
                "rails=gpu needs a slot per GPU: `per='gpu'`, and nodes that know their GPUs (hwloc:FILE)"
            )
        return adapters_of_gpus(self.hosts, nodes, gpus, inventory)

    def split_nodes(self, nodes: Int64) -> list[Int64]:
        """Cut by the hops between the switches that the first adapters of the nodes are connected to.

        Switches that keep the largest distance from each other are parts; where that gives no
        clusters, the parts are two compact halves. Each host of a single switch is a part.
        """
        assert self.arrival is not None
        first = np.array([self.hosts[node].adapters[0] for node in nodes.tolist()], np.int64)
        leaf = leaf_switches(self.fabric)[first].astype(np.int64)
        leaves, position = np.unique(leaf, return_inverse=True)
        if len(leaves) == 1 or leaves[0] < 0:
            return list(nodes[:, None])
        representative = first[np.unique(leaf, return_index=True)[1]]
        hops = self.arrival.links[np.ix_(leaves, representative)].astype(np.int64)
        hops[hops < 0] = int(hops.max()) + 1
        part = split_by_distance(hops + hops.T)[position]
        return [nodes[part == number] for number in range(int(part.max()) + 1)]


def names_hint(hosts: tuple[Host, ...]) -> str:
    """Return what to add to an error about hosts that are not there."""
    nameless = sum(not host.named for host in hosts)
    return f"; {nameless} adapters name no host: `node_name_map` says whose they are" if nameless else ""
