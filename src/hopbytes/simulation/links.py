"""The directed links between the nodes of any machine, with bytes per second, seconds and routes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from hopbytes._arrays import Float64, Int32, Int64
from hopbytes._frozen import frozen
from hopbytes.errors import UnsupportedError, unknown_name
from hopbytes.kernels.routes import Routes
from hopbytes.machines.base import NODE_NAMES, Level
from hopbytes.machines.distances import RailDistance
from hopbytes.machines.network import Network, Wiring
from hopbytes.model.allocation import Allocation

#: Capacities below this number of bytes per second are taken as ratios between links.
SLOWEST_LINK = 10**6


@frozen
class Speeds:
    """What is assumed of a machine where it says nothing itself.

    The bandwidths are the nominal rates of the cables; the latencies are round figures of the kind that
    vendors print, not measurements.
    """

    name: str
    bandwidth: float  # bytes per second of a cable, in each direction
    message: float  # seconds that a message between nodes takes beside its hops: software and adapters
    hop: float  # seconds per link of the route
    #: bytes per second and seconds of a message between two processes of a node, one of them copying
    copy_bandwidth: float = 10e9
    copy_latency: float = 3e-7


#: What is assumed if the caller says nothing.
USUAL = "hdr100"
NAMED = {
    speeds.name: speeds
    for speeds in (
        Speeds("ethernet-10g", 1.25e9, 1e-5, 5e-7),
        Speeds("ethernet-25g", 3.125e9, 5e-6, 5e-7),
        Speeds("ethernet-100g", 12.5e9, 3e-6, 5e-7),
        Speeds("hdr100", 12.5e9, 1e-6, 1e-7),
        Speeds("hdr200", 25e9, 1e-6, 1e-7),
        Speeds("ndr400", 50e9, 1e-6, 1e-7),
        Speeds("slingshot200", 25e9, 1.5e-6, 2e-7),
    )
}


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
    #: outlet of each endpoint (its router or adapter) and what leaves there in bytes per second, in total;
    #: None if unknown
    outlet: tuple[Int64, Float64] | None
    notices: tuple[str, ...] = ()  # what was assumed about bandwidths and latencies
    wiring: Wiring | None = None  # where links begin and end, if that is known
    #: messages between endpoints of one node take links, too, as those of NVLink between GPUs
    ends_apart: bool = False
    #: from int32 endpoints of sources and of targets to the lengths of routes; -1: there is none. Two
    #: endpoints of one router may have no link between them. None: every pair has a route.
    hops: Callable[[Int32, Int32], Int64] | None = None


def speeds_named(name: str) -> Speeds | None:
    """Return the speeds of a name, None for ``"none"``; UnsupportedError for other names."""
    if name == "none":
        return None
    if name not in NAMED:
        raise unknown_name("speeds", name, [*NAMED, "none"])
    return NAMED[name]


def missing(what: str) -> UnsupportedError:
    """Return the error about a machine that lacks `what` while nothing may be assumed."""
    return UnsupportedError(
        f"simulate: there is no {what}, expected one in the machine (node:8@10:bw=12.5e9:lat=1e-6, "
        f"torus:4x4:bw=10000000000:lat=1e-7, 'hopbytes probe --measure') or `assume` with one of "
        f"{', '.join(NAMED)}"
    )


def copy_speeds(where: Allocation, speeds: Speeds | None) -> tuple[float, float]:
    """Return bytes per second and seconds of a message inside a node, at the outermost level with them."""
    node = where.machine.level_named(NODE_NAMES)
    inside = where.machine.levels[0 if node is None else node + 1 :]
    usual = NAMED[USUAL] if speeds is None else speeds
    rate = next((level.bandwidth for level in inside if level.bandwidth), usual.copy_bandwidth)
    wait = next((level.latency for level in inside if level.latency is not None), usual.copy_latency)
    return rate, wait


def node_links(where: Allocation, speeds: Speeds | None) -> NodeLinks:
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
    return _of_levels(where, level, speeds)


def _no_routes(sources: Int32, targets: Int32) -> Routes:
    return Routes(np.zeros(len(sources) + 1, np.int64), np.empty(0, np.int64), None, None)


def _of_network(where: Allocation, network: Network, speeds: Speeds | None) -> NodeLinks:
    endpoints = where.endpoints
    if endpoints is None:
        endpoints = where.machine.network_use.endpoint_of_core()[where.first_core]
    notices: list[str] = []
    ends_apart = isinstance(where.distance, RailDistance)
    wiring = None if network.wiring is None else network.wiring()
    capacity = network.capacity.astype(np.float64)
    most = float(capacity.max(initial=0.0))
    if network.unit != "bytes/s" and 0 < most < SLOWEST_LINK:
        if speeds is None:
            raise missing("bandwidth of links")
        if ends_apart:  # the slowest link that leaves an endpoint is its adapter, beside NVLink
            assert wiring is not None
            base = float(network.capacity[wiring.tail == wiring.at[0]].min())
        else:
            base = _first_link(network)
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
    outlet = None
    if wiring is not None:
        leaving = np.bincount(wiring.tail, weights=capacity, minlength=wiring.vertices).astype(np.float64)
        outlet = wiring.at, leaving
    return NodeLinks(
        capacity, np.full(network.n_links, hop), message, network.name_link, network.routes,
        np.ascontiguousarray(endpoints, np.int32), outlet, tuple(notices), wiring, ends_apart, network.hops,
    )  # fmt: skip


def _first_link(network: Network) -> float:
    """Return the capacity of the first link of a route between two endpoints: that of an adapter."""
    for target in range(network.n_endpoints - 1, 0, -1):
        links = network.routes([0], [target]).links
        if len(links):
            return float(network.capacity[links[0]])
    return float(network.capacity.max())


@frozen(eq=False)
class _Tree:
    """Names and routes on a machine of levels: every unit down to the nodes has a link up and a link down.

    Two nodes that first differ at a level are joined by the links up from the first node to its unit of
    that level, then by those down to the second node.
    """

    #: unit of every node at each level, outermost first; at the last level the nodes themselves
    units: list[Int64]
    names: list[str]
    #: number of the first link up of each level; the links down follow those up, in the same order
    up: list[int]
    #: like `up`, for the links by which single nodes leave units of a level whose bandwidth between two nodes
    #: is below that of the levels inside; -1 where there are none
    thin: list[int]
    hosts: tuple[str, ...]

    def name_link(self, link: int) -> str:
        """Name of a link: ``node n3 up``, ``island 2 down``, ``node n3 out of island``."""
        nodes = len(self.units[-1])
        for level in range(len(self.up)):
            count = int(self.units[level].max()) + 1
            for first, number, ways in (
                (self.up[level], count, ("up", "down")),
                (self.thin[level], nodes, (f"out of {self.names[level]}", f"into {self.names[level]}")),
            ):
                if first >= 0 and first <= link < first + 2 * number:
                    way, unit = divmod(link - first, number)
                    of_node = number == nodes and (first != self.up[level] or level == len(self.up) - 1)
                    kind = self.names[-1] if of_node else self.names[level]
                    return f"{kind} {self.hosts[unit] if of_node and self.hosts else unit} {ways[way]}"
        return f"link {link}"

    def routes(self, sources: Int32, targets: Int32) -> Routes:
        """Return the links between nodes; O(pairs x levels)."""
        steps: list[Int64] = []
        apart = np.zeros(len(sources), bool)
        for level, unit in enumerate(self.units):
            apart = apart | (unit[sources] != unit[targets])
            ways = [(self.up[level], unit[sources], unit[targets], int(unit.max()) + 1)]
            if self.thin[level] >= 0:
                ways.append((self.thin[level], np.asarray(sources), np.asarray(targets), len(self.units[-1])))
            for first, leaving, entering, number in ways:
                steps.insert(0, np.where(apart, first + leaving, -1))
                steps.append(np.where(apart, first + number + entering, -1))
        table = np.stack(steps, axis=1)
        used = table >= 0
        start = np.concatenate([[0], np.cumsum(used.sum(axis=1))]).astype(np.int64)
        return Routes(start, table[used].astype(np.int64), None, None)


def _of_levels(where: Allocation, node_level: int, speeds: Speeds | None) -> NodeLinks:
    """Return the links of a machine of levels.

    The bandwidth and the latency of a level are those between two processes that first differ there, as
    ``hopbytes probe`` finds them. A node sends all it sends between nodes at the bandwidth of its level.
    A unit above the nodes sends as much as its nodes together, divided by the oversubscription of its level.
    """
    machine = where.machine
    cores = machine.node_of_core()
    first_core = np.searchsorted(cores, np.arange(int(cores.max()) + 1))
    levels = machine.levels[: node_level + 1]
    units = [machine.ancestors(number)[first_core].astype(np.int64) for number in range(len(levels))]
    bandwidths, latencies, notices = _speeds_of(levels, speeds)
    capacity: list[Float64] = []
    latency: list[Float64] = []
    up, thin, count = [], [], 0
    for number, unit in enumerate(units):
        size = np.bincount(unit).astype(np.float64)
        innermost = number == node_level
        less = levels[number].oversubscription or 1.0
        share = np.ones(len(size)) if innermost else size / less
        inner = bandwidths[number] if innermost else min(bandwidths[number:])
        further = latencies[number] - (0.0 if innermost else latencies[number + 1])
        up.append(count)
        capacity += [share * inner] * 2
        latency += [np.full(len(size), max(0.0, further) / 2)] * 2
        count += 2 * len(size)
        thinner = not innermost and bandwidths[number] < min(bandwidths[number + 1 :])
        thin.append(count if thinner else -1)
        if thinner:
            capacity += [np.full(len(unit), bandwidths[number])] * 2
            latency += [np.zeros(len(unit))] * 2
            count += 2 * len(unit)
    if node_level and not any(level.oversubscription for level in levels):
        notices.append("units above the nodes send as much as their nodes together (over=N behind a level)")
    tree = _Tree(units, [level.name for level in levels], up, thin, where.hosts)
    whole, nodes = np.concatenate(capacity), len(units[-1])
    outlet = np.arange(nodes, dtype=np.int64), whole[up[-1] :][:nodes]
    return NodeLinks(
        whole, np.concatenate(latency), 0.0, tree.name_link, tree.routes, where.node_of_pe, outlet,
        tuple(notices),
    )  # fmt: skip


def _speeds_of(
    levels: tuple[Level, ...], speeds: Speeds | None
) -> tuple[list[float], list[float], list[str]]:
    """Return bytes per second and seconds of every level, outermost first, and what was assumed."""
    bandwidths: list[float] = []
    latencies: list[float] = []
    without: dict[str, list[str]] = {"bandwidth": [], "latency": []}
    for level in reversed(levels):
        for name, value in (("bandwidth", level.bandwidth), ("latency", level.latency)):
            if value is None:
                without[name].append(level.name)
                if speeds is None:
                    raise missing(f"{name} of level {level.name}")
        usual = (0.0, 0.0)
        if speeds is not None:
            usual = speeds.bandwidth, speeds.message + 2 * speeds.hop
            if bandwidths:
                usual = bandwidths[-1], latencies[-1] + 2 * speeds.hop
        bandwidths.append(usual[0] if level.bandwidth is None else level.bandwidth)
        latencies.append(usual[1] if level.latency is None else level.latency)
    notices = []
    if speeds is not None and (without["bandwidth"] or without["latency"]):
        what = " and ".join(f"no {name} of {', '.join(names)}" for name, names in without.items() if names)
        used = f"{bandwidths[0] / 1e9:g} GB/s, {latencies[0] * 1e6:g} us between nodes"
        notices.append(f"the machine has {what}: {speeds.name} is assumed, {used} (`assume` sets it)")
    return bandwidths[::-1], latencies[::-1], notices
