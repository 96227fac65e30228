"""Routes between the nodes of an allocation and the traffic between groups, for compiled searches."""

from __future__ import annotations

import numpy as np

from hopbytes._arrays import Int32, Int64
from hopbytes._frozen import frozen
from hopbytes.algorithms.two_level.level import Nodes
from hopbytes.algorithms.two_level.node_problem import Grouped
from hopbytes.algorithms.two_level.ports import PortArcs, arcs_of, port_arcs, ports_of
from hopbytes.cost.objectives.link_sums import endpoints_of, network_of
from hopbytes.engine.places import Groups
from hopbytes.engine.routed_search import Routing
from hopbytes.kernels.records import Csr
from hopbytes.kernels.routes import fraction_bits
from hopbytes.model.comm_graph import CommGraph

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
    if isinstance(graph, PortArcs) and graph.out is not None:
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
    arcs = arcs_of(grouped.graph)
    if ports.count > 1 and pe is not None:
        arcs = port_arcs(graph, grouped.group, len(grouped.start), ports.of_pe[pe], ports.count)
    weights = arcs.messages if messages else arcs.volumes
    return routed(
        grouped.nodes, arcs, weights, grouped.sizes, grouped.capacities, wanted, priced=not messages
    )
