"""Graphs of which every process makes its own rows, without files."""

from __future__ import annotations

import itertools
import math

import numpy as np

from hopbytes._arrays import Float64, Int64
from hopbytes.errors import UnsupportedError
from hopbytes.mpi.distributed.slab import Slab, mixed

GENERATORS = ("grid", "geometric")
#: Points of a geometric graph per cell, whose side is the radius, and so a third of the mean degree.
POINTS_PER_CELL = 3


def generated_slab(spec: str, rank: int, size: int) -> Slab:
    """Return the rows of one of `size` processes.

    >>> generated_slab("grid:2x2", 0, 2).targets
    array([1, 2, 0, 3])
    """
    name, _, text = spec.partition(":")
    words = text.split("x")
    if name not in GENERATORS or not all(word.isdigit() and 0 < len(word) < 12 for word in words):
        raise UnsupportedError(f"{spec[:40]}, expected grid:AxB, grid:AxBxC or geometric:N")
    sizes = [int(word) for word in words]
    if name == "geometric" and len(sizes) == 1 and sizes[0] >= 1:
        return _geometric(sizes[0], rank, size)
    if name == "grid" and len(sizes) in (2, 3) and min(sizes) >= 1 and math.prod(sizes) < 2**62:
        return _grid(sizes, rank, size)
    raise UnsupportedError(f"{spec[:40]}, expected grid:AxB, grid:AxBxC or geometric:N")


def _grid(sizes: list[int], rank: int, size: int) -> Slab:
    total = math.prod(sizes)
    own = np.arange(total * rank // size, total * (rank + 1) // size, dtype=np.int64)
    steps = [math.prod(sizes[axis + 1 :]) for axis in range(len(sizes))]
    columns = []
    for sign, order in ((-1, range(len(sizes))), (1, reversed(range(len(sizes))))):  # ascending neighbours
        for axis in order:
            at = own // steps[axis] % sizes[axis]
            there = at > 0 if sign < 0 else at < sizes[axis] - 1
            columns.append(np.where(there, own + sign * steps[axis], -1))
    table = np.stack(columns, axis=1)
    exists = table >= 0
    indptr = np.concatenate([[0], np.cumsum(exists.sum(axis=1))]).astype(np.int64)
    return Slab(indptr, table[exists])


def _points(cells: Int64, side: int) -> tuple[Float64, Float64]:
    """Return the coordinates of all points of some cells, in units of cells."""
    number = (cells[:, None] * POINTS_PER_CELL + np.arange(POINTS_PER_CELL)).reshape(-1)
    word = mixed(number.view(np.uint64))
    x = (word >> np.uint64(32)).astype(np.float64) / 2**32
    y = (word & np.uint64(0xFFFFFFFF)).astype(np.float64) / 2**32
    cell = number // POINTS_PER_CELL
    return x + cell % side, y + cell // side


def _geometric(points: int, rank: int, size: int) -> Slab:
    side = max(1, round(math.sqrt(points / POINTS_PER_CELL)))
    cells = np.arange(side * side * rank // size, side * side * (rank + 1) // size, dtype=np.int64)
    x, y = _points(cells, side)
    own = (cells[:, None] * POINTS_PER_CELL + np.arange(POINTS_PER_CELL)).reshape(-1)
    tails, heads = [], []
    for dy, dx in itertools.product((-1, 0, 1), repeat=2):
        column, row = cells % side + dx, cells // side + dy
        inside = (column >= 0) & (column < side) & (row >= 0) & (row < side)
        near = (row * side + column)[inside]
        u, v = _points(near, side)
        there = np.repeat(inside, POINTS_PER_CELL)
        for shift in range(POINTS_PER_CELL):
            # Point i of a cell beside point (i + shift) of the other one.
            turn = (np.arange(len(u)) // POINTS_PER_CELL * POINTS_PER_CELL
                    + (np.arange(len(u)) + shift) % POINTS_PER_CELL)  # fmt: skip
            other = near[turn // POINTS_PER_CELL] * POINTS_PER_CELL + turn % POINTS_PER_CELL
            close = (x[there] - u[turn]) ** 2 + (y[there] - v[turn]) ** 2 <= 1.0
            close &= other != own[there]
            tails.append(own[there][close])
            heads.append(other[close])
    tail, head = np.concatenate(tails), np.concatenate(heads)
    order = np.lexsort((head, tail))
    first = int(own[0]) if len(own) else 0
    degree = np.bincount(tail - first, minlength=len(own))
    return Slab(np.concatenate([[0], np.cumsum(degree)]).astype(np.int64), head[order])
