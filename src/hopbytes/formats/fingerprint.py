"""Hashes that say whether two files speak of the same pattern or the same machine."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

from hopbytes.machines.base import Distance, TableDistance, TreeDistance
from hopbytes.model.allocation import Allocation
from hopbytes.model.comm_graph import CommGraph


def pattern_sha256(graph: CommGraph) -> str:
    """Hash who sends how much to whom: tasks, arcs, volumes, messages, loads; O(n + m)."""
    return _digest(graph.indptr, graph.targets, graph.volumes, graph.messages, graph.loads)


def machine_sha256(where: Allocation) -> str:
    """Hash what a placement depends on: levels, distances, routes, nodes and the cores of every slot.

    O(k + what the routes are stored in).
    Names of files and hosts play no part, so the same machine described in two places is the same.
    """
    levels = ";".join(f"{level.name}@{level.distance}" for level in where.machine.levels)
    return _digest(
        np.frombuffer(levels.encode(), np.uint8), where.node_of_pe, where.core_start, where.cores,
        where.capacity, *_distances(where.distance), *_routes(where),
    )


def _distances(distance: Distance) -> tuple[Any, ...]:
    if isinstance(distance, TreeDistance):
        return distance.labels, distance.bit_costs
    if isinstance(distance, TableDistance):
        return (distance.table,)
    numbers = np.array([distance.inside_bits, distance.per_hop], np.int64)
    return distance.labels, distance.inside_costs, numbers, distance.endpoint


def _routes(where: Allocation) -> tuple[Any, ...]:
    network = where.machine.network()
    if network is None:
        return ()
    kind, *arrays = network.form.arguments
    return np.array([kind], np.int64), *arrays, network.capacity, where.endpoints


def _digest(*arrays: Any) -> str:
    digest = hashlib.sha256()
    for array in arrays:
        if array is None:
            digest.update(b"none;")
            continue
        # Name and length first, so that no two lists of arrays give the same bytes; little-endian everywhere.
        plain = np.ascontiguousarray(array, array.dtype.newbyteorder("<"))
        digest.update(f"{plain.dtype.str}{plain.shape};".encode())
        digest.update(plain.tobytes())
    return digest.hexdigest()
