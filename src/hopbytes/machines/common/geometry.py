"""Coordinates of the nodes of a machine, for mappers that work by geometry and for tables of hosts."""

from __future__ import annotations

import numpy as np

from hopbytes._arrays import Int64
from hopbytes.machines.base import Machine
from hopbytes.machines.network.curves import hilbert_order
from hopbytes.machines.network.network import Geometry


def coordinates_of(machine: Machine) -> Geometry | None:
    """Return the coordinates of the nodes of a machine; None where its network gives none.

    >>> from hopbytes.machines.spec import parse_machine
    >>> found = coordinates_of(parse_machine("dragonfly:2x2x1"))
    >>> found.names, found.places.tolist()
    (('group', 'switch'), [[0, 0, 1, 1], [0, 1, 0, 1]])
    """
    network = machine.network()
    if network is None or network.geometry is None:
        return None
    found = network.geometry()
    first_core = np.unique(machine.node_of_core(), return_index=True)[1]
    return found._replace(places=found.places[:, machine.network_use.endpoint_of_core()[first_core]])


def geometry_of(machine: Machine) -> Geometry | None:
    """Return the coordinates of the nodes; None for machines that are no torus, mesh or HyperX.

    >>> from hopbytes.machines.spec import parse_machine
    >>> geometry_of(parse_machine("mesh:2x2")).places.tolist()
    [[0, 0, 1, 1], [0, 1, 0, 1]]
    """
    found = coordinates_of(machine)
    return found if found is not None and found.sizes else None


def torus_geometry_of(machine: Machine) -> Geometry | None:
    """Return the coordinates of the nodes; None for machines that are no torus and no mesh."""
    network = machine.network()
    return geometry_of(machine) if network is not None and network.form.kind == "grid" else None


def nodes_along_curve(machine: Machine) -> Int64:
    """int64[nodes]: nodes in the order in which schedulers keep jobs compact.

    That is the order of their routers along a Hilbert curve on tori and meshes, machine order elsewhere.
    """
    found = torus_geometry_of(machine)
    if found is None:
        return np.arange(int(machine.node_of_core()[-1]) + 1, dtype=np.int64)
    order = hilbert_order(found.sizes)
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    return np.argsort(rank[np.ravel_multi_index(tuple(found.places), found.sizes)], kind="stable")


def occupied(places: Int64, size: int, wrapped: bool) -> tuple[int, int]:
    """Return the first coordinate of the shortest interval that holds all, and its length.

    On a ring the interval begins after the longest empty stretch, the last of equals, so that a full ring
    begins at 0.

    >>> occupied(np.array([0, 7, 1]), 8, wrapped=True)
    (7, 3)
    """
    used = np.unique(places)
    if not wrapped:
        return int(used[0]), int(used[-1] - used[0]) + 1
    gaps = np.diff(np.append(used, used[0] + size)) - 1  # empty coordinates after each
    widest = len(gaps) - 1 - int(np.argmax(gaps[::-1]))
    return int(used[(widest + 1) % len(used)]), size - int(gaps[widest])
