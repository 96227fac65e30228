"""Renaming units of a machine so that a new mapping agrees with the present one as far as possible."""

from __future__ import annotations

import numpy as np

from hopbytes._arrays import Int32, Int64
from hopbytes.model.allocation import Allocation


def relabel_units(where: Allocation, pe: Int32, home: Int32, caps: Int64) -> Int32:
    """Let units of equal shape change places, from the outermost level inwards, for the most agreement.

    Parameters
    ----------
    where : Allocation
    pe : int32[n]
        A mapping, left as it is.
    home : int32[n]
        Where tasks are now; negative for those that are nowhere.
    caps : int64[k]
        Only units whose PEs have the same caps in the same order change places.

    Returns
    -------
    int32[n]
        On a tree whose units of a level are alike this costs as much communication as `pe`; on other
        machines the caller compares.

    Notes
    -----
    Per group of units one assignment problem (SciPy's Hungarian method) on the number of tasks that
    two units, the new and the present one, have in common: O(n x levels + sum of children cubed).

    Examples
    --------
    >>> import hopbytes as hb
    >>> where = hb.machine("node:2 core:2")
    >>> pe, home = np.array([0, 1, 2, 3], np.int32), np.array([3, 2, 0, 1], np.int32)
    >>> relabel_units(where, pe, home, np.ones(4, np.int64))
    array([3, 2, 0, 1], dtype=int32)
    """
    current: Int32 = pe.copy()
    known = home >= 0
    parents = np.zeros(where.k, np.int32)
    for grouping in where.groups():
        renamed = np.arange(where.k, dtype=np.int32)
        children = int(grouping.max()) + 1
        common = _common(grouping[current[known]], grouping[home[known]], children)
        parent = np.zeros(children, np.int64)
        parent[grouping] = parents
        members = np.split(np.argsort(grouping, kind="stable"), np.cumsum(np.bincount(grouping))[:-1])
        for alike in _alike(members, parent, caps):
            _exchange(alike, members, common, renamed)
        current = renamed[current]
        parents = grouping
    return current


def _common(mine: Int32, theirs: Int32, children: int) -> dict[tuple[int, int], int]:
    """Number of tasks per pair of a new and a present unit."""
    pairs, counts = np.unique(mine.astype(np.int64) * children + theirs, return_counts=True)
    return {(int(p) // children, int(p) % children): int(c) for p, c in zip(pairs, counts, strict=True)}


def _alike(members: list[Int64], parent: Int64, caps: Int64) -> list[list[int]]:
    """Units of one parent whose PEs have the same caps, where there is more than one."""
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
