"""Multi-jagged geometric mapping: tasks and nodes are divided in the same way, by their coordinates."""

from __future__ import annotations

from itertools import islice, permutations, product
from typing import ClassVar

import numpy as np

from hopbytes._arrays import Int32, Int64
from hopbytes._frozen import frozen
from hopbytes.algorithms.base import Bounds, Effort, Mapper, mappers
from hopbytes.algorithms.shared.positions import place_geometry, task_coordinates
from hopbytes.algorithms.shared.sequential_assignment import room_for
from hopbytes.algorithms.two_level import nodes_of, place_inside
from hopbytes.algorithms.two_level.node_level import capacity_of, settings_of
from hopbytes.cost.objectives.base import objectives
from hopbytes.errors import UnsupportedError
from hopbytes.machines.network.geometry import occupied
from hopbytes.machines.network.network import Geometry
from hopbytes.model.allocation import Allocation
from hopbytes.model.comm_graph import CommGraph
from hopbytes.util.options import check_types

CUTS = ("multi", "two")


@mappers.register("multi_jagged")
@frozen
class MultiJagged(Mapper):
    """Divide nodes and tasks by coordinates into corresponding slabs, recursively down to single nodes.

    Parameters
    ----------
    tasks : str
        Coordinates of the tasks: a grid such as ``16x16x4``, or a file with the coordinates of one task per
        line. By default they are taken from the pattern (``stencil:``).
    cuts : str
        ``multi`` divides one dimension after the other, each into the number of slabs for which the parts
        become cubes; every slab is divided further on its own (jagged). ``two`` bisects recursively.
    rotations : int
        Number of orders of the dimensions of nodes and tasks that are tried. The order with the fewest
        hop-bytes (or the lowest communication cost if the machine has no routes) is kept. At least 1.

    Raises
    ------
    UnsupportedError
        If tasks or nodes have no coordinates, `cuts` is unknown, or the grid has another number of tasks.

    Notes
    -----
    Deveci, Rajamanickam, Leung, Pedretti, Olivier, Bunde, Çatalyürek, Devine, "Exploiting geometric
    partitioning in task mapping for parallel computers", IPDPS 2014. As in that paper, rings are opened at
    their widest gap before they are divided. Unlike there, nodes and tasks are divided at the same time, and
    a slab gets as many tasks as its nodes hold, so the numbers of parts agree even if counts have no integer
    roots. The tasks of a node are then divided along the levels inside it.
    O(rotations x (n log n x cuts + m)).
    """

    needs_coordinates: ClassVar[bool] = True
    knows_tasks: ClassVar[bool] = True
    tasks: str = ""
    cuts: str = "multi"
    rotations: int = 36

    def __post_init__(self) -> None:
        check_types(self)
        if self.cuts not in CUTS or self.rotations < 1:
            found = f"cuts={self.cuts}, rotations={self.rotations}"
            raise UnsupportedError(
                f"mapper 'multi_jagged': {found}, expected cuts={' or '.join(CUTS)}, rotations >= 1"
            )

    def map(self, graph: CommGraph, where: Allocation, bounds: Bounds, effort: Effort) -> Int32:
        """Return int32[n], the PE of every task."""
        geometry = place_geometry(where, "multi_jagged")
        points = task_coordinates(graph, self.tasks, "multi_jagged")
        if points is None:
            raise UnsupportedError(
                f"mapper 'multi_jagged' needs coordinates of tasks, but {graph.name[:40]!r} has none: give "
                "multi_jagged:tasks=16x16x4 or tasks=FILE with a line per task; 'curve' works without them"
            )
        nodes, share = nodes_of(where), capacity_of(graph, bounds)
        room = np.add.reduceat(room_for(graph, bounds)[nodes.pes], nodes.start[:-1])
        best: tuple[int, Int32] | None = None
        for places, turned in self._rotated(_opened(geometry), points):
            if best is not None and effort.used_up:
                break
            node = matched(places, turned, room, self.cuts)
            worth = _hops(graph, where, nodes.first[node].astype(np.int32))
            effort.spend(graph.m)
            if best is None or worth < best[0]:
                best = worth, node
        assert best is not None
        return place_inside(
            graph, nodes, best[1], share.per_pe, share.loads, settings_of(1, 4), effort.run_control()
        )

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


def _hops(graph: CommGraph, where: Allocation, pe: Int32) -> int:
    name = "hop_bytes" if where.machine.network() is not None else "comm_cost"
    return int(objectives[name]().value(graph, where, pe))


def matched(places: Int64, points: Int64, room: Int64, cuts: str) -> Int32:
    """Divide places (nodes) and points (tasks) in the same way until every part has one place.

    All parts of a round are divided by one sort.

    >>> line = np.array([[0, 1, 2, 3]])
    >>> matched(line, line[:, ::-1], np.ones(4, np.int64), "two").tolist()
    [3, 2, 1, 0]
    """
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
