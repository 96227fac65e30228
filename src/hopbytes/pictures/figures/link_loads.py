"""Loads of all links of a network under a mapping, by name, and their histogram."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hopbytes._arrays import Float64, Int64
from hopbytes._frozen import frozen
from hopbytes.cost.objectives.link_sums import network_of, traffic
from hopbytes.model.comm_graph import CommGraph
from hopbytes.model.mapping import Mapping
from hopbytes.pictures.figures.comm_matrix import check_tasks


@frozen(eq=False)
class LinkLoads:
    """The load of every link that exists, in the order of link numbers."""

    links: Int64  # int64[links]: Number of each link in the network
    names: tuple[str, ...]  # ``"A -> B"``, as ``hopbytes eval`` names them
    capacities: Int64  # int64[links]: In `unit`
    unit: str  # unit of capacities, such as ``"Mbit/s"``, or ``"as given"``
    volumes: Float64  # float64[links]: What crosses the link; integers if every flow takes a single path
    messages: Float64  # float64[links]

    @property
    def congestion(self) -> Float64:
        """float64[links]: volume over capacity, by which links of different capacity are compared."""
        return self.volumes / self.capacities

    def most_loaded(self, count: int = 10) -> Int64:
        """Return the positions of the links with the highest congestion, descending; only links in use.

        Ties are broken by link number. Names are ``[loads.names[i] for i in loads.most_loaded()]``; the flows
        that cross them are in ``hopbytes.evaluate(graph, mapping).hottest``.
        """
        order = np.argsort(-self.congestion, kind="stable")[: max(0, count)]
        return order[self.volumes[order] > 0].astype(np.int64)


@frozen(eq=False)
class LoadHistogram:
    """How many links are how congested, per mapping."""

    #: float64[bins + 1]: Borders of the bins, from 0 to the highest congestion of all mappings, equally wide
    edges: Float64
    counts: Int64  # int64[mappings, bins]: Links in each bin; idle links are not counted
    idle: Int64  # int64[mappings]: Links without traffic


def link_loads(graph: CommGraph, mapping: Mapping) -> LinkLoads:
    """Return the load of every link under a mapping.

    >>> import hopbytes as hb
    >>> graph = hb.CommGraph.from_edges([0, 0], [1, 2], [5, 7], n=4)
    >>> loads = link_loads(graph, hb.Mapping([0, 1, 2, 3], hb.allocate("mesh:4")))
    >>> [(loads.names[i], int(loads.volumes[i])) for i in loads.most_loaded(2).tolist()]
    [('r0 -> r1 (x+)', 12), ('r1 -> r2 (x+)', 7)]
    """
    check_tasks(graph, mapping)
    where, purpose = mapping.where, "loads of links"
    network = network_of(where, purpose)
    volume = traffic(graph, graph.volumes, where, mapping.pe, purpose, priced=True)
    messages = volume
    if graph.messages is not None or graph.volumes is not None:
        messages = traffic(graph, graph.messages, where, mapping.pe, purpose, priced=False)
    links = np.flatnonzero(network.capacity > 0).astype(np.int64)
    return LinkLoads(
        links,
        tuple(network.name_link(link) for link in links.tolist()),
        network.capacity[links],
        network.unit,
        volume.amounts[links] / float(1 << volume.shift),
        messages.amounts[links] / float(1 << messages.shift),
    )


def load_histogram(loads: Sequence[LinkLoads], bins: int = 20) -> LoadHistogram:
    """Return how many links are how congested, with common bins for several mappings. O(links)."""
    highest = max((float(one.congestion.max(initial=0)) for one in loads), default=0.0)
    edges = np.linspace(0.0, highest or 1.0, bins + 1)
    counts = [np.histogram(one.congestion[one.volumes > 0], edges)[0] for one in loads]
    idle = [int(np.count_nonzero(one.volumes == 0)) for one in loads]
    return LoadHistogram(edges, np.array(counts, np.int64).reshape(-1, bins), np.array(idle, np.int64))
