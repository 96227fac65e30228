"""Traffic on links: what the objectives that follow routes have in common."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hopbytes.allocation import Allocation
from hopbytes.errors import ScaleError, UnsupportedError
from hopbytes.graph import CommGraph
from hopbytes.kernels.routes import LoadSummary, fraction_bits, link_amounts, summarize_links
from hopbytes.machines.network import Network

Int32 = NDArray[np.int32]
Int64 = NDArray[np.int64]


class LinkTraffic(NamedTuple):
    """What a placement puts on the links of its network.

    Parameters
    ----------
    amounts : int64[n_links]
        In units of ``2**-shift``.
    values : LoadSummary
        Sums over links of amount x price.
    shift : int
    unit : int
        Congestion of a link is its value over ``unit``, see :meth:`Network.prices`; times ``2**shift``.
    """

    amounts: Int64
    values: LoadSummary
    shift: int
    unit: int

    @property
    def per_unit(self) -> float:
        """Integers of value that make congestion 1."""
        return float(self.unit << self.shift)

    @property
    def hop_bytes(self) -> int:
        """Sum of all amounts in bytes, rounded down."""
        return int(self.amounts.sum()) >> self.shift


def network_of(where: Allocation, wanted: str) -> Network:
    """Return the network of a machine.

    Raises
    ------
    UnsupportedError
        The machine knows distances only; `wanted` says who asks.
    """
    network: Network | None = where.machine.network()
    if network is None:
        raise UnsupportedError(
            f"{wanted} needs a machine with links, such as torus:, mesh: or fattree:; on this one distances "
            "work (objective comm_cost, presets fast, eco and strong)"
        )
    return network


def endpoints_of(where: Allocation) -> Int32:
    """int32[k]: endpoint of the network each PE sends through."""
    if where.endpoints is not None:
        return where.endpoints
    found: Int32 = where.machine.endpoint_of_core()[where.first_core]
    return np.ascontiguousarray(found, np.int32)


def traffic(
    graph: CommGraph, weights: Int64 | None, where: Allocation, pe: Int32, wanted: str, *, priced: bool
) -> LinkTraffic:
    """Route every arc; `weights` int64[m] or None for 1 each. O(m x length of a route).

    Parameters
    ----------
    priced : bool
        Divide by capacities; otherwise every link counts the same.

    Raises
    ------
    UnsupportedError
        No network, or two tasks that talk without a route between them.
    ScaleError
        Loads could exceed 63 bits.
    """
    network = network_of(where, wanted)
    total = graph.m if weights is None else max(graph.total_volume, int(weights.sum()))
    prices, unit = network.prices() if priced else (None, 1)
    dearest = 1 if prices is None else int(prices.max())
    shift = fraction_bits(network.form, total * dearest)
    largest = (total << shift) * dearest
    if largest > 2**62:
        raise ScaleError(
            f"volumes of {total} on links of unequal capacity exceed 2^62: divide them by "
            f"{-(-largest // 2**62)} or more"
        )
    endpoints = endpoints_of(where)
    amounts, unrouted = link_amounts(
        network.form, network.n_links, graph.indptr, graph.targets, weights, endpoints[pe], shift
    )
    if unrouted >= 0:
        source = int(np.searchsorted(graph.indptr, unrouted, side="right")) - 1
        raise network.no_route(int(endpoints[pe[source]]), int(endpoints[pe[graph.targets[unrouted]]]))
    return LinkTraffic(amounts, summarize_links(amounts, prices), shift, unit)
