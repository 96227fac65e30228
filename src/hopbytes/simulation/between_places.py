"""Bytes of a round between nodes, added up per pair of places, and the links they take."""

from __future__ import annotations

import numpy as np

from hopbytes._arrays import Float64, Int32, Int64
from hopbytes._frozen import frozen
from hopbytes.errors import UnsupportedError
from hopbytes.model.mapping import Mapping
from hopbytes.simulation.node_links import NodeLinks
from hopbytes.simulation.phase import Phase

#: Pairs whose routes are held at the same time.
BATCH = 2**15


@frozen(eq=False)
class Places:
    """The places that exchange messages: a place is a node with one of its endpoints."""

    of_task: Int64  # int64[tasks]: Place of every task
    node: Int32  # int32[places]
    endpoint: Int32  # int32[places]
    #: int32[places]: Places of one unit exchange messages without links: the node, or the endpoint of a GPU
    #: with NVLink
    unit: Int32

    @property
    def count(self) -> int:
        """Number of places."""
        return len(self.node)


@frozen(eq=False)
class Flows:
    """Messages between units, added up per pair of places."""

    sources: Int64  # int64[flows]: Places, all pairs different
    targets: Int64  # int64[flows]
    bytes: Float64  # float64[flows]: Of all messages of a round
    largest: Float64  # float64[flows]: Bytes of the largest of these messages
    messages: int  # messages of a round that became flows

    @property
    def count(self) -> int:
        """Number of flows."""
        return len(self.sources)


@frozen(eq=False)
class LinkUse:
    """What flows do to links."""

    seconds: Float64  # float64[links]: Bytes on every link over its capacity
    bytes: Float64  # float64[links]
    latency: Float64  # float64[flows]: Seconds of an empty message on the route of each flow
    #: float64[flows]: Bytes per second of the slowest link of the route; infinite without a link
    slowest: Float64


def places_of(mapping: Mapping, links: NodeLinks) -> Places:
    """Return the place of every task; O(n log n)."""
    node = mapping.where.node_of_pe[mapping.pe].astype(np.int64)
    endpoint = links.endpoint_of_pe[mapping.pe].astype(np.int64)
    ends = int(endpoint.max(initial=0)) + 1
    keys, of_task = np.unique(node * ends + endpoint, return_inverse=True)
    nodes, endpoints = np.divmod(keys, ends)
    at, ends_at = nodes.astype(np.int32), endpoints.astype(np.int32)
    return Places(of_task.reshape(-1).astype(np.int64), at, ends_at, ends_at if links.ends_apart else at)


def flows_between(phase: Phase, places: Places) -> Flows:
    """Return the messages between different units, added up; O(messages log messages)."""
    source, target = places.of_task[phase.sources], places.of_task[phase.targets]
    apart = places.unit[source] != places.unit[target]
    keys, of_flow = np.unique(source[apart] * places.count + target[apart], return_inverse=True)
    of_flow = of_flow.reshape(-1)
    sums = np.bincount(of_flow, weights=phase.bytes[apart], minlength=len(keys)).astype(np.float64)
    largest = np.zeros(len(keys))
    np.maximum.at(largest, of_flow, phase.bytes[apart])
    first, second = np.divmod(keys, max(1, places.count))
    return Flows(first, second, sums, largest, int(np.count_nonzero(apart)))


def use_of_links(flows: Flows, places: Places, links: NodeLinks) -> LinkUse:
    """Put flows on links; O(links of all routes), `BATCH` flows at a time."""
    carried = np.zeros(len(links.capacity))
    latency = np.full(flows.count, links.message)
    slowest = np.full(flows.count, np.inf)
    ends = places.endpoint
    for start in range(0, flows.count, BATCH):
        part = slice(start, min(start + BATCH, flows.count))
        source, target = ends[flows.sources[part]], ends[flows.targets[part]]
        routes = links.routes(source, target)
        lengths = np.diff(routes.indptr)
        lost = np.flatnonzero((lengths == 0) & (source != target))
        if len(lost) and links.hops is not None:
            lost = lost[links.hops(source[lost], target[lost]) < 0]
        if len(lost):
            pair = int(source[lost[0]]), int(target[lost[0]])
            raise UnsupportedError(f"simulate: no route from endpoint {pair[0]} to endpoint {pair[1]}")
        flow = np.repeat(np.arange(len(lengths)), lengths)
        share = np.ones(len(routes.links))
        if routes.numerators is not None and routes.denominators is not None:
            share = routes.numerators / routes.denominators
        carried += np.bincount(
            routes.links, weights=share * flows.bytes[part][flow], minlength=len(carried)
        )
        latency[part] += np.bincount(
            flow, weights=share * links.latency[routes.links], minlength=len(lengths)
        )
        own = np.full(len(lengths), np.inf)
        np.minimum.at(own, flow, links.capacity[routes.links] / share)
        slowest[part] = own
    seconds = np.divide(carried, links.capacity, out=np.zeros_like(carried), where=links.capacity > 0)
    return LinkUse(seconds, carried, latency, slowest)
