"""Metrics of the traffic of a mapping on the links of a network."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np

from hopbytes._arrays import Int32, Int64
from hopbytes._frozen import field_names, frozen
from hopbytes.cost.objectives.link_sums import (
    LinkTraffic,
    endpoints_of,
    links_travelled,
    network_of,
    plain,
    traffic,
)
from hopbytes.kernels.routes import arcs_over_link, hop_histogram
from hopbytes.machines.network import Network
from hopbytes.model.allocation import Allocation
from hopbytes.model.comm_graph import CommGraph

#: Number of links that an evaluation lists, and number of flows that it lists for each of them.
HOTTEST, FLOWS_NAMED = 10, 3


@frozen
class LinkMetrics:
    """Traffic on links; congestion is volume / capacity, means are over the links in use."""

    #: TH, the sum over arcs of messages times links of the route; it may be a fraction if flows are spread
    #: over detours (Valiant routing)
    hops: int | float
    hop_bytes: int | float  # WH (also HB), the sum over arcs of volume times links of the route
    #: MMC, the maximum number of messages on a link; a fraction if flows are spread over several paths
    max_messages: int | float
    max_congestion: float  # MC, the maximum congestion of a link
    avg_messages: float  # AMC and AC (also NZCA), the means over the links in use
    avg_congestion: float
    var_congestion: float  # NZCV, the population variance of congestion over the links in use
    used_links: int  # number of links that carry a message
    hybrid_raw: float  # WH + MC + NZCA + NZCV, as published (Mirsadeghi and Afsahi, PTRAM, 2016)
    #: the same four terms, each divided by its value for the mapping in order (terms with value 0 there are
    #: not divided); 4 equals the mapping in order. None without baselines.
    hybrid: float | None = None

    @property
    def terms(self) -> tuple[float, float, float, float]:
        return float(self.hop_bytes), self.max_congestion, self.avg_congestion, self.var_congestion


@frozen
class Dilation:
    """The arcs between nodes whose shortest route has `hops` links: their number, messages and volume."""

    hops: int
    flows: int
    messages: int
    volume: int


@frozen
class HotLink:
    """One of the most congested links."""

    name: str
    congestion: float  # volume / capacity
    volume: float  # volume and messages that cross the link; integers if every flow takes a single path
    messages: float
    capacity: int
    flows: int  # number of arcs that use the link
    #: source task, target task and volume of the largest of these arcs
    largest: tuple[tuple[int, int, int], ...]

    def to_dict(self) -> dict[str, Any]:
        facts = {name: getattr(self, name) for name in field_names(self) if name != "largest"}
        named = [dict(zip(("source", "target", "volume"), flow, strict=True)) for flow in self.largest]
        return facts | {"largest_flows": named}


def measure_links(
    graph: CommGraph, where: Allocation, pe: Int32, base: LinkMetrics | None = None
) -> LinkMetrics | None:
    """Return the link metrics of the mapping `pe`, or None on a machine without links."""
    if where.machine.network() is None:
        return None
    volume, messages = _loads(graph, where, pe)
    found = LinkMetrics(
        hops=links_travelled(graph, graph.messages, where, pe, "eval"),
        hop_bytes=links_travelled(graph, graph.volumes, where, pe, "eval"),
        max_messages=plain(messages.most),
        max_congestion=float(volume.most),
        avg_messages=float(messages.mean),
        avg_congestion=float(volume.mean),
        var_congestion=float(volume.variance),
        used_links=messages.used,
        hybrid_raw=0.0,
    )
    found = replace(found, hybrid_raw=sum(found.terms))
    return found if base is None else relative_to(found, base)


def relative_to(found: LinkMetrics, base: LinkMetrics) -> LinkMetrics:
    """Return the metrics with the hybrid metric, whose four terms are divided by those of `base`."""
    ratios = (own / (ref or 1.0) for own, ref in zip(found.terms, base.terms, strict=True))
    return replace(found, hybrid=sum(ratios))


def _loads(graph: CommGraph, where: Allocation, pe: Int32) -> tuple[LinkTraffic, LinkTraffic]:
    """Return the traffic on links in bytes over capacity, and in messages."""
    volume = traffic(graph, graph.volumes, where, pe, "eval", priced=True)
    return volume, traffic(graph, graph.messages, where, pe, "eval", priced=False)


def _hop_sums(graph: CommGraph, weights: Int64 | None, where: Allocation, pe: Int32) -> tuple[Int64, Int64]:
    form = network_of(where, "eval").form
    flows, amounts = hop_histogram(form, graph.arcs(weights), endpoints_of(where)[pe])
    return flows, amounts


def dilation_of(graph: CommGraph, where: Allocation, pe: Int32) -> tuple[Dilation, ...]:
    """Return the arcs between nodes by their number of hops; empty on a machine without links."""
    if where.machine.network() is None:
        return ()
    flows, volume = _hop_sums(graph, graph.volumes, where, pe)
    _, messages = _hop_sums(graph, graph.messages, where, pe)
    return tuple(
        Dilation(int(hops), int(flows[hops]), int(messages[hops]), int(volume[hops]))
        for hops in np.flatnonzero(flows)
    )


def hottest_links(graph: CommGraph, where: Allocation, pe: Int32) -> tuple[HotLink, ...]:
    """Return the most congested links in descending order, with their traffic; ties by link number."""
    network = where.machine.network()
    if network is None:
        return ()
    volume, messages = _loads(graph, where, pe)
    endpoints = endpoints_of(where)[pe]
    sources = graph.sources()
    found = []
    for link, congestion in _ranked(network, volume):
        crossing = np.flatnonzero(arcs_over_link(network.form, graph.arcs(None), endpoints, link))
        weights = graph.arc_volumes()[crossing]
        largest = crossing[np.argsort(-weights, kind="stable")[:FLOWS_NAMED]]
        over, sent = (int(one.amounts[link]) / (1 << one.shift) for one in (volume, messages))
        flows = np.column_stack([sources[largest], graph.targets[largest], graph.arc_volumes()[largest]])
        found.append(
            HotLink(
                network.name_link(link), float(congestion), over, sent, int(network.capacity[link]),
                len(crossing), tuple(map(tuple, flows.tolist())),
            )
        )
    return tuple(found)


def _ranked(network: Network, volume: LinkTraffic) -> list[tuple[int, Fraction]]:
    """Return the most congested links in use with their congestion, in exact arithmetic."""
    classes, found = network.capacity_classes(), []
    for size, (first, end) in zip(classes.values, pairwise(classes.start), strict=True):
        links = np.arange(first, end) if classes.links is None else classes.links[first:end]
        links = links[np.argsort(-volume.amounts[links], kind="stable")[:HOTTEST]]
        unit = size << volume.shift
        found += [(link, Fraction(int(volume.amounts[link]), unit)) for link in links.tolist()]
    found.sort(key=lambda one: (-one[1], one[0]))
    return [one for one in found[:HOTTEST] if one[1] > 0]
