"""Routes between the nodes of an allocation and the traffic between groups, for compiled searches."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hopbytes.engine.routed import Routing, Traffic
from hopbytes.graph import CommGraph
from hopbytes.kernels.routes import fraction_bits
from hopbytes.nodal.level import Nodes
from hopbytes.objectives.links import endpoints_of, network_of

Int64 = NDArray[np.int64]
Int32 = NDArray[np.int32]

#: Values of links stay below this in searches, so that sums over links and their squares fit.
MOST_VALUE = 2**54


@dataclass(frozen=True, slots=True, eq=False)
class Routed:
    """Routes, traffic that fits into them, and what their integers count as.

    Parameters
    ----------
    routing : Routing
    traffic : Traffic
        Volumes are divided by ``2**lost`` where they would overflow.
    unit : float
        Integers of congestion (load x price) per unit of it.
    scale : float
        Integers of load per byte.
    """

    routing: Routing
    traffic: Traffic
    unit: float
    scale: float


def routed(
    nodes: Nodes, graph: CommGraph, weights: Int64 | None, sizes: Int64, capacities: Int64, wanted: str,
    *, priced: bool = True, of_pes: bool = False,
) -> Routed:
    """Prepare a search over link loads.

    Parameters
    ----------
    graph : CommGraph
        Arcs between groups (tasks, with `of_pes`).
    weights : int64[m] or None
        What arcs weigh; None: 1 each.
    wanted : str
        Who asks, for messages.
    priced : bool
        Capacities count.
    of_pes : bool
        Places are PEs instead of nodes.

    Raises
    ------
    UnsupportedError
        The machine has no network, or some pair of nodes no route.
    """
    network = network_of(nodes.where, wanted)
    pe_endpoints = endpoints_of(nodes.where)
    network.check_routed(pe_endpoints)
    endpoints = pe_endpoints if of_pes else pe_endpoints[nodes.first]
    total = graph.m if weights is None else int(weights.sum(dtype=np.float64)) + 1
    prices, unit = network.prices() if priced else (None, 1)
    dearest = 1 if prices is None else int(prices.max())
    lost = max(0, (total * dearest).bit_length() - MOST_VALUE.bit_length() + 1)
    if lost and weights is not None:
        weights = np.where(weights > 0, np.maximum(weights >> lost, 1), 0)
    room = MOST_VALUE.bit_length() - ((total >> lost) * dearest).bit_length()
    shift = max(0, min(fraction_bits(network.form, total >> lost), room))
    routing = Routing(
        *network.form.arguments, np.ascontiguousarray(endpoints, np.int32), network.n_links, prices, shift
    )
    counts = np.ascontiguousarray(sizes, np.int64), np.ascontiguousarray(capacities, np.int64)
    per_byte = 2.0 ** (shift - lost)
    return Routed(
        routing, Traffic(graph.indptr, graph.targets, weights, *counts), float(unit) * per_byte, per_byte
    )
