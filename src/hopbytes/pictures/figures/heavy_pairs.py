"""The pairs of tasks that exchange most, and where a mapping puts them."""

from __future__ import annotations

import numpy as np

from hopbytes._arrays import Int64
from hopbytes._frozen import frozen
from hopbytes.cost.objectives.link_sums import endpoints_of
from hopbytes.model.allocation import Allocation
from hopbytes.model.comm_graph import CommGraph
from hopbytes.model.mapping import Mapping
from hopbytes.pictures.figures.comm_matrix import check_tasks, node_name


@frozen
class HeavyPair:
    """Two tasks and what they exchange."""

    first: int  # tasks, first < second
    second: int
    there: int  # volume from the first to the second, and from the second to the first
    back: int
    first_place: str = ""  # where they are: ``"n1 core 4"``; empty without a mapping
    second_place: str = ""
    #: outermost level of the machine at which their PEs differ (``"node"``, ``"core"``); ``"same PE"`` if
    #: they share one; empty without a mapping
    level: str = ""
    hops: int | None = None  # links between them; None on machines without links

    @property
    def volume(self) -> int:
        """Volume in both directions."""
        return self.there + self.back


def heaviest_pairs(
    graph: CommGraph, mapping: Mapping | None = None, count: int = 10
) -> tuple[HeavyPair, ...]:
    """Return the pairs of tasks that exchange most, descending; ties by task numbers.

    Pairs that exchange nothing are left out. O(m log m).

    >>> import hopbytes as hb
    >>> graph = hb.CommGraph.from_edges([0, 1, 2], [1, 0, 0], [5, 6, 9], n=4)
    >>> mapping = hb.Mapping([0, 1, 2, 3], hb.allocate("node:2 core:2", hosts="a,b"))
    >>> [(p.first_place, p.second_place, p.volume) for p in heaviest_pairs(graph, mapping)]
    [('a core 0', 'a core 1', 11), ('a core 0', 'b core 0', 9)]
    """
    check_tasks(graph, mapping)
    sources, targets = graph.sources().astype(np.int64), graph.targets.astype(np.int64)
    apart = np.flatnonzero(sources != targets)
    low, high = np.minimum(sources, targets)[apart], np.maximum(sources, targets)[apart]
    keys, of_arc = np.unique(low * graph.n + high, return_inverse=True)
    volume = np.zeros(len(keys), np.int64)
    np.add.at(volume, of_arc.reshape(-1), graph.arc_volumes()[apart])
    order = np.argsort(-volume, kind="stable")[: max(0, count)]
    order = order[volume[order] > 0]
    return tuple(_pair(graph, mapping, *divmod(int(keys[each]), graph.n)) for each in order.tolist())


def _pair(graph: CommGraph, mapping: Mapping | None, first: int, second: int) -> HeavyPair:
    there, back = _volume(graph, first, second), _volume(graph, second, first)
    if mapping is None:
        return HeavyPair(first, second, there, back)
    where, pes = mapping.where, (int(mapping.pe[first]), int(mapping.pe[second]))
    network = where.machine.network()
    hops = None
    if network is not None:
        ends = endpoints_of(where)
        hops = int(network.hops(ends[pes[0]], ends[pes[1]]).reshape(-1)[0])
    places = (pe_name(where, pes[0]), pe_name(where, pes[1]))
    return HeavyPair(first, second, there, back, *places, _level(where, *pes), hops)


def _volume(graph: CommGraph, source: int, target: int) -> int:
    start, end = int(graph.indptr[source]), int(graph.indptr[source + 1])
    place = start + int(np.searchsorted(graph.targets[start:end], target))
    return int(graph.arc_volumes()[place]) if place < end and graph.targets[place] == target else 0


def _level(where: Allocation, first: int, second: int) -> str:
    if first == second:
        return "same PE"
    cores: Int64 = where.first_core[[first, second]]
    for number, level in enumerate(where.machine.levels):
        units = where.machine.ancestors(number)[cores]
        if units[0] != units[1]:
            return str(level.name)
    return "core"


def pe_name(where: Allocation, pe: int) -> str:
    """Return the name of a PE for people: its node, and the first of its cores, counted on the node.

    >>> import hopbytes as hb
    >>> pe_name(hb.allocate("node:2 core:4", hosts="a,b"), 6), pe_name(hb.allocate("node:2 gpu:4"), 6)
    ('b core 2', 'node 1 GPU 2')
    """
    nodes, core = where.machine.node_of_core(), int(where.first_core[pe])
    node = int(nodes[core])
    name = node_name(where, node)
    first = int(np.searchsorted(nodes, node))
    last = int(np.searchsorted(nodes, node, side="right")) - 1
    if first == last:  # the node is the smallest unit known
        return name
    if not where.has_cores and len(where.gpus_of(pe)):
        return f"{name} GPU {where.gpus_of(pe)[0]}"
    return f"{name} core {core - first}"
