"""The network of an allocation as a graph: its nodes, the switches between them, and what links carry."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hopbytes._arrays import Int32, Int64
from hopbytes.algorithms.two_level.level import Nodes
from hopbytes.cost.objectives.link_sums import endpoints_of, network_of
from hopbytes.errors import UnsupportedError
from hopbytes.kernels import csr_from_arcs


@dataclass(frozen=True, slots=True, eq=False)
class HostGraph:
    """Symmetric graph of places 0..places-1 and, behind them, routers and switches.

    Parameters
    ----------
    places : int
    indptr, targets : int64[V+1], int32[2 E]
        Each place is joined to the vertex of the network where its node is plugged in.
    capacity : int64[2 E]
        Of both directions and all parallel links together.
    """

    places: int
    indptr: Int64
    targets: Int32
    capacity: Int64

    @property
    def count(self) -> int:
        """Number of vertices."""
        return len(self.indptr) - 1

    def sources(self) -> Int64:
        """int64[2 E]: vertex at the near end of each entry."""
        return np.repeat(np.arange(self.count, dtype=np.int64), np.diff(self.indptr))


def host_graph(nodes: Nodes, wanted: str) -> HostGraph:
    """Return the graph of the network around the nodes of an allocation; O(links log links).

    Ends of the network where none of these nodes is are left out.

    Raises
    ------
    UnsupportedError
        A machine without a network, or one that lists routes without saying what its links join.
    """
    network = network_of(nodes.where, wanted)
    if network.wiring is None:
        raise UnsupportedError(
            f"{wanted} needs to know what links join, and '{nodes.where.machine.spec()}' lists only routes: "
            "'ug' and 'ptram' work with those"
        )
    wiring, places = network.wiring(), nodes.count
    at = wiring.at[endpoints_of(nodes.where)[nodes.first]]
    real = network.capacity > 0
    tail, head, capacity = wiring.tail[real], wiring.head[real], network.capacity[real]
    degree = np.bincount(np.concatenate([tail, head]), minlength=wiring.vertices)
    kept = degree > 2  # an end has a link in each direction
    kept[at] = True
    number = np.cumsum(kept) - 1 + places
    inner = kept[tail] & kept[head] & (tail != head)
    tail, head, capacity = number[tail[inner]], number[head[inner]], capacity[inner]
    # A place takes no more than all links of its router do.
    total = np.zeros(places + int(np.count_nonzero(kept)), np.int64)
    np.add.at(total, tail, capacity)
    own, plug = np.arange(places, dtype=np.int64), number[at]
    sources = np.concatenate([tail, head, own, plug]).astype(np.int32)
    targets = np.concatenate([head, tail, plug, own]).astype(np.int32)
    weights = np.concatenate([capacity, capacity, *([np.maximum(2 * total[plug], 1)] * 2)])
    indptr, columns, merged, _ = csr_from_arcs(len(total), sources, targets, weights, None)
    assert merged is not None
    return HostGraph(places, indptr, columns, merged)
