"""Patterns that change batch by batch: a moving front, drifting particles, growth, and lost nodes.

Every scenario yields the arguments of :meth:`hopbytes.Remapper.apply`; volumes are those of each direction
of an undirected pattern.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

import hopbytes as hb
from bench.instances import graphs

#: Arguments of ``Remapper.apply``.
Changes = dict[str, Any]


@dataclass(frozen=True)
class Scenario:
    """A pattern at the beginning, and its batches.

    Parameters
    ----------
    graph : hopbytes.CommGraph
    machine : str
    price : int
        Price of a migration.
    batches : callable
        Called with the number of batches, yields them.
    """

    graph: hb.CommGraph
    machine: str
    price: int
    batches: Callable[[int], Iterator[Changes]]


def _undirected(pairs: dict[tuple[int, int], int], loads: list[int]) -> hb.CommGraph:
    u, v = (np.array([pair[side] for pair in pairs], np.int64) for side in (0, 1))
    w = np.array(list(pairs.values()), np.int64)
    graph = hb.CommGraph.from_edges(
        np.concatenate([u, v]), np.concatenate([v, u]), np.concatenate([w, w]), n=len(loads),
        loads=np.array(loads, np.int64),
    )
    return hb.CommGraph(graph.indptr, graph.targets, graph.volumes, loads=graph.loads, undirected=True)


class _Front:
    """Square cells, of which those near a circle are divided into four; the circle grows and wanders."""

    def __init__(self, side: int) -> None:
        self.side = side
        self.free: list[int] = []
        self.numbers = 0
        self.tasks: dict[tuple[int, int], tuple[int, ...]] = {}
        self.arrived: list[int] = []
        for cell in np.ndindex(side, side):
            self._divide(cell, divided=self._near(cell, 0))

    def _near(self, cell: tuple[int, ...], step: int) -> bool:
        scale = self.side / 64
        centre = (self.side * 0.2 + 0.25 * step * scale, self.side * 0.3 + 0.15 * step * scale)
        away = np.hypot(cell[0] + 0.5 - centre[0], cell[1] + 0.5 - centre[1])
        return bool(abs(away - self.side * 0.18 - 0.1 * step * scale) < self.side / 24)

    def _divide(self, cell: tuple[int, ...], *, divided: bool) -> None:
        wanted = 4 if divided else 1
        numbers = []
        for _ in range(wanted):
            if self.free:
                numbers.append(self.free.pop())
            else:
                numbers.append(self.numbers)
                self.numbers += 1
        self.tasks[cell[0], cell[1]] = tuple(numbers)
        self.arrived += numbers

    def faces(self, cell: tuple[int, int]) -> Iterator[tuple[int, int, int]]:
        """Yield the pairs of tasks in a cell and across its four sides, with the length of their face."""
        own = self.tasks[cell]
        if len(own) == 4:
            yield from ((own[a], own[b], 1) for a, b in ((0, 1), (2, 3), (0, 2), (1, 3)))
        for down, right in ((1, 0), (-1, 0), (0, 1), (0, -1)):
            other = self.tasks.get((cell[0] + down, cell[1] + right))
            if other is None:
                continue
            mine = [2 * (down > 0), 2 * (down > 0) + 1] if down else [right > 0, (right > 0) + 2]
            theirs = [2 * (down < 0), 2 * (down < 0) + 1] if down else [right < 0, (right < 0) + 2]
            if len(own) == len(other) == 1:
                yield own[0], other[0], 2
            else:
                for a, b in zip(mine, theirs, strict=True):
                    yield own[a if len(own) == 4 else 0], other[b if len(other) == 4 else 0], 1

    def graph(self) -> hb.CommGraph:
        pairs = {(min(u, v), max(u, v)): w for cell in self.tasks for u, v, w in self.faces(cell)}
        return _undirected(pairs, [1] * self.numbers)

    def batches(self, count: int) -> Iterator[Changes]:
        for step in range(1, count + 1):
            changed = [
                (cell, near) for cell, tasks in self.tasks.items()
                if (near := self._near(cell, step)) != (len(tasks) == 4)
            ]
            vanished = [task for cell, _ in changed for task in self.tasks[cell]]
            self.arrived = []
            for cell, near in changed:
                self._divide(cell, divided=near)
            edges = [face for cell, _ in changed for face in self.faces(cell)]
            yield {"vanished": vanished, "arrived": self.arrived, "edges": edges}
            self.free += sorted(vanished, reverse=True)


def moving_front(side: int = 80) -> Scenario:
    """A refinement front that moves through a square mesh; tasks are cells."""
    front = _Front(side)
    return Scenario(front.graph(), MACHINE, 40, front.batches)


def drifting_particles(side: int = 20, particles: int = 150_000, seed: int = 1) -> Scenario:
    """Boxes of a cube; a tenth of the particles form a cloud that drifts; loads are particles."""
    rng = np.random.default_rng(seed)
    still = rng.random((particles - particles // 10, 3))
    cloud = 0.25 + 0.07 * rng.standard_normal((particles // 10, 3))
    resting = _boxes(still, side)
    number = np.arange(side**3).reshape(side, side, side)
    u = np.concatenate([np.moveaxis(number, axis, 0)[:-1].ravel() for axis in range(3)])
    v = np.concatenate([np.moveaxis(number, axis, 0)[1:].ravel() for axis in range(3)])

    def volumes(held: np.ndarray) -> np.ndarray:
        return 1 + (held[u] + held[v]) // 4

    def at(step: int) -> np.ndarray:
        return resting + _boxes(cloud + 0.005 * step * np.array([1.0, 0.8, 0.6]), side)

    def batches(count: int) -> Iterator[Changes]:
        before = at(0)
        for step in range(1, count + 1):
            held = at(step)
            boxes, faces = np.flatnonzero(held != before), np.flatnonzero(volumes(held) != volumes(before))
            yield {
                "loads": (boxes, held[boxes]),
                "edges": (u[faces], v[faces], volumes(held)[faces]),
            }
            before = held

    start = at(0)
    pairs = dict(zip(zip(u.tolist(), v.tolist(), strict=True), volumes(start).tolist(), strict=True))
    return Scenario(_undirected(pairs, start.tolist()), MACHINE, 100, batches)


def _boxes(places: np.ndarray, side: int) -> np.ndarray:
    """Return the number of particles per box; those that leave on one side come in on the other."""
    cell = np.floor((places % 1.0) * side).astype(np.int64)
    return np.bincount((cell[:, 0] * side + cell[:, 1]) * side + cell[:, 2], minlength=side**3)


def growing_graph(start: int = 5000, each: int = 50, seed: int = 1) -> Scenario:
    """Points in the unit square that join their five nearest; new ones come around a wandering place."""
    rng = np.random.default_rng(seed)
    places: list[np.ndarray] = []
    grid: dict[tuple[int, int], list[int]] = {}
    width = 0.5 / np.sqrt(start)

    def joined(place: np.ndarray) -> list[tuple[int, int, int]]:
        row, column = (int(each) for each in place // width)
        near: list[int] = []
        for reach in range(1, 12):
            near = [
                other for i in range(row - reach, row + reach + 1)
                for j in range(column - reach, column + reach + 1) for other in grid.get((i, j), ())
            ]
            if len(near) >= 5:
                break
        near.sort(key=lambda other: (float(np.hypot(*(places[other] - place))), other))
        own = len(places)
        places.append(place)
        grid.setdefault((row, column), []).append(own)
        return [(own, other, 1 + rank % 3) for rank, other in enumerate(near[:5])]

    first = [edge for place in rng.random((start, 2)) for edge in joined(place)]

    def batches(count: int) -> Iterator[Changes]:
        for step in range(count):
            angle = 0.06 * step
            centre = 0.5 + 0.3 * np.array([np.cos(angle), np.sin(angle)])
            began = len(places)
            came = (centre + 0.08 * rng.standard_normal((each, 2))) % 1.0
            edges = [edge for place in came for edge in joined(place)]
            yield {"arrived": list(range(began, len(places))), "edges": edges}

    pairs = {(min(u, v), max(u, v)): w for u, v, w in first}
    return Scenario(_undirected(pairs, [1] * start), MACHINE, 40, batches)


def losing_nodes(exponent: int = 13, seed: int = 1) -> Scenario:
    """A geometric graph of which small regions change, on a machine that loses a node now and then."""
    arrays = graphs.random_geometric(exponent, seed)
    source = np.repeat(np.arange(arrays.n), np.diff(arrays.indptr))
    once = source < arrays.targets
    u, v = source[once], arrays.targets[once].astype(np.int64)
    rng = np.random.default_rng(seed)
    pairs = dict(zip(zip(u.tolist(), v.tolist(), strict=True), [4] * len(u), strict=True))

    def batches(count: int) -> Iterator[Changes]:
        lost: list[int] = []
        for step in range(count):
            centre = int(rng.integers(arrays.n))
            region = {centre}
            for _ in range(3):
                rows = [arrays.targets[arrays.indptr[x] : arrays.indptr[x + 1]] for x in sorted(region)]
                region |= set(np.concatenate(rows).tolist())
            members = np.array(sorted(region))
            inside = np.flatnonzero(np.isin(u, members) & np.isin(v, members))
            changes: Changes = {
                "edges": (u[inside], v[inside], np.full(len(inside), int(rng.integers(1, 9)), np.int64))
            }
            if step % 12 == 6:
                node = (step // 12 * 5 + 1) % 16
                lost.append(node)
                changes["lost"] = list(range(4 * node, 4 * node + 4))
            elif step % 12 == 0 and len(lost) > 2:
                node = lost.pop(0)
                changes["restored"] = list(range(4 * node, 4 * node + 4))
            yield changes

    return Scenario(_undirected(pairs, [1] * arrays.n), MACHINE, 40, batches)


MACHINE = "island:4@100 node:4@10 core:4@1"
SCENARIOS: dict[str, Callable[[], Scenario]] = {
    "moving front": moving_front, "drifting particles": drifting_particles, "growing graph": growing_graph,
    "losing nodes": losing_nodes,
}
