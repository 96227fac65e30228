"""Nodes with several adapters: the adapter through which each task of a group sends and receives."""

from __future__ import annotations

import numpy as np

from hopbytes._arrays import Int32, Int64
from hopbytes._frozen import frozen
from hopbytes.algorithms.two_level.groups import Grouped, Nodes, quotient
from hopbytes.cost.objectives.link_sums import endpoints_of, network_of
from hopbytes.engine.routed_search import Groups, Routing
from hopbytes.kernels.records import Csr
from hopbytes.kernels.routes import fraction_bits
from hopbytes.model.comm_graph import CommGraph


@frozen(eq=False)
class Ports:
    """Ports of places (nodes): PEs of a port share an endpoint; ports have the same numbers on all nodes."""

    count: int  # number of ports per place; 1 if every node has one endpoint
    #: int32[P * count]: Endpoint of every port, place by place. A node with fewer PEs repeats the endpoint of
    #: its last PE.
    endpoints: Int32
    of_pe: Int32  # int32[k]: Port of every PE


def ports_of(nodes: Nodes) -> Ports:
    """Return the ports of the places of an allocation, computed once; O(nodes x PEs of the largest)."""
    if "ports" not in nodes._cache:
        nodes._cache["ports"] = _ports(nodes, endpoints_of(nodes.where))
    found: Ports = nodes._cache["ports"]
    return found


def _ports(nodes: Nodes, endpoints: Int32) -> Ports:
    first = endpoints[nodes.first]
    if np.array_equal(endpoints, first[nodes.of_pe]):
        return Ports(1, first, np.zeros(nodes.where.k, np.int32))
    sizes = np.diff(nodes.start)
    # Column w has the endpoints of PE number w of every node. Equal columns form one port.
    within = np.minimum(np.arange(int(sizes.max())), sizes[:, None] - 1)
    columns = endpoints[nodes.pes[nodes.start[:-1, None] + within]]
    _, shown, port = np.unique(columns, axis=1, return_index=True, return_inverse=True)
    order = np.argsort(np.argsort(shown))  # ports are numbered in the order of their first PEs
    port = order[port.reshape(-1)].astype(np.int32)
    of_pe = np.empty(nodes.where.k, np.int32)
    of_pe[nodes.pes] = port[np.arange(nodes.where.k) - np.repeat(nodes.start[:-1], sizes)]
    table = np.ascontiguousarray(columns[:, np.sort(shown)], np.int32)
    return Ports(len(shown), table.reshape(-1), of_pe)


@frozen(eq=False)
class PortArcs:
    """Directed arcs between groups, separated by the ports at their sources and targets."""

    #: int64[G+1]; int32[m], groups, which may be repeated with different ports; int64[m] or None for 1 each
    indptr: Int64
    targets: Int32
    volumes: Int64 | None
    messages: Int64 | None
    out: Int32  # int32[m]: Port at the source and at the target
    in_: Int32


def port_arcs(graph: CommGraph, group: Int32, groups: int, port: Int32, ports: int) -> PortArcs:
    """Merge the arcs of tasks with equal groups and ports, without arcs inside a group. O(n + m)."""
    seats = (group.astype(np.int64) * ports + port).astype(np.int32)
    merged = quotient(graph, seats, groups * ports)
    source, out = np.divmod(merged.sources(), ports)
    target, in_ = np.divmod(merged.targets, ports)
    apart = source != target
    indptr = np.concatenate([[0], np.cumsum(np.bincount(source[apart], minlength=groups))]).astype(np.int64)

    def kept(weights: Int64 | None) -> Int64 | None:
        return None if weights is None else np.ascontiguousarray(weights[apart])

    return PortArcs(
        indptr, target[apart].astype(np.int32), kept(merged.volumes), kept(merged.messages),
        out[apart].astype(np.int32), in_[apart].astype(np.int32),
    )


#: Upper limit of the loads of links in searches, so that sums over links and their squares fit.
MOST_VALUE = 2**54


@frozen(eq=False)
class Routed:
    """Routes and traffic in integers that do not overflow, with the units of these integers."""

    routing: Routing
    traffic: Groups  # volumes are divided by a power of two if they would overflow
    unit: float  # congestion (load x price) in these integers per unit of congestion
    scale: float  # load in these integers per byte


def routed(
    nodes: Nodes, graph: CommGraph | PortArcs, weights: Int64 | None, sizes: Int64, capacities: Int64,
    wanted: str, *, priced: bool = True, of_pes: bool = False,
) -> Routed:
    """Prepare a search over link loads."""
    network = network_of(nodes.where, wanted)
    endpoints = endpoints_of(nodes.where)
    network.check_routed(endpoints)
    ports: tuple[int, Int32 | None, Int32 | None] = 1, None, None
    if isinstance(graph, PortArcs):
        found = ports_of(nodes)
        endpoints, ports = found.endpoints, (found.count, graph.out, graph.in_)
    elif not of_pes:
        endpoints = endpoints[nodes.first]
    total = len(graph.targets) if weights is None else int(weights.sum(dtype=np.float64)) + 1
    prices, unit = network.prices() if priced else (None, 1)
    dearest = 1 if prices is None else int(prices.max())
    lost = max(0, (total * dearest).bit_length() - MOST_VALUE.bit_length() + 1)
    if lost and weights is not None:
        weights = np.where(weights > 0, np.maximum(weights >> lost, 1), 0)
    room = MOST_VALUE.bit_length() - ((total >> lost) * dearest).bit_length()
    shift = max(0, min(fraction_bits(network.form, total >> lost), room))
    routing = Routing(
        *network.form.arguments, np.ascontiguousarray(endpoints, np.int32), network.n_links, prices, shift,
        *ports,
    )
    counts = np.ascontiguousarray(sizes, np.int64), np.ascontiguousarray(capacities, np.int64)
    per_byte = 2.0 ** (shift - lost)
    return Routed(
        routing, Groups(Csr(graph.indptr, graph.targets, weights), *counts), float(unit) * per_byte, per_byte
    )


def routed_groups(
    graph: CommGraph, grouped: Grouped, pe: Int32 | None, wanted: str, *, messages: bool = False
) -> Routed:
    """Prepare a search over link loads that moves whole groups, where each task uses the adapter of its PE.
    """
    ports = ports_of(grouped.nodes)
    arcs: CommGraph | PortArcs = grouped.graph
    if ports.count > 1 and pe is not None:
        arcs = port_arcs(graph, grouped.group, len(grouped.start), ports.of_pe[pe], ports.count)
    weights = arcs.messages if messages else arcs.volumes
    return routed(
        grouped.nodes, arcs, weights, grouped.sizes, grouped.capacities, wanted, priced=not messages
    )
