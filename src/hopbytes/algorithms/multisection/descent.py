"""From the whole graph to single PEs: each level divides all of its groups in one compiled call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np

from hopbytes._arrays import Int32
from hopbytes.algorithms.base import Effort
from hopbytes.algorithms.multisection.hierarchy import Level, Subproblem, group_seeds
from hopbytes.engine import PartitionSettings, SearchProblem, VertexGroups, partition_many
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


#: The effort for cuts of a level, by the share of the cost that it determines and by what was spent.
Settings = Callable[[float, Effort], PartitionSettings]


class Candidates(Protocol):
    """What offers cuts that compete with those of the engine: earlier mappings or external partitioners."""

    def candidates(
        self, problem: SearchProblem, groups: VertexGroups, depth: int, effort: Effort
    ) -> Int32 | None:
        """Return int32[c, n], the child of each task in its group, negative if there is no such cut."""

    def stop(self) -> None:
        """Let all threads that wait for candidates continue without them."""


def descend(
    subproblem: Subproblem, levels: list[Level], each: int, exact: bool, effort: Effort,
    settings: Settings, outside: Candidates | None = None, group: Int32 | None = None,
) -> Int32:
    """Return the group of the last of `levels` that holds each task of a subproblem.

    `each` is the number of arcs that an edge represents; `settings` gives the effort for a level by its share
    of the cost; `group` is the known group of every task at ``levels[subproblem.depth]``, None if all tasks
    are in the group of the subproblem.
    """
    csr, cost = subproblem.csr, 0
    low, high = subproblem.group, subproblem.group + 1  # groups are counted from the first one inside
    if group is None:
        group = np.zeros(subproblem.n, np.int32)
    else:
        low, high = 0, levels[subproblem.depth].groups
    for depth in range(subproblem.depth, len(levels)):
        if isinstance(outside, WarmStart) and effort.out_of_time:  # a known mapping is the result
            effort.count(cut_short=1)
            break
        level, count = levels[depth], high - low
        first, beyond = int(level.start[low]), int(level.start[high])
        start = level.start[low : high + 1] - first
        prices = level.linear_cost(subproblem.linear_cost, group, low, each)
        loads = group_sums(group, subproblem.loads, count, effort.threads)
        problem = SearchProblem(csr, subproblem.loads, linear_cost=prices)
        groups = VertexGroups(
            group, start, level.caps(loads, low, exact=exact),
            group_seeds(effort.seed, depth, level.groups)[low:high],
        )
        others = None if outside is None else outside.candidates(problem, groups, depth, effort)
        child, cut = partition_many(
            problem, groups, settings(level.share, effort), candidates=others,
            control=effort.run_control(
                effort.watch(f"level {depth + 1} of {len(levels)}, J {cost:,}", count)
            ),
        )
        cost += each * level.distance * int(cut.sum())
        effort.count(cuts=count)
        group = child if count == 1 else taken(start.astype(np.int32), group) + child
        low, high = first, beyond
    return group if low == 0 else group + np.int32(low)


def taken(values: Int32, places: Int32) -> Int32:
    """Return int32[n], ``values[places]`` for places that exist; the places themselves if values count up."""
    if np.array_equal(values, np.arange(len(values))):
        return places
    found: Int32 = values.take(places, mode="clip")  # which saves a copy
    return found
