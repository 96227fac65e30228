"""The directed links between the nodes of any machine, with bytes per second, seconds and routes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from hopbytes._arrays import Float64, Int32, Int64
from hopbytes._frozen import frozen
from hopbytes.errors import UnsupportedError
from hopbytes.kernels.routes import Routes
from hopbytes.machines.base import NODE_NAMES
from hopbytes.machines.distances import RailDistance
from hopbytes.machines.network import Network, Wiring
from hopbytes.model.allocation import Allocation
from hopbytes.simulation.assumed_speeds import Speeds, missing
from hopbytes.simulation.tree_links import tree_links

#: Capacities below this number of bytes per second are taken as ratios between links.
SLOWEST_LINK = 10**6


@frozen(eq=False)
class NodeLinks:
    """Links between the endpoints of nodes."""

    #: float64[links]: Bytes per second of each directed link; 0 for numbers that no link has
    capacity: Float64
    latency: Float64  # float64[links]: Seconds per message
    message: float  # seconds that every message between nodes takes beside its links
    name_link: Callable[[int], str]  # from the number of a link to its name
    routes: Callable[[Int32, Int32], Routes]  # from int32 endpoints of sources and of targets to Routes
    #: int32[k]: Endpoint through which each PE sends. On a machine of levels endpoints are its nodes.
    endpoint_of_pe: Int32
    #: outlet of each endpoint (its router or adapter) and what leaves there in bytes per second, in total.
    #: None where it is unknown.
    outlet: tuple[Int64, Float64] | None
    notices: tuple[str, ...] = ()  # what was assumed about bandwidths and latencies
    wiring: Wiring | None = None  # where links begin and end, if that is known
    #: messages between endpoints of one node take links, too, as those of NVLink between GPUs
    ends_apart: bool = False
    #: from int32 endpoints of sources and of targets to the lengths of routes; -1: there is none. Two
    #: endpoints of one router may have no link between them. None: every pair has a route.
    hops: Callable[[Int32, Int32], Int64] | None = None


def node_links(where: Allocation, speeds: Speeds | None, oversubscription: float = 1.0) -> NodeLinks:
    """Return the links of a machine."""
    network: Network | None = where.machine.network()
    if network is not None:
        return _of_network(where, network, speeds)
    level = where.machine.level_named(NODE_NAMES)
    if not where.machine.levels:
        raise UnsupportedError(
            f"simulate: '{where.machine.spec()[:60]}' has distances only, expected a machine of levels or a "
            "network of links"
        )
    if level is None:  # one host: there is no link between nodes
        nothing = np.empty(0, np.float64)
        return NodeLinks(nothing, nothing, 0.0, str, _no_routes, where.node_of_pe, None)
    tree = tree_links(where, level, speeds, oversubscription)
    outlet = np.arange(tree.nodes, dtype=np.int64), tree.capacity[tree.first_node_up :][: tree.nodes]
    return NodeLinks(
        tree.capacity, tree.latency, 0.0, tree.name_link, tree.routes, where.node_of_pe, outlet, tree.notices
    )


def _no_routes(sources: Int32, targets: Int32) -> Routes:
    start = np.zeros(len(sources) + 1, np.int64)
    return Routes(start, np.empty(0, np.int64), None, None)


def _of_network(where: Allocation, network: Network, speeds: Speeds | None) -> NodeLinks:
    endpoints = where.endpoints
    if endpoints is None:
        endpoints = where.machine.network_use.endpoint_of_core()[where.first_core]
    notices: list[str] = []
    ends_apart = isinstance(where.distance, RailDistance)
    capacity = network.capacity.astype(np.float64)
    most = float(capacity.max(initial=0.0))
    if network.unit != "bytes/s" and most < SLOWEST_LINK and most > 0:
        if speeds is None:
            raise missing("bandwidth of links")
        base = _slowest_exit(network) if ends_apart else _first_link(network)
        capacity *= speeds.bandwidth / base
        what = f"{speeds.name}: {speeds.bandwidth / 1e9:g} GB/s"
        ratio = "per link" if base == most == 1 else f"for links of capacity {base:g}, others in proportion"
        notices.append(f"the machine has no bandwidths: {what} {ratio} (`assume` sets it)")
    hop, message = where.machine.network_use.hop_latency, 0.0
    if hop is None:
        if speeds is None:
            raise missing("latency of a hop")
        hop, message = speeds.hop, speeds.message
        times = f"{message * 1e6:g} us a message and {hop * 1e6:g} us a hop"
        notices.append(f"the machine has no latencies: {speeds.name}: {times} (`assume` sets it)")
    return NodeLinks(
        capacity, np.full(network.n_links, hop), message, network.name_link, network.routes,
        np.ascontiguousarray(endpoints, np.int32), _outlet(network, capacity), tuple(notices),
        None if network.wiring is None else network.wiring(), ends_apart, network.hops,
    )  # fmt: skip


def _first_link(network: Network) -> float:
    """Return the capacity of the first link of a route between two endpoints: that of an adapter."""
    for target in range(network.n_endpoints - 1, 0, -1):
        links = network.routes([0], [target]).links
        if len(links):
            return float(network.capacity[links[0]])
    return float(network.capacity.max())


def _slowest_exit(network: Network) -> float:
    """Return the capacity of the slowest link that leaves an endpoint: of its adapter, beside NVLink."""
    assert network.wiring is not None
    wiring = network.wiring()
    return float(network.capacity[wiring.tail == wiring.at[0]].min())


def _outlet(network: Network, capacity: Float64) -> tuple[Int64, Float64] | None:
    if network.wiring is None:
        return None
    wiring = network.wiring()
    leaving = np.bincount(wiring.tail, weights=capacity, minlength=wiring.vertices).astype(np.float64)
    return wiring.at, leaving
