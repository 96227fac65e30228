"""All-to-all inside groups of tasks."""

from __future__ import annotations

import numpy as np

from hopbytes._frozen import frozen
from hopbytes.model.comm_graph import CommGraph
from hopbytes.patterns.base import (
    MAX_TASKS,
    Pattern,
    build_graph,
    check_arcs,
    invalid_parameter,
    patterns,
    uniform_arcs,
)


@patterns.register("alltoall")
@frozen
class AllToAll(Pattern):
    """All-to-all inside sub-communicators: every task sends to all other tasks of its group.

    Parameters
    ----------
    tasks : int
        Number of tasks.
    groups : int
        Number of groups of equal size; 1 is one group of all tasks.
    members : str
        ``consecutive``: a group is a range of tasks (rows of a process grid); ``strided``: a group has every
        `groups`-th task (columns).
    bytes : int
        Volume of each arc.

    Examples
    --------
    >>> from hopbytes.patterns.base import pattern
    >>> graph = pattern("alltoall:6:groups=3:members=strided")
    >>> graph.m, graph.targets[:2].tolist()
    (6, [3, 4])
    """

    tasks: int = 64
    groups: int = 1
    members: str = "consecutive"
    bytes: int = 65536

    def graph(self) -> CommGraph:
        """Return the pattern; O(arcs)."""
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
