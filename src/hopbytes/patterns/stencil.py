"""Halo exchange on grids of tasks."""

from __future__ import annotations

import dataclasses
from itertools import product
from typing import ClassVar

import numpy as np

from hopbytes._frozen import frozen
from hopbytes.model.comm_graph import CommGraph
from hopbytes.patterns.base import (
    Arcs,
    Pattern,
    build_graph,
    check_arcs,
    dimensions,
    invalid_parameter,
    patterns,
    uniform_arcs,
)

#: Largest number of axes in which neighbours differ, by dimensions of the grid and points of the stencil.
_AXES_AT_ONCE = {(1, 3): 1, (2, 5): 1, (2, 9): 2, (3, 7): 1, (3, 15): 3, (3, 27): 3}
_DEFAULT_POINTS = {1: 3, 2: 5, 3: 7}


@patterns.register("stencil")
@frozen
class Stencil(Pattern):
    """Halo exchange: every task of a grid sends to its neighbours.

    On a periodic axis of two tasks both neighbours of a task are the same task, so its volume counts twice.
    O(tasks x points).

    >>> from hopbytes.patterns.base import pattern
    >>> pattern("stencil:4x4").m, pattern("stencil:4x4:periodic=xy").m, pattern("stencil:3x3x3:points=27").m
    (48, 64, 316)
    """

    of_processes: ClassVar[bool] = False  # large grids are meshes to be partitioned, not processes

    #: Tasks along one to three axes, ``16x16x4``. Task numbers ascend along the last axis first.
    dims: str = "8x8"
    #: Points of the stencil, including the task itself: 3 in one dimension, 5 or 9 in two, 7, 15 (faces and
    #: corners) or 27 in three. 0 stands for 3, 5 or 7.
    points: int = 0
    periodic: str = "none"  #: periodic axes, of ``x``, ``y`` and ``z`` in the order of `dims`, or ``none``
    bytes: int = 65536  #: volume of each arc across a face
    #: volume of each arc to neighbours that differ in two and three axes; None: `bytes`
    edge_bytes: int | None = None
    corner_bytes: int | None = None

    def graph(self) -> CommGraph:
        sizes = dimensions(self, self.dims)
        places = np.indices(sizes).reshape(len(sizes), -1)
        offsets = self._offsets(len(sizes))
        check_arcs(self, places.shape[1] * len(offsets))
        closed = self._closed(len(sizes))
        arcs = [self._towards(places, offset, sizes, closed) for offset in offsets]
        graph = build_graph(self, places.shape[1], arcs)
        return dataclasses.replace(graph, meta={**graph.meta, "grid": list(sizes)})

    def _offsets(self, axes: int) -> list[tuple[int, ...]]:
        points = self.points or _DEFAULT_POINTS[axes]
        known = [size for dimension, size in _AXES_AT_ONCE if dimension == axes]
        if points not in known:
            listed = " or ".join(map(str, known))
            raise invalid_parameter(self, f"points={points} in {axes} dimensions, expected {listed}")
        at_once = _AXES_AT_ONCE[axes, points]
        offsets = [offset for offset in product((-1, 0, 1), repeat=axes) if any(offset)]
        # A stencil of 15 points has faces and corners, but not the neighbours across edges.
        skipped = 2 if points == 15 else 0
        return [o for o in offsets if np.count_nonzero(o) <= at_once and np.count_nonzero(o) != skipped]

    def _closed(self, axes: int) -> list[bool]:
        letters = "" if self.periodic == "none" else self.periodic
        known = "xyz"[:axes]
        if not set(letters) <= set(known) or len(set(letters)) < len(letters):
            raise invalid_parameter(self, f"periodic={self.periodic}, expected letters of {known} or none")
        return [letter in letters for letter in known]

    def _towards(
        self, places: np.ndarray, offset: tuple[int, ...], sizes: tuple[int, ...], closed: list[bool]
    ) -> Arcs:
        moved = places + np.array(offset)[:, None]
        inside = np.ones(places.shape[1], bool)
        for axis, size in enumerate(sizes):
            if not closed[axis]:
                inside &= (moved[axis] >= 0) & (moved[axis] < size)
            moved[axis] %= size
        targets = np.ravel_multi_index(tuple(moved), sizes)
        volumes = {2: self.edge_bytes, 3: self.corner_bytes}
        volume = volumes.get(int(np.count_nonzero(offset)))
        return uniform_arcs(np.flatnonzero(inside), targets[inside], self.bytes if volume is None else volume)
