"""All-to-all inside groups, butterflies and transpositions."""

from __future__ import annotations

import numpy as np

from hopbytes._frozen import frozen
from hopbytes.model.comm_graph import CommGraph
from hopbytes.patterns.base import (
    MAX_TASKS,
    Pattern,
    build_graph,
    check_arcs,
    dimensions,
    invalid_parameter,
    patterns,
    uniform_arcs,
)


@patterns.register("alltoall")
@frozen
class AllToAll(Pattern):
    """All-to-all inside sub-communicators: every task sends to all other tasks of its group.

    >>> from hopbytes.patterns.base import pattern
    >>> graph = pattern("alltoall:6:groups=3:members=strided")
    >>> graph.m, graph.targets[:2].tolist()
    (6, [3, 4])
    """

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
    """Butterfly: in stage s every task exchanges data with the task whose number differs in bit s.

    >>> from hopbytes.patterns.base import pattern
    >>> pattern("butterfly:8:volume=halving:bytes=400").volumes[:3].tolist()
    [400, 200, 100]
    """

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
    """Transposition of a matrix with a block per task: row i, column j sends to row j, column i.

    >>> from hopbytes.patterns.base import pattern
    >>> graph = pattern("transpose:2x3")
    >>> graph.sources().tolist(), graph.targets.tolist()
    ([1, 2, 3, 4], [2, 4, 1, 3])
    """

    #: rows and columns of the grid, ``8x8``; the transposed grid has as many rows as this one has columns
    dims: str = "8x8"
    bytes: int = 65536  #: volume of each arc

    def graph(self) -> CommGraph:
        rows, columns = dimensions(self, self.dims, most=2, least=2)
        tasks = np.arange(rows * columns)
        targets = tasks % columns * rows + tasks // columns
        return build_graph(self, len(tasks), [uniform_arcs(tasks, targets, self.bytes)])
