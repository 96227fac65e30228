"""Halos on grids, all-to-all inside groups, butterflies, transpositions, random patterns with a hierarchy."""

from __future__ import annotations

import dataclasses
import random
from itertools import product
from typing import ClassVar

import numpy as np

from hopbytes._frozen import frozen
from hopbytes.model.comm_graph import CommGraph
from hopbytes.patterns.base import (
    MAX_TASKS,
    MAX_VOLUME,
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
    """Halo exchange: every task of a grid sends to its neighbours."""
    # On a periodic axis of two tasks both neighbours of a task are the same task, so its volume counts twice.
    # O(tasks x points).

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


@patterns.register("alltoall")
@frozen
class AllToAll(Pattern):
    """All-to-all inside sub-communicators: every task sends to all other tasks of its group."""

    tasks: int = 64  #: number of tasks
    groups: int = 1  #: number of groups of equal size; 1 is one group of all tasks
    #: ``consecutive``: a group is a range of tasks (rows of a process grid); ``strided``: a group has every
    #: `groups`-th task (columns)
    members: str = "consecutive"
    bytes: int = 65536  #: volume of each arc

    def graph(self) -> CommGraph:
        if not 1 <= self.tasks <= MAX_TASKS:
            raise invalid_parameter(self, f"tasks={self.tasks}, expected 1 to {MAX_TASKS}")
        if not self.groups or self.tasks % self.groups:
            what = f"groups={self.groups}, expected a divisor of the {self.tasks} tasks"
            raise invalid_parameter(self, what)
        if self.members not in ("consecutive", "strided"):
            raise invalid_parameter(self, f"members={self.members}, expected consecutive or strided")
        size = self.tasks // self.groups
        check_arcs(self, self.tasks * size)
        tasks = np.arange(self.tasks)
        group = tasks.reshape(self.groups, size)
        if self.members == "strided":
            group = tasks.reshape(size, self.groups).T
        sources = np.repeat(group, size, axis=1).ravel()
        targets = np.tile(group, (1, size)).ravel()
        return build_graph(self, self.tasks, [uniform_arcs(sources, targets, self.bytes)])


@patterns.register("butterfly")
@frozen
class Butterfly(Pattern):
    """Butterfly: in stage s every task exchanges data with the task whose number differs in bit s."""

    tasks: int = 64  #: number of tasks, a power of two
    #: ``same``: `bytes` in every stage (recursive doubling, fast Fourier transforms); ``halving``: the volume
    #: halves with every stage from bit 0 on (recursive halving of a reduce-scatter); ``doubling``: it doubles
    #: up to `bytes` in the last stage
    volume: str = "same"
    bytes: int = 65536  #: volume of each arc in the stage with the largest volume

    def graph(self) -> CommGraph:
        if not 1 <= self.tasks <= MAX_TASKS or self.tasks & (self.tasks - 1):
            raise invalid_parameter(self, f"tasks={self.tasks}, expected a power of two up to {MAX_TASKS}")
        stages = self.tasks.bit_length() - 1
        shifts = {"same": [0] * stages, "halving": range(stages), "doubling": range(stages)[::-1]}
        if self.volume not in shifts:
            raise invalid_parameter(self, f"volume={self.volume}, expected same, halving or doubling")
        check_arcs(self, self.tasks * stages)
        tasks = np.arange(self.tasks)
        kinds = [
            uniform_arcs(tasks, tasks ^ (1 << stage), self.bytes >> shift)
            for stage, shift in enumerate(shifts[self.volume])
        ]
        return build_graph(self, self.tasks, kinds)


@patterns.register("transpose")
@frozen
class Transpose(Pattern):
    """Transposition of a matrix with a block per task: row i, column j sends to row j, column i."""

    #: rows and columns of the grid, ``8x8``; the transposed grid has as many rows as this one has columns
    dims: str = "8x8"
    bytes: int = 65536  #: volume of each arc

    def graph(self) -> CommGraph:
        rows, columns = dimensions(self, self.dims, most=2, least=2)
        tasks = np.arange(rows * columns)
        targets = tasks % columns * rows + tasks // columns
        return build_graph(self, len(tasks), [uniform_arcs(tasks, targets, self.bytes)])


MOST_LEVELS = 8


@patterns.register("hierarchical")
@frozen
class Hierarchical(Pattern):
    """Random volumes with a hierarchy: the closer two tasks are in a hidden tree, the larger their volume."""
    # The matrices are like those of Jeannot and Mercier (Euro-Par 2010, section 5.1): dense and symmetric.
    # All random numbers come from Python's Mersenne Twister, whose ``random()`` is the same in every version.

    #: children per level of the hidden tree, outermost first: ``4x2x4`` are 4 groups of 2 groups of 4
    dims: str = "4x4"
    bytes: int = 1_000_000  #: smallest volume between two tasks of an innermost group
    #: factor by which the smallest volume decreases with every outer level, but never below 1 byte
    factor: int = 10
    #: volumes are uniformly distributed between the smallest one of their level and `spread` per cent more
    spread: int = 50
    #: number the tasks at random, so that the numbers contain no information about the tree
    shuffle: bool = True
    seed: int = 0  #: seed of the random numbers

    def graph(self) -> CommGraph:
        sizes = dimensions(self, self.dims, most=MOST_LEVELS)
        if self.factor < 1:
            raise invalid_parameter(self, f"factor={self.factor}, expected an integer >= 1")
        n = int(np.prod(sizes))
        check_arcs(self, n * n)
        source = random.Random(self.seed)
        first, second = np.triu_indices(n, 1)
        # The smallest volume of a pair, by the outermost level at which it differs.
        least = [max(1, self.bytes // self.factor**up) for up in range(len(sizes))][::-1]
        ends = np.array(np.unravel_index(first, sizes)), np.array(np.unravel_index(second, sizes))
        low = np.array(least, np.int64)[np.argmax(ends[0] != ends[1], axis=0)]
        if int(low.max(initial=0)) > MAX_VOLUME // (100 + self.spread):
            what = f"bytes={self.bytes} with spread={self.spread}, expected volumes up to {MAX_VOLUME}"
            raise invalid_parameter(self, what)
        parts = np.array([source.random() for _ in range(len(first))])
        volumes = low + np.floor(parts * (low * self.spread // 100 + 1)).astype(np.int64)
        if self.shuffle:
            number = np.argsort([source.random() for _ in range(n)], kind="stable")
            first, second = number[first], number[second]
        both = (np.concatenate([first, second]), np.concatenate([second, first]))
        twice = np.concatenate([volumes, volumes])
        return build_graph(self, n, [Arcs(*both, twice, np.ones(len(twice), np.int64))])
