"""Cuts of earlier mappings, which multisection uses as candidates."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hopbytes._arrays import Int32
from hopbytes.algorithms.base import Effort
from hopbytes.algorithms.multisection.cut_level import Level
from hopbytes.engine import SearchProblem, VertexGroups
from hopbytes.model.capacities import group_sums


class WarmStart:
    """The cuts of earlier mappings for the groups of tasks that multisection divides.

    At the outermost level every mapping provides a cut. At inner levels it provides a cut for every group
    that consists of the same tasks as one of its own groups. Multisection adopts or improves such a cut, so
    it never returns a worse one.
    """

    def __init__(self, levels: list[Level], mappings: Sequence[Int32]) -> None:
        self._levels, self._mappings = levels, mappings

    def renumbered(self, members: Int32) -> WarmStart:
        """Return the same cuts for tasks in the order `members`."""
        return WarmStart(self._levels, [pe[members] for pe in self._mappings])

    def stop(self) -> None:
        """Do nothing, because candidates are available at once."""

    def candidates(
        self, problem: SearchProblem, groups: VertexGroups, depth: int, effort: Effort
    ) -> Int32 | None:
        """Return int32[c, n], the child of each task in its group, negative if there is no such cut."""
        group = groups.group
        rows = [self._row(group, pe, depth) for pe in self._mappings]
        return np.array([row for row in rows if row.max(initial=-1) >= 0], np.int32).reshape(-1, len(group))

    def _row(self, group: Int32, pe: Int32, depth: int) -> Int32:
        level, count = self._levels[depth], self._levels[depth].groups
        inside = np.zeros_like(pe) if depth == 0 else self._levels[depth - 1].child_of_pe[pe]
        lowest, highest = np.full(count, count), np.full(count, -1)
        np.minimum.at(lowest, group, inside)
        np.maximum.at(highest, group, inside)
        alike = lowest == highest
        counterpart = np.where(alike, lowest, 0)
        children = np.diff(level.start)
        alike &= group_sums(group, None, count) == group_sums(inside, None, count)[counterpart]
        alike &= children == children[counterpart]
        child = level.child_of_pe[pe] - level.start[inside]
        row: Int32 = np.where(alike[group], child, -1).astype(np.int32)
        return row
