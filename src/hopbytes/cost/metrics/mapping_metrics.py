"""The metrics of one mapping, computed from their definitions; integers are exact."""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple

import numpy as np

from hopbytes import kernels
from hopbytes._arrays import Int32, Int64
from hopbytes._frozen import field_names, frozen
from hopbytes.cost.message_time import comm_time, knows_times, times_of
from hopbytes.cost.metrics.link_metrics import LinkMetrics, measure_links
from hopbytes.cost.objectives.comm_cost import (
    arcs_distance_sum,
    check_scale,
    weight_by_level,
    weight_inside_and_cut,
)
from hopbytes.kernels.records import Csr
from hopbytes.kernels.routes import UnitTraffic, unit_traffic
from hopbytes.machines.distances import TreeDistance
from hopbytes.model.allocation import Allocation
from hopbytes.model.capacities import group_sums, ratio, relative_excess
from hopbytes.model.comm_graph import CommGraph
from hopbytes.model.mapping import check_tasks


@frozen
class LevelMetrics:
    """Traffic between PEs that differ at one named level of the machine."""

    name: str
    distance: int  # distance of two PEs for which this is the outermost level at which they differ
    volume: int  # volume of the arcs between such PEs
    messages: int  # messages of the same arcs
    cut: int  # volume between different units of this level: the volume of this level and of all outer levels
    cost_share: float  # share of J, ``volume * distance / J``; 0 when J is 0


@frozen
class MappingMetrics:
    """The metrics of one mapping."""

    comm_cost: int  # J, the sum over stored arcs of volume x distance
    edge_cut: int  # volume between different PEs
    #: largest load of a PE over its share, minus one: ``max_load / (total / k) - 1`` for equal PEs; with
    #: capacities the shares are in proportion to them. 0 if there is no load.
    imbalance: float
    max_load: int  # largest sum of task loads on a PE
    used_pes: int  # number of PEs with a task
    min_tasks_per_pe: int  # minimum and maximum over all PEs, including empty ones
    max_tasks_per_pe: int
    mean_distance: float  # mean distance of all arcs
    weighted_mean_distance: float  # mean distance of all arcs, weighted by volume: J / volume
    #: sum of the times of all messages: latency x messages + bytes / bandwidth of their levels; None if
    #: levels lack these values
    comm_seconds: float | None
    #: metrics by level, outermost first; empty for machines without named levels
    levels: tuple[LevelMetrics, ...]
    traffic: TrafficMetrics | None = None  # traffic of PEs and nodes; set by :func:`measure_all`
    #: traffic on links; set by :func:`measure_all` on machines that have links
    links: LinkMetrics | None = None
    #: set by :func:`measure_all` where a PE holds several tasks; None for random mappings
    blocks: BlockMetrics | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return all metrics as plain numbers for JSON, at the top level except for the list of levels."""
        names = field_names(self)
        plain = {name: getattr(self, name) for name in names[: names.index("levels")]}
        if self.comm_seconds is None:
            del plain["comm_seconds"]
        for part in (self.traffic, self.blocks, self.links):
            plain |= {} if part is None else _fields(part)
        return plain | {"levels": [_fields(level) for level in self.levels]}


def _fields(part: LevelMetrics | TrafficMetrics | LinkMetrics | BlockMetrics) -> dict[str, Any]:
    """Return plain values by name, without those that are None."""
    values = {name: getattr(part, name) for name in field_names(part)}
    return {name: value for name, value in values.items() if value is not None}


def measure(graph: CommGraph, where: Allocation, pe: Int32, threads: int = 1) -> MappingMetrics:
    """Return the metrics of the mapping `pe` (int32[n], values 0..k-1)."""
    check_tasks(graph, len(pe))
    check_scale(graph, where)
    volume = _sums(graph.arcs(graph.volumes), where, pe, threads)
    arcs = volume if graph.volumes is None else _sums(graph.arcs(None), where, pe, threads)
    tasks = group_sums(pe, None, where.k, threads)
    loads = tasks if graph.loads is None else group_sums(pe, graph.loads, where.k, threads)
    return MappingMetrics(
        comm_cost=volume.cost,
        edge_cut=volume.cut,
        imbalance=relative_excess(loads, graph.total_load, where.capacity),
        max_load=int(loads.max()),
        used_pes=int(np.count_nonzero(tasks)),
        min_tasks_per_pe=int(tasks.min()),
        max_tasks_per_pe=int(tasks.max()),
        mean_distance=ratio(arcs.cost, arcs.inside + arcs.cut),
        weighted_mean_distance=ratio(volume.cost, volume.inside + volume.cut),
        comm_seconds=_seconds(graph, where, pe),
        levels=_levels(graph, where, pe, volume, arcs, threads),
    )


def _seconds(graph: CommGraph, where: Allocation, pe: Int32) -> float | None:
    if not knows_times(where):
        return None
    times = times_of(graph, where)
    return times.seconds(comm_time(graph, where, pe, times))


def measure_all(
    graph: CommGraph, where: Allocation, pe: Int32, base: MappingMetrics | None = None, threads: int = 1,
    *, blocks: bool = True,
) -> MappingMetrics:
    """Return the metrics of :func:`measure` together with the traffic of PEs, nodes and links."""
    several = blocks and graph.n > 0 and int(np.bincount(pe).max()) > 1
    reference = base.links if base is not None else None
    return dataclasses.replace(
        measure(graph, where, pe, threads),
        traffic=measure_traffic(graph, where, pe, threads),
        links=measure_links(graph, where, pe, reference),
        blocks=measure_blocks(graph, where.k, pe) if several else None,
    )


class _Sums(NamedTuple):
    """Sums of one weight over arcs: times distance, within PEs, between PEs, and by level on trees."""

    cost: int
    inside: int
    cut: int
    by_level: list[int]


def _sums(arcs: Csr, where: Allocation, pe: Int32, threads: int) -> _Sums:
    distance = where.distance
    if isinstance(distance, TreeDistance):
        by_level = weight_by_level(arcs, distance, pe, threads)
        cost = sum(weight * d for weight, d in zip(by_level, distance.costs.tolist(), strict=True))
        return _Sums(cost, by_level[0], sum(by_level[1:]), by_level)
    inside, cut = weight_inside_and_cut(arcs, where.k, pe, threads)
    return _Sums(arcs_distance_sum(arcs, where, pe, threads), inside, cut, [])


def _levels(
    graph: CommGraph, where: Allocation, pe: Int32, volume: _Sums, arcs: _Sums, threads: int
) -> tuple[LevelMetrics, ...]:
    distance = where.distance
    if not isinstance(distance, TreeDistance):
        return ()
    messages = arcs.by_level
    if graph.messages is not None:
        messages = weight_by_level(graph.arcs(graph.messages), distance, pe, threads)
    costs, volumes = distance.costs.tolist(), volume.by_level
    return tuple(
        LevelMetrics(
            level.name, costs[number], volumes[number], messages[number],
            cut=sum(volumes[number:]), cost_share=ratio(volumes[number] * costs[number], volume.cost),
        )
        # Kernels number levels from the innermost one, users see the outermost one first.
        for level, number in zip(where.machine.levels, range(len(volumes) - 1, 0, -1), strict=True)
    )


def diagonal_volume(graph: CommGraph, threads: int = 1) -> int:
    """Return the volume of arcs of a task to itself; O(m) time, and O(1) memory if there are none."""
    if not graph.has_loops(threads):
        return 0
    to_itself = graph.sources() == graph.targets
    return kernels.checked_sum(np.ascontiguousarray(graph.arc_volumes()[to_itself]))


#: Arcs that are looked at together; memory is a multiple of it.
ARCS_PER_PIECE = 1 << 22


@frozen
class BlockMetrics:
    """PEs with several tasks as blocks of a partition."""

    #: the sum over tasks of the number of other PEs that hold a task to which it sends: the values that one
    #: exchange of a mesh sends, the ghost cells. METIS calls it the total communication volume (totalv).
    comm_volume: int
    max_neighbours: int  # largest number of PEs with which a PE exchanges something
    mean_neighbours: float  # mean over the PEs that hold a task


def measure_blocks(graph: CommGraph, k: int, pe: Int32) -> BlockMetrics:
    """Return the metrics of the mapping `pe` (int32[n], values 0..k-1). O(n + m + c log c), c arcs cut."""
    volume, first = 0, 0
    pairs = np.empty(0, np.int64)
    while first < graph.n:
        limit = int(graph.indptr[first]) + ARCS_PER_PIECE
        last = max(first + 1, int(np.searchsorted(graph.indptr, limit, "right")) - 1)
        degrees = np.diff(graph.indptr[first : last + 1])
        sources = np.repeat(np.arange(first, last), degrees)
        ends: Int64 = pe[graph.targets[graph.indptr[first] : graph.indptr[last]]].astype(np.int64)
        cut = pe[sources] != ends
        sources, ends = sources[cut], ends[cut]
        volume += len(np.unique((sources - first) * k + ends))
        own = pe[sources].astype(np.int64)
        pairs = np.unique(np.concatenate([pairs, own * k + ends, ends * k + own]))
        first = last
    neighbours = np.bincount(pairs // k, minlength=k) if k else pairs
    used = len(np.unique(pe))
    return BlockMetrics(volume, int(neighbours.max(initial=0)), len(pairs) / used if used else 0.0)


@frozen
class TrafficMetrics:
    """Volumes and messages (one per arc if not counted) between PEs and nodes, not of a task to itself."""

    max_send_volume: int  # maximum that a PE sends to other PEs (MSV, MSM)
    total_send_volume: int  # total that PEs send to other PEs (TV, TM)
    max_send_messages: int
    total_send_messages: int
    inter_node_volume: int  # total that nodes send to other nodes (ICV, ICM)
    inter_node_messages: int
    intra_node_volume: int  # total inside nodes, including that inside a PE
    intra_node_messages: int
    max_node_receive_volume: int  # maximum that a node receives from other nodes (MNRV, MNRM)
    max_node_receive_messages: int


def measure_traffic(graph: CommGraph, where: Allocation, pe: Int32, threads: int = 1) -> TrafficMetrics:
    """Return the traffic of PEs and nodes under the mapping `pe` (int32[n]); four passes over the arcs."""
    nodes = np.asarray(where.node_of_pe, np.int32)[pe]
    n_nodes = int(nodes.max(initial=-1)) + 1

    def crossing(weights: Int64 | None, units: Int32, count: int) -> UnitTraffic:
        return unit_traffic(graph.arcs(weights), units, count, threads)

    pe_volume, node_volume = crossing(graph.volumes, pe, where.k), crossing(graph.volumes, nodes, n_nodes)
    if graph.volumes is None and graph.messages is None:
        pe_messages, node_messages = pe_volume, node_volume
    else:
        pe_messages = crossing(graph.messages, pe, where.k)
        node_messages = crossing(graph.messages, nodes, n_nodes)
    return TrafficMetrics(
        max_send_volume=int(pe_volume.sent.max(initial=0)),
        total_send_volume=pe_volume.between,
        max_send_messages=int(pe_messages.sent.max(initial=0)),
        total_send_messages=pe_messages.between,
        inter_node_volume=node_volume.between,
        inter_node_messages=node_messages.between,
        intra_node_volume=node_volume.inside,
        intra_node_messages=node_messages.inside,
        max_node_receive_volume=int(node_volume.received.max(initial=0)),
        max_node_receive_messages=int(node_messages.received.max(initial=0)),
    )
