"""Relabelling of units of a machine for minimum migration between the current and a new mapping."""

from __future__ import annotations

import numpy as np

from hopbytes._arrays import Int32, Int64
from hopbytes.model.allocation import Allocation


def relabel_units(where: Allocation, pe: Int32, current: Int32, caps: Int64) -> Int32:
    """Permute units of equal shape, from the outermost level inwards, to minimize the number of migrations.

    For every group of units an assignment problem is solved (SciPy's Hungarian method). The weight of a pair
    is the number of tasks that a new unit and a current unit have in common.
    O(n x levels + sum of children cubed).

    >>> import hopbytes as hb
    >>> where = hb.allocate("node:2 core:2")
    >>> pe, current = np.array([0, 1, 2, 3], np.int32), np.array([3, 2, 0, 1], np.int32)
    >>> relabel_units(where, pe, current, np.ones(4, np.int64))
    array([3, 2, 0, 1], dtype=int32)
    """
    relabelled: Int32 = pe.copy()
    known = current >= 0
    parents = np.zeros(where.k, np.int32)
    for grouping in where.groups():
        renamed = np.arange(where.k, dtype=np.int32)
        children = int(grouping.max()) + 1
        common = _common(grouping[relabelled[known]], grouping[current[known]], children)
        parent = np.zeros(children, np.int64)
        parent[grouping] = parents
        members = np.split(np.argsort(grouping, kind="stable"), np.cumsum(np.bincount(grouping))[:-1])
        for alike in _alike(members, parent, caps):
            _exchange(alike, members, common, renamed)
        relabelled = renamed[relabelled]
        parents = grouping
    return relabelled


def _common(mine: Int32, theirs: Int32, children: int) -> dict[tuple[int, int], int]:
    """Return the number of common tasks per pair of a new and a current unit."""
    pairs, counts = np.unique(mine.astype(np.int64) * children + theirs, return_counts=True)
    return {(int(p) // children, int(p) % children): int(c) for p, c in zip(pairs, counts, strict=True)}


def _alike(members: list[Int64], parent: Int64, caps: Int64) -> list[list[int]]:
    """Return sets of two or more units of one parent whose PEs have the same maximum loads."""
    found: dict[tuple[int, bytes], list[int]] = {}
    for child, pes in enumerate(members):
        found.setdefault((int(parent[child]), caps[pes].tobytes()), []).append(child)
    return [units for units in found.values() if len(units) > 1]


def _exchange(
    units: list[int], members: list[Int64], common: dict[tuple[int, int], int], renamed: Int32
) -> None:
    from scipy.optimize import linear_sum_assignment

    agreement = np.array([[common.get((mine, theirs), 0) for theirs in units] for mine in units], np.int64)
    if agreement.any():
        rows, columns = linear_sum_assignment(agreement, maximize=True)
        for row, column in zip(rows.tolist(), columns.tolist(), strict=True):
            renamed[members[units[row]]] = members[units[column]]
