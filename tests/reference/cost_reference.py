"""Reference of ``graph/cost.hpp`` and ``graph/group_sums.hpp`` of the core; `threads` are not used."""

import numpy as np

from hopbytes._arrays import Int32, Int64, UInt8, UInt64
from hopbytes.kernels.records import Csr
from reference.graph_reference import arcs_of


def volume_by_level(
    graph: Csr, pe: Int32, labels: UInt64, level_of_bit: UInt8, threads: int, out: Int64
) -> None:
    """Add the volume of each arc to the outermost level at which its two PEs differ."""
    for i, j, w in arcs_of(graph):
        if i != j:
            differing = int(labels[pe[i]]) ^ int(labels[pe[j]])
            out[level_of_bit[differing.bit_length()]] += w


def comm_cost_table(graph: Csr, pe: Int32, table: Int64, threads: int) -> int:
    """Return the sum over arcs of volume x table distance."""
    k = round(len(table) ** 0.5)
    arcs = arcs_of(graph)
    return sum(w * int(table[int(pe[i]) * k + int(pe[j])]) for i, j, w in arcs)


def network_distance(labels: UInt64, packed: Int64, a: int, b: int) -> int:
    """Return the distance of two PEs on the nodes of a network: a tree inside a node, hops between nodes."""
    dimensions, per_hop, least, inside_bits, _, nodes = (int(number) for number in packed[:6])
    width = (int(labels[a]) ^ int(labels[b])).bit_length()
    if width <= inside_bits:
        return int(packed[6 + width])
    folds = packed[71 : 71 + dimensions]
    used = len(labels) * max(dimensions, 1)
    place = packed[71 + dimensions :].view(np.int32)[:used].reshape(len(labels), -1).astype(np.int64)
    if dimensions:
        apart = np.abs(place[a] - place[b])
        way = int(np.minimum(apart, folds - apart).sum())
    else:
        table = packed[71 + (used + 1) // 2 :].view(np.uint16)
        way = int(table[int(place[a, 0]) * nodes + int(place[b, 0])])
    return max(least, way * per_hop)


def comm_cost_network(
    graph: Csr, pe: Int32, labels: UInt64, packed: Int64, threads: int
) -> int:
    """Return the sum over arcs of volume x distance on a network."""
    pairs = [(int(pe[i]), int(pe[j]), w) for i, j, w in arcs_of(graph) if i != j]
    return sum(w * network_distance(labels, packed, a, b) for a, b, w in pairs)


def group_sums(group: Int32, values: Int64, threads: int, sums: Int64) -> None:
    """Add the value of each item, 1 without values, to the sum of its group."""
    for item, number in enumerate(group.tolist()):
        sums[number] += values[item] if len(values) else 1
