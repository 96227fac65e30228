"""Traffic on links: common parts of the objectives that depend on routes."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from hopbytes._arrays import Int32, Int64
from hopbytes.errors import UnsupportedError
from hopbytes.kernels.routes import LoadSummary, fraction_bits, hop_histogram, link_amounts, summarize_links
from hopbytes.machines.network import Network
from hopbytes.model.allocation import Allocation
from hopbytes.model.comm_graph import CommGraph


class LinkTraffic(NamedTuple):
    """Traffic of a mapping on the links of its network; all sums and fractions are exact."""

    amounts: Int64  # int64[n_links]: Bytes or messages on each link, in units of ``2**-shift``
    #: for each capacity the sums over the links that have it. If capacities are ignored, all links have
    #: capacity 1.
    classes: tuple[tuple[int, LoadSummary], ...]
    shift: int  # the unit of `amounts` is ``2**-shift``

    @property
    def total(self) -> int:
        """Sum of all amounts, in units of ``2**-shift``."""
        return sum(sums.total for _, sums in self.classes)

    @property
    def used(self) -> int:
        return sum(sums.used for _, sums in self.classes)

    @property
    def most(self) -> Fraction:
        """Maximum congestion: amount over capacity."""
        every = (Fraction(sums.most, size << self.shift) for size, sums in self.classes)
        return max(every, default=Fraction(0))

    @property
    def mean(self) -> Fraction:
        """Mean congestion of the links in use."""
        sums = sum((Fraction(sums.total, size << self.shift) for size, sums in self.classes), Fraction(0))
        return sums / max(1, self.used)

    @property
    def variance(self) -> Fraction:
        """Population variance of the congestion of the links in use."""
        squares = sum(
            (Fraction(sums.squares, (size << self.shift) ** 2) for size, sums in self.classes), Fraction(0)
        )
        return squares / max(1, self.used) - self.mean**2


def network_of(where: Allocation, wanted: str) -> Network:
    """Return the network of a machine."""
    network: Network | None = where.machine.network()
    if network is None:
        raise UnsupportedError(
            f"{wanted}: the machine has no links, expected one with links, such as torus:, mesh: or fattree: "
            "(objective comm_cost and presets fast, eco and strong need distances only)"
        )
    return network


def endpoints_of(where: Allocation) -> Int32:
    """Return int32[k], the endpoint of the network through which each PE sends."""
    if where.endpoints is not None:
        return where.endpoints
    found: Int32 = where.machine.network_use.endpoint_of_core()[where.first_core]
    return np.ascontiguousarray(found, np.int32)


def traffic(
    graph: CommGraph, weights: Int64 | None, where: Allocation, pe: Int32, wanted: str, *, priced: bool
) -> LinkTraffic:
    """Return the traffic of all routed arcs; `weights` is int64[m] or None for 1 each."""
    network = network_of(where, wanted)
    total = graph.m if weights is None else max(graph.total_volume, int(weights.sum()))
    shift = fraction_bits(network.form, total)
    endpoints = endpoints_of(where)
    amounts, unrouted = link_amounts(network.form, network.n_links, graph.arcs(weights), endpoints[pe], shift)
    if unrouted >= 0:
        source = int(np.searchsorted(graph.indptr, unrouted, side="right")) - 1
        raise network.no_route(int(endpoints[pe[source]]), int(endpoints[pe[graph.targets[unrouted]]]))
    return LinkTraffic(amounts, _by_capacity(network, amounts, priced=priced), shift)


def _by_capacity(network: Network, amounts: Int64, *, priced: bool) -> tuple[tuple[int, LoadSummary], ...]:
    classes = network.capacity_classes() if priced else None
    if classes is None:
        return ((1, summarize_links(amounts)),)
    links = classes.links
    if links is None:
        return ((classes.values[0], summarize_links(amounts)),)
    return tuple(
        (size, summarize_links(amounts[links[first:end]]))
        for size, (first, end) in zip(classes.values, pairwise(classes.start), strict=True)
    )


def links_travelled(
    graph: CommGraph, weights: Int64 | None, where: Allocation, pe: Int32, wanted: str
) -> int | float:
    """Return the sum over arcs of weight x links of the route; each direction has its own route."""
    network = network_of(where, wanted)
    ends = endpoints_of(where)[pe]
    if network.shortest:
        flows, amounts = hop_histogram(network.form, graph.arcs(weights), ends)
        apart = ends[graph.sources()] != ends[graph.targets]
        if int(flows.sum()) == int(np.count_nonzero(apart)):
            return int(sum(hops * amount for hops, amount in enumerate(amounts.tolist())))
    sources, targets = ends[graph.sources()].astype(np.int64), ends[graph.targets]
    pairs, of_arc = np.unique(sources * network.n_endpoints + targets, return_inverse=True)
    start, end = np.divmod(pairs, network.n_endpoints)
    lengths, common = network.mean_hops(start, end)
    lost = np.flatnonzero((lengths < 0) & (start != end))
    if len(lost):
        raise network.no_route(int(start[lost[0]]), int(end[lost[0]]))
    lengths[start == end] = 0
    # Volumes are split into halves of 31 bits, so that no sum of products exceeds 63 bits.
    volumes = np.ones(graph.m, np.int64) if weights is None else weights
    total = 0
    for part, size in ((volumes >> 31, 2**31), (volumes & (2**31 - 1), 1)):
        held = np.zeros(len(pairs), np.int64)
        np.add.at(held, of_arc.reshape(-1), part)
        total += size * sum(a * b for a, b in zip(held.tolist(), lengths.tolist(), strict=True))
    return plain(Fraction(total, common))


def plain(value: Fraction) -> int | float:
    """Return the value as an integer if it is one, else the nearest double."""
    return int(value) if value.denominator == 1 else float(value)
