"""One round of a pattern on the links of a machine: its lower bounds, and flows that share links."""

from __future__ import annotations

import time

import numpy as np

from hopbytes._arrays import Float64, Int32, Int64
from hopbytes._frozen import frozen
from hopbytes.cost.objectives.comm_cost import parting_level
from hopbytes.errors import HopbytesError, UnsupportedError
from hopbytes.kernels.routes import fair_flow_seconds
from hopbytes.machines.base import Level
from hopbytes.model.comm_graph import CommGraph
from hopbytes.model.mapping import Mapping
from hopbytes.simulation.links import NodeLinks, Speeds, missing

#: Links that a prediction names.
LINKS_NAMED = 10
#: Pairs whose routes are held at the same time.
BATCH = 2**15
#: Steps of the solution for flows last at least this share of the time so far.
TOLERANCE = 1e-3
#: Seconds per flow that this solution takes at most, roughly; routes of ten links take half of it.
SECONDS_PER_FLOW = 1e-3


@frozen(eq=False)
class Phase:
    """One round of a pattern: every arc of it is one message, and all messages start at once."""

    tasks: int
    sources: Int32  # int32[messages]: Tasks; messages of a task to itself are left out
    targets: Int32  # int32[messages]
    bytes: Float64  # float64[messages]: Size of each message of a round
    rounds: int  # equal rounds, one after the other, that make up the pattern
    notices: tuple[str, ...] = ()  # what was assumed


@frozen(eq=False)
class Ports:
    """The ports that exchange messages: a port is a node with one of its endpoints."""

    of_task: Int64  # int64[tasks]: Port of every task
    node: Int32  # int32[ports]
    endpoint: Int32  # int32[ports]
    #: int32[ports]: Ports of one unit exchange messages without links: the node, or the endpoint of a GPU
    #: with NVLink
    unit: Int32


@frozen(eq=False)
class Flows:
    """Messages between units, added up per pair of ports."""

    sources: Int64  # int64[flows]: Ports, all pairs different
    targets: Int64  # int64[flows]
    bytes: Float64  # float64[flows]: Of all messages of a round
    largest: Float64  # float64[flows]: Bytes of the largest of these messages
    messages: int  # messages of a round that became flows


@frozen(eq=False)
class LinkUse:
    """What flows do to links."""

    seconds: Float64  # float64[links]: Bytes on every link over its capacity
    bytes: Float64  # float64[links]
    latency: Float64  # float64[flows]: Seconds of an empty message on the route of each flow
    slowest: Float64  # float64[flows]: Bytes per second of the slowest link of the route, or infinity


@frozen(eq=False)
class InsideNodes:
    """Seconds that the PEs need for messages inside their nodes."""

    seconds: Float64  # float64[k]: Per PE, the longer of all it sends and all it receives
    longest: float  # seconds of the longest single message
    bytes: float  # bytes of a round between PEs of one node
    messages: int
    notices: tuple[str, ...] = ()


@frozen(eq=False)
class Round:
    """One round on one mapping: what goes between nodes, what inside, and what each needs at least."""

    links: NodeLinks
    ports: Ports
    flows: Flows
    use: LinkUse
    inside: InsideNodes

    @property
    def parts(self) -> dict[str, float]:
        """Seconds of a round that each bound gives, see Prediction."""
        single = self.use.latency + self.flows.largest / self.use.slowest
        return {
            "link": float(self.use.seconds.max(initial=0.0)),
            "injection": self._injection(),
            "copy": float(self.inside.seconds.max(initial=0.0)),
            "message": max(float(single.max(initial=0.0)), self.inside.longest),
        }

    @property
    def spread(self) -> bool:
        """Whether flows take several paths."""
        ends = self.ports.endpoint[self.flows.sources[:1]], self.ports.endpoint[self.flows.targets[:1]]
        return self.links.routes(*ends).numerators is not None

    def _injection(self) -> float:
        """Return the seconds of the endpoint or router that sends or receives longest over all its links."""
        if self.links.outlet is None or not len(self.flows.bytes):
            return 0.0
        outlet_of, leaving = self.links.outlet
        first, second = (
            outlet_of[self.ports.endpoint[ends]] for ends in (self.flows.sources, self.flows.targets)
        )
        apart = first != second
        most = 0.0
        for ends in (first[apart], second[apart]):
            sent = np.bincount(ends, weights=self.flows.bytes[apart], minlength=len(leaving))
            sent = sent.astype(np.float64)  # without any flow it counts in integers
            busy = np.divide(sent, leaving, out=np.zeros_like(sent), where=leaving > 0)
            most = max(most, float(busy.max(initial=0.0)))
        return most

    def hottest(self) -> tuple[tuple[str, float, float], ...]:
        """Return name, bytes and seconds of the busiest links, busiest first; ties by number."""
        order = np.argsort(-self.use.seconds, kind="stable")[:LINKS_NAMED]
        return tuple(
            (self.links.name_link(int(link)), float(self.use.bytes[link]), float(self.use.seconds[link]))
            for link in order
            if self.use.bytes[link] > 0
        )


def phase_of(graph: CommGraph, *, bytes_scale: float = 1.0, iterations: int | None = None) -> Phase:
    """Return the phase of a pattern."""
    sources = graph.sources()
    kept = sources != graph.targets
    rounds, notices = iterations or 1, tuple[str, ...]()
    if iterations is None and graph.messages is not None and kept.any():
        rounds = max(1, int(np.median(graph.messages[kept])))
        if rounds > 1:
            what = "the median number of messages between two tasks (`iterations` sets it)"
            notices = (f"{rounds} rounds, {what}",)
    volumes = graph.arc_volumes()[kept] * (bytes_scale / (graph.scale * rounds))
    return Phase(graph.n, sources[kept], graph.targets[kept], volumes, rounds, notices)


def round_on(phase: Phase, mapping: Mapping, links: NodeLinks, speeds: Speeds | None) -> Round:
    """Put a round on the links of a machine; O(messages log messages + links of all routes)."""
    ports = _ports_of(mapping, links)
    flows = _flows_between(phase, ports)
    unit = links.endpoint_of_pe if links.ends_apart else mapping.where.node_of_pe
    return Round(
        links, ports, flows, _use_of_links(flows, ports, links), _copies_inside(phase, mapping, speeds, unit)
    )


def flows_seconds(load: Round, timeout: float) -> float:
    """Return the seconds until the last of the flows of a round ends."""
    flows, ends, end = load.flows, load.ports.endpoint, time.monotonic() + timeout

    def go_on() -> None:
        if time.monotonic() > end:
            raise HopbytesError(
                f"the flows were not solved within {timeout:g} seconds (`time_limit` gives more; grade bound "
                "needs no simulation)"
            )

    routes = load.links.routes(ends[flows.sources], ends[flows.targets])
    return fair_flow_seconds(
        routes, load.links.capacity, load.use.latency, flows.bytes, tolerance=TOLERANCE, go_on=go_on
    )


def _ports_of(mapping: Mapping, links: NodeLinks) -> Ports:
    """Return the port of every task; O(n log n)."""
    node = mapping.where.node_of_pe[mapping.pe].astype(np.int64)
    endpoint = links.endpoint_of_pe[mapping.pe].astype(np.int64)
    ends = int(endpoint.max(initial=0)) + 1
    keys, of_task = np.unique(node * ends + endpoint, return_inverse=True)
    nodes, endpoints = (part.astype(np.int32) for part in np.divmod(keys, ends))
    unit = endpoints if links.ends_apart else nodes
    return Ports(of_task.reshape(-1).astype(np.int64), nodes, endpoints, unit)


def _flows_between(phase: Phase, ports: Ports) -> Flows:
    """Return the messages between different units, added up; O(messages log messages)."""
    source, target = ports.of_task[phase.sources], ports.of_task[phase.targets]
    apart = ports.unit[source] != ports.unit[target]
    keys, of_flow = np.unique(source[apart] * len(ports.node) + target[apart], return_inverse=True)
    of_flow = of_flow.reshape(-1)
    sums = np.bincount(of_flow, weights=phase.bytes[apart], minlength=len(keys)).astype(np.float64)
    largest = np.zeros(len(keys))
    np.maximum.at(largest, of_flow, phase.bytes[apart])
    first, second = np.divmod(keys, max(1, len(ports.node)))
    return Flows(first, second, sums, largest, int(np.count_nonzero(apart)))


def _use_of_links(flows: Flows, ports: Ports, links: NodeLinks) -> LinkUse:
    """Put flows on links; O(links of all routes), `BATCH` flows at a time."""
    carried = np.zeros(len(links.capacity))
    latency = np.full(len(flows.bytes), links.message)
    slowest = np.full(len(flows.bytes), np.inf)
    for start in range(0, len(flows.bytes), BATCH):
        part = slice(start, min(start + BATCH, len(flows.bytes)))
        source, target = ports.endpoint[flows.sources[part]], ports.endpoint[flows.targets[part]]
        routes = links.routes(source, target)
        lengths = np.diff(routes.indptr)
        lost = np.flatnonzero((lengths == 0) & (source != target))
        if len(lost) and links.hops is not None:
            lost = lost[links.hops(source[lost], target[lost]) < 0]
        if len(lost):
            pair = f"from endpoint {source[lost[0]]} to endpoint {target[lost[0]]}"
            raise UnsupportedError(f"simulate: no route {pair}")
        flow = np.repeat(np.arange(len(lengths)), lengths)
        share = routes.shares
        carried += np.bincount(routes.links, weights=share * flows.bytes[part][flow], minlength=len(carried))
        latency[part] += np.bincount(
            flow, weights=share * links.latency[routes.links], minlength=len(lengths)
        )
        np.minimum.at(slowest[part], flow, links.capacity[routes.links] / share)
    seconds = np.divide(carried, links.capacity, out=np.zeros_like(carried), where=links.capacity > 0)
    return LinkUse(seconds, carried, latency, slowest)


def _copies_inside(phase: Phase, mapping: Mapping, speeds: Speeds | None, unit: Int32) -> InsideNodes:
    """Return the time of messages inside nodes; O(messages x levels).

    `unit`, int32[k], is the node of every PE, or its endpoint (:class:`Ports`). A message takes the
    latency and the bandwidth of the outermost level at which its two PEs differ. All messages of a PE share
    its bandwidth, and none with other PEs: memory is taken to be fast enough.
    """
    where, pe = mapping.where, mapping.pe
    source, target = pe[phase.sources], pe[phase.targets]
    here = (unit[source] == unit[target]) & (source != target)
    source, target, volume = source[here], target[here], phase.bytes[here]
    # Two slots that share an innermost unit exchange messages at its level.
    level_of = np.minimum(parting_level(where, source, target), len(where.machine.levels) - 1)
    seconds, latency = np.zeros(len(volume)), np.zeros(len(volume))
    without: list[str] = []
    for number in np.unique(level_of).tolist():
        per_byte, wait = _speeds_of(where.machine.levels[number], speeds, without)
        of = level_of == number
        seconds[of], latency[of] = volume[of] * per_byte, wait
    busy = np.maximum(
        np.bincount(source, weights=seconds, minlength=where.k),
        np.bincount(target, weights=seconds, minlength=where.k),
    )
    notices = tuple[str, ...]()
    if without and speeds is not None:
        what = f"{speeds.copy_bandwidth / 1e9:g} GB/s, {speeds.copy_latency * 1e6:g} us"
        notices = (f"inside nodes, {what} are assumed for {', '.join(dict.fromkeys(without))}",)
    longest = float((seconds + latency).max(initial=0.0))
    return InsideNodes(busy, longest, float(volume.sum()), len(volume), notices)


def _speeds_of(level: Level, speeds: Speeds | None, without: list[str]) -> tuple[float, float]:
    """Return seconds per byte and per message of a level; a level without them is added to `without`."""
    if level.bandwidth is not None and level.latency is not None:
        return 1 / level.bandwidth, level.latency
    if speeds is None:
        raise missing(f"bandwidth or latency of level {level.name}")
    without.append(level.name)
    bandwidth = speeds.copy_bandwidth if level.bandwidth is None else level.bandwidth
    return 1 / bandwidth, speeds.copy_latency if level.latency is None else level.latency
