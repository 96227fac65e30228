"""Coordinates of nodes and tasks for geometric mappers."""

from __future__ import annotations

import math
import re

import numpy as np

from hopbytes._arrays import Float64, Int64
from hopbytes.algorithms.two_level import nodes_of
from hopbytes.errors import FormatError, UnsupportedError
from hopbytes.machines.network.geometry import geometry_of
from hopbytes.machines.network.network import Geometry
from hopbytes.model.allocation import Allocation
from hopbytes.model.comm_graph import CommGraph
from hopbytes.text.open_input import open_stream

GRID = re.compile(r"[0-9]{1,9}(x[0-9]{1,9})*", re.ASCII)
#: Coordinates from a file are rounded to so many steps along the longest side.
STEPS = 2**20
#: More dimensions than any physical space or logical grid has.
MOST_DIMENSIONS = 16


def place_geometry(where: Allocation, wanted: str) -> Geometry:
    """Return the coordinates of the nodes (:class:`hopbytes.algorithms.two_level.Nodes`) of an allocation."""
    found = geometry_of(where.machine)
    if found is None:
        raise UnsupportedError(
            f"mapper {wanted!r} needs coordinates of nodes, but '{where.machine.spec()}' has none: expected "
            "a torus, mesh or hyperx; 'multisection' and 'ug' work on all machines"
        )
    nodes = nodes_of(where)
    return found._replace(places=found.places[:, where.node_of_pe[nodes.first]])


def task_coordinates(graph: CommGraph, given: str, wanted: str) -> Int64 | None:
    """Return int64[dimensions, n], the coordinates of tasks, counted from 0; None if they are unknown."""
    if given and not GRID.fullmatch(given):
        return _scaled(_from_file(given, graph.n))
    sizes = [int(word) for word in given.split("x")] if given else graph.meta.get("grid")
    if not given and not _is_grid(sizes, graph.n):
        return None
    assert sizes is not None
    if len(sizes) > MOST_DIMENSIONS or math.prod(sizes) != graph.n:
        grid = "x".join(map(str, sizes))
        raise UnsupportedError(f"mapper {wanted!r}: tasks={grid[:40]}, expected a grid of {graph.n} tasks")
    return np.stack(np.unravel_index(np.arange(graph.n), tuple(sizes))).astype(np.int64)


def _is_grid(sizes: object, n: int) -> bool:
    """Return whether `sizes`, metadata of a file that may be wrong, is a grid of n tasks."""
    if not isinstance(sizes, list) or not 1 <= len(sizes) <= MOST_DIMENSIONS:
        return False
    return all(type(size) is int and 0 < size <= n for size in sizes) and math.prod(sizes) == n


def _from_file(path: str, n: int) -> Float64:
    rows: list[list[float]] = []
    with open_stream(path) as opened:
        for number, line in enumerate(opened.stream, 1):
            words = line.partition(b"#")[0].replace(b",", b" ").split()
            if not words:
                continue
            try:
                row = [float(word) for word in words]
            except ValueError:
                row = [math.nan]
            if not all(map(math.isfinite, row)) or len(row) > MOST_DIMENSIONS:
                what = f"{line[:40].decode(errors='replace').strip()!r}, expected the coordinates of a task"
                raise FormatError(path, number, what)
            if rows and len(row) != len(rows[0]):
                raise FormatError(path, number, f"{len(row)} numbers, expected {len(rows[0])} as before")
            rows.append(row)
    if len(rows) != n:
        raise FormatError(path, None, f"coordinates of {len(rows)} tasks, expected {n}")
    table: Float64 = np.array(rows, np.float64).reshape(n, -1).T
    return table


def _scaled(points: Float64) -> Int64:
    """Shift integers so that they begin at 0; round other coordinates to steps of the longest side."""
    if points.size == 0:
        return np.zeros((max(1, len(points)), points.shape[1]), np.int64)
    low = points.min(axis=1, keepdims=True)
    with np.errstate(over="ignore"):  # infinite extents are refused below
        extent = float((points.max(axis=1, keepdims=True) - low).max())
    if not math.isfinite(extent):
        raise FormatError("tasks", None, "the coordinates are too far apart, expected a finite range")
    if extent < STEPS and bool(np.all(np.rint(points) == points)):
        scale = 1.0
    else:
        scale = (STEPS - 1) / extent
    steps: Int64 = np.rint((points - low) * scale).astype(np.int64)
    return steps
