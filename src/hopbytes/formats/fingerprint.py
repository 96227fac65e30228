"""Hashes that tell whether two mappings were made for the same pattern and the same machine."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

from hopbytes.machines.distances import Distance, TableDistance, TreeDistance
from hopbytes.model.allocation import Allocation
from hopbytes.model.comm_graph import CommGraph


def pattern_sha256(graph: CommGraph) -> str:
    """Return the hash of a pattern: tasks, arcs, volumes, messages and loads; O(n + m)."""
    return _digest(graph.indptr, graph.targets, graph.volumes, graph.messages, graph.loads)


def machine_sha256(where: Allocation) -> str:
    """Return the hash of levels, distances, routes, nodes and the cores of every slot.

    These determine the cost of a mapping. Names of files and hosts are not hashed, so the same machine
    described by two files has one hash. O(k + size of the arrays that store the routes).
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
        # Type and shape precede the content, so that different lists of arrays never give the same bytes.
        # The byte order is fixed to little-endian, so that the hash does not depend on the computer.
        plain = np.ascontiguousarray(array, array.dtype.newbyteorder("<"))
        digest.update(f"{plain.dtype.str}{plain.shape};".encode())
        digest.update(plain.tobytes())
    return digest.hexdigest()
