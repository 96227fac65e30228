"""The network of an allocation as a graph of nodes and switches, with the capacities of links."""

from __future__ import annotations

import numpy as np

from hopbytes._arrays import Int32, Int64
from hopbytes._frozen import frozen
from hopbytes.algorithms.two_level.level import Nodes
from hopbytes.cost.objectives.link_sums import endpoints_of, network_of
from hopbytes.errors import UnsupportedError
from hopbytes.kernels import csr_from_arcs


@frozen(eq=False)
class HostGraph:
    """Symmetric graph of the places (nodes) 0..places-1, followed by routers and switches."""

    places: int
    indptr: Int64  # int64[V+1]: Each place is adjacent to the router or switch to which its node is connected
    targets: Int32  # int32[2 E]
    capacity: Int64  # int64[2 E]: Sum of the capacities of both directions and all parallel links

    @property
    def count(self) -> int:
        """Number of vertices."""
        return len(self.indptr) - 1

    def sources(self) -> Int64:
        """Return int64[2 E], the source of each entry of `targets`."""
        return np.repeat(np.arange(self.count, dtype=np.int64), np.diff(self.indptr))


def host_graph(nodes: Nodes, wanted: str) -> HostGraph:
    """Return the graph of the network around the nodes of an allocation; O(links log links).

    Leaves of the network without one of these nodes are left out.
    """
    network = network_of(nodes.where, wanted)
    if network.wiring is None:
        raise UnsupportedError(
            f"{wanted} needs the ends of all links, but '{nodes.where.machine.spec()}' lists only routes: "
            "'ug' and 'ptram' work with routes alone"
        )
    wiring, places = network.wiring(), nodes.count
    at = wiring.at[endpoints_of(nodes.where)[nodes.first]]
    real = network.capacity > 0
    tail, head, capacity = wiring.tail[real], wiring.head[real], network.capacity[real]
    degree = np.bincount(np.concatenate([tail, head]), minlength=wiring.vertices)
    kept = degree > 2  # a leaf has one link in each direction
    kept[at] = True
    number = np.cumsum(kept) - 1 + places
    inner = kept[tail] & kept[head] & (tail != head)
    tail, head, capacity = number[tail[inner]], number[head[inner]], capacity[inner]
    # The capacity of a place is that of all links of its router, so that it never limits the traffic.
    total = np.zeros(places + int(np.count_nonzero(kept)), np.int64)
    np.add.at(total, tail, capacity)
    own, plug = np.arange(places, dtype=np.int64), number[at]
    sources = np.concatenate([tail, head, own, plug]).astype(np.int32)
    targets = np.concatenate([head, tail, plug, own]).astype(np.int32)
    weights = np.concatenate([capacity, capacity, *([np.maximum(2 * total[plug], 1)] * 2)])
    indptr, columns, merged, _ = csr_from_arcs(len(total), sources, targets, weights, None)
    assert merged is not None
    return HostGraph(places, indptr, columns, merged)
