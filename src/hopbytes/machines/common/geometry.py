"""Where the nodes of grids are: coordinates for mappers that work by geometry."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hopbytes._arrays import Int64
from hopbytes.machines.base import Machine
from hopbytes.machines.common.delegating_machine import Wrapped


class Geometry(NamedTuple):
    """Coordinates of the nodes of a machine.

    Parameters
    ----------
    places : int64[dimensions, nodes]
        Coordinates of each node, from 0.
    sizes : tuple of int
        Routers per dimension.
    wrapped : tuple of bool
        Per dimension: a ring, or a line.
    """

    places: Int64
    sizes: tuple[int, ...]
    wrapped: tuple[bool, ...]


def geometry_of(machine: Machine) -> Geometry | None:
    """Return where the nodes are; None for machines that are no torus, mesh or HyperX.

    Examples
    --------
    >>> from hopbytes.machines.spec import parse_machine
    >>> geometry_of(parse_machine("mesh:2x2")).places.tolist()
    [[0, 0, 1, 1], [0, 1, 0, 1]]
    """
    while isinstance(machine, Wrapped):
        machine = machine.base
    known = getattr(machine, "geometry", None)
    found: Geometry | None = None if known is None else known()
    return found


def occupied(places: Int64, size: int, wrapped: bool) -> tuple[int, int]:
    """Return the first coordinate of the shortest interval that holds all, and its length.

    On a ring the interval begins after the longest empty stretch, the last of equals, so that a full ring
    begins at 0.

    Examples
    --------
    >>> occupied(np.array([0, 7, 1]), 8, wrapped=True)
    (7, 3)
    """
    used = np.unique(places)
    if not wrapped:
        return int(used[0]), int(used[-1] - used[0]) + 1
    gaps = np.diff(np.append(used, used[0] + size)) - 1  # empty coordinates after each
    widest = len(gaps) - 1 - int(np.argmax(gaps[::-1]))
    return int(used[(widest + 1) % len(used)]), size - int(gaps[widest])
