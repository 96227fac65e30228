"""The mapper ``curve``: tasks along a space-filling curve through the nodes of a grid."""

from __future__ import annotations

import math
import re
from itertools import islice, permutations, product
from typing import ClassVar

import numpy as np

from hopbytes._arrays import Float64, Int32, Int64
from hopbytes._frozen import frozen
from hopbytes.algorithms.base import Allowed, Bounds, Effort, Mapper, mappers
from hopbytes.algorithms.shared.sequential_assignment import fill_along, room_for
from hopbytes.algorithms.two_level.groups import nodes_of, place_inside
from hopbytes.cost.objectives.comm_cost import objectives
from hopbytes.errors import FormatError, UnsupportedError
from hopbytes.machines.geometry import CURVES, curve_order, geometry_of, occupied
from hopbytes.machines.network import Geometry
from hopbytes.model.allocation import Allocation
from hopbytes.model.comm_graph import CommGraph
from hopbytes.text.open_input import open_stream


@mappers.register("curve")
@frozen
class Curve(Mapper):
    """Order nodes along a space-filling curve; assign tasks in their order, or along the same curve.

    The mapper uses only coordinates and ignores the communication. Nodes that do not belong to the job are
    skipped, so the curve has gaps there. O(n log n + nodes x dimensions x bits).
    """

    needs_coordinates: ClassVar[bool] = True
    knows_tasks: ClassVar[bool] = True
    allowed: ClassVar[Allowed] = {"order": tuple(CURVES)}
    #: the curve: ``hilbert``, ``gray``, ``morton``, ``snake`` or ``row``, see
    #: :func:`hopbytes.machines.geometry.curve_order`.
    order: str = "hilbert"
    #: Coordinates of the tasks: a grid such as ``16x16x4``, or a file with the coordinates of one task per
    #: line. By default they are taken from the pattern (``stencil:``); if it has none, tasks keep their own
    #: order. With ``own`` they keep it in any case.
    tasks: str = ""

    def map(self, graph: CommGraph, where: Allocation, bounds: Bounds, effort: Effort) -> Int32:
        nodes = nodes_of(where)
        along = curve_order(place_geometry(where, "curve").places, self.order)
        pes = np.concatenate([nodes.pes[nodes.start[place] : nodes.start[place + 1]] for place in along])
        points = None if self.tasks == "own" else task_coordinates(graph, self.tasks, "curve")
        order = np.arange(graph.n) if points is None else curve_order(points, self.order)
        return fill_along(graph, bounds, pes, order)


@mappers.register("multi_jagged")
@frozen
class MultiJagged(Mapper):
    """Divide nodes and tasks by coordinates into corresponding slabs, recursively down to single nodes.

    Deveci, Rajamanickam, Leung, Pedretti, Olivier, Bunde, Çatalyürek, Devine, "Exploiting geometric
    partitioning in task mapping for parallel computers", IPDPS 2014. As in that paper, rings are opened at
    their widest gap before they are divided. Unlike there, nodes and tasks are divided at the same time, and
    a slab gets as many tasks as its nodes hold, so the numbers of parts agree even if counts have no integer
    roots. The tasks of a node are then divided along the levels inside it.
    O(rotations x (n log n x cuts + m)).
    """

    needs_coordinates: ClassVar[bool] = True
    knows_tasks: ClassVar[bool] = True
    allowed: ClassVar[Allowed] = {
        "cuts": ("multi", "two"), "rotations": range(1, 2**31),
    }  # fmt: skip
    #: Coordinates of the tasks: a grid such as ``16x16x4``, or a file with the coordinates of one task per
    #: line. By default they are taken from the pattern (``stencil:``).
    tasks: str = ""
    #: ``multi`` divides one dimension after the other, each into the number of slabs for which the parts
    #: become cubes; every slab is divided further on its own (jagged). ``two`` bisects recursively.
    cuts: str = "multi"
    #: Number of orders of the dimensions of nodes and tasks that are tried. The order with the fewest hop-
    #: bytes (or the lowest communication cost if the machine has no routes) is kept. At least 1.
    rotations: int = 36

    def map(self, graph: CommGraph, where: Allocation, bounds: Bounds, effort: Effort) -> Int32:
        geometry = place_geometry(where, "multi_jagged")
        points = task_coordinates(graph, self.tasks, "multi_jagged")
        if points is None:
            raise UnsupportedError(
                f"mapper 'multi_jagged' needs coordinates of tasks, but {graph.name[:40]!r} has none: give "
                "multi_jagged:tasks=16x16x4 or tasks=FILE with a line per task; 'curve' works without them"
            )
        nodes = nodes_of(where)
        room = np.add.reduceat(room_for(graph, bounds)[nodes.pes], nodes.start[:-1])
        judge = objectives["comm_cost" if where.machine.network() is None else "hop_bytes"]()
        best: tuple[int, Int32] | None = None
        for places, turned in self._rotated(_opened(geometry), points):
            if best is not None and effort.used_up:
                break
            node = matched(places, turned, room, self.cuts)
            worth = int(judge.value(graph, where, nodes.first[node].astype(np.int32)))
            effort.spend(graph.m)
            if best is None or worth < best[0]:
                best = worth, node
        assert best is not None
        return place_inside(graph, nodes, best[1], bounds, effort)

    def _rotated(self, places: Int64, points: Int64) -> list[tuple[Int64, Int64]]:
        """Return the coordinates with permuted dimensions, beginning with the given order."""
        orders = product(permutations(range(len(points))), permutations(range(len(places))))
        chosen = islice(orders, self.rotations)
        return [(places[list(of_places)], points[list(of_points)]) for of_points, of_places in chosen]


def _opened(geometry: Geometry) -> Int64:
    """Return coordinates that are counted from the end of the widest gap of every ring."""
    rows = []
    for row, size, ring in zip(geometry.places, geometry.sizes, geometry.wrapped, strict=True):
        start, _ = occupied(row, size, ring)
        rows.append((row - start) % size)
    return np.stack(rows)


def matched(places: Int64, points: Int64, room: Int64, cuts: str) -> Int32:
    """Divide places (nodes) and points (tasks) in the same way until every part has one place."""
    order_p, order_t = np.arange(places.shape[1]), np.arange(points.shape[1])
    starts_p = starts_t = np.zeros(1, np.int64)
    ends_p = np.array([len(order_p)])
    depth = 0
    while int((ends_p - starts_p).max(initial=0)) > 1:
        order_p = _sorted(places[depth % len(places)], order_p, starts_p)
        order_t = _sorted(points[depth % len(points)], order_t, starts_t)
        starts_p = _slabs(starts_p, ends_p, max(1, len(places) - depth) if cuts == "multi" else 0)
        ends_p = np.append(starts_p[1:], len(order_p))
        filled = np.concatenate([[0], np.cumsum(room[order_p])])
        starts_t = filled[starts_p]
        depth += 1
    node = np.empty(points.shape[1], np.int32)
    node[order_t] = np.repeat(order_p, room[order_p])
    return node


def _sorted(coordinate: Int64, order: Int64, starts: Int64) -> Int64:
    """Sort every part by a coordinate; equal ones keep their order."""
    part = np.searchsorted(starts, np.arange(len(order)), side="right")
    return order[np.lexsort((coordinate[order], part))]


def _slabs(starts: Int64, ends: Int64, dimensions: int) -> Int64:
    """Return the slab starts of every part: two slabs if `dimensions` is 0, else the root of its size."""
    found = []
    for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
        count = end - start
        ways = min(count, 2 if dimensions == 0 else max(1, round(count ** (1 / dimensions))))
        found.append(start + np.arange(ways) * count // ways)
    return np.concatenate(found).astype(np.int64)


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
