"""Metrics of the traffic between PEs and between nodes, on any machine."""

from __future__ import annotations

import numpy as np

from hopbytes._arrays import Int32, Int64
from hopbytes._frozen import frozen
from hopbytes.kernels.routes import UnitTraffic, unit_traffic
from hopbytes.model.allocation import Allocation
from hopbytes.model.comm_graph import CommGraph


@frozen
class TrafficMetrics:
    """Volumes and messages between PEs and between nodes, without arcs of a task to itself.

    If the pattern has no message counts, every arc counts as one message.
    """

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
    """Return the traffic of PEs and nodes under the mapping `pe` (int32[n]); four passes over the arcs.

    The definitions are those of Deveci et al., "Fast and high quality topology-aware task mapping", IPDPS
    2015.
    """
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
