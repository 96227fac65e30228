"""Space-filling curves through boxes of any dimension and through any points with integer coordinates."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from hopbytes._arrays import Int64
from hopbytes.machines.base import Machine
from hopbytes.machines.network import Geometry

#: Curves by name.
CURVES = ("hilbert", "gray", "morton", "snake", "row")


@lru_cache(maxsize=8)
def hilbert_order(sizes: tuple[int, ...]) -> Int64:
    """int64[product of sizes]: cells of a box (last coordinate fastest) in the order of a Hilbert curve.

    The curve fills the smallest cube of 2^b cells a side; cells outside the box are skipped, so on boxes
    that are no such cube it jumps now and then.

    O(cells x dimensions x bits). Source: Skilling, "Programming the Hilbert curve", AIP Conference
    Proceedings 707 (2004).
    """
    order = curve_order(np.indices(sizes).reshape(len(sizes), -1), "hilbert", max(sizes))
    order.setflags(write=False)
    return order


def curve_order(points: Int64, curve: str, side: int | None = None) -> Int64:
    """int64[n]: points in the order in which a curve meets them; of equal points the lower number first.

    O(n x dimensions x bits + n log n). Gray order: Faloutsos, "Gray codes for partial match and range
    queries", IEEE TSE 14 (1988).
    """
    if curve in ("row", "snake"):
        return _by_rows(points, to_and_fro=curve == "snake")
    widest = int(points.max(initial=0)) + 1 if side is None else side
    bits = max(1, (widest - 1).bit_length())
    axis = [row.astype(np.int64) for row in points]
    turn = _hilbert_axes(axis, bits) if curve == "hilbert" else np.zeros(points.shape[1], np.int64)
    keys: list[Int64] = []  # digit by digit, outermost level first
    parity = np.zeros(points.shape[1], np.int64)
    for level in range(bits - 1, -1, -1):
        digit = np.zeros(points.shape[1], np.int64)
        for row in axis:
            bit = (row ^ turn) >> level & 1
            if curve == "gray":  # the rank of a Gray code: every bit turned by all bits before it
                parity = bit = bit ^ parity
            digit = digit << 1 | bit
        keys.append(digit)
    return np.lexsort(keys[::-1]).astype(np.int64)


def _by_rows(points: Int64, to_and_fro: bool) -> Int64:
    keys: list[Int64] = []
    odd = np.zeros(points.shape[1], np.bool_)
    for row in points:
        keys.append(np.where(odd, -row, row) if to_and_fro else row)
        odd ^= row % 2 == 1
    return np.lexsort(keys[::-1]).astype(np.int64)


def _hilbert_axes(axis: list[Int64], bits: int) -> Int64:
    """Turn coordinates into the transposed index, in place but for the turn that is returned."""
    for level in range(bits - 1, 0, -1):
        high = np.int64(1) << level
        low = high - 1
        for d in range(len(axis)):
            flips = (axis[d] & high) != 0
            swap = np.where(flips, 0, (axis[0] ^ axis[d]) & low)
            axis[0] = np.where(flips, axis[0] ^ low, axis[0] ^ swap)
            axis[d] = axis[d] ^ swap
    for d in range(1, len(axis)):
        axis[d] = axis[d] ^ axis[d - 1]
    turn = np.zeros(len(axis[0]), np.int64)
    for level in range(bits - 1, 0, -1):
        high = np.int64(1) << level
        turn = np.where((axis[-1] & high) != 0, turn ^ (high - 1), turn)
    return turn


def coordinates_of(machine: Machine) -> Geometry | None:
    """Return the coordinates of the nodes of a machine; None where its network gives none."""
    network = machine.network()
    if network is None or network.geometry is None:
        return None
    found = network.geometry()
    first_core = np.unique(machine.node_of_core(), return_index=True)[1]
    return found._replace(places=found.places[:, machine.network_use.endpoint_of_core()[first_core]])


def geometry_of(machine: Machine) -> Geometry | None:
    """Return the coordinates of the nodes; None for machines that are no torus, mesh or HyperX."""
    found = coordinates_of(machine)
    return found if found is not None and found.sizes else None


def torus_geometry_of(machine: Machine) -> Geometry | None:
    """Return the coordinates of the nodes; None for machines that are no torus and no mesh."""
    network = machine.network()
    return geometry_of(machine) if network is not None and network.form.kind == "grid" else None


def occupied(places: Int64, size: int, wrapped: bool) -> tuple[int, int]:
    """Return the first coordinate of the shortest interval that holds all, and its length.

    On a ring the interval begins after the longest empty stretch, the last of equals, so that a full ring
    begins at 0.
    """
    used = np.unique(places)
    if not wrapped:
        return int(used[0]), int(used[-1] - used[0]) + 1
    gaps = np.diff(np.append(used, used[0] + size)) - 1  # empty coordinates after each
    widest = len(gaps) - 1 - int(np.argmax(gaps[::-1]))
    return int(used[(widest + 1) % len(used)]), size - int(gaps[widest])
