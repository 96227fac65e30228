"""What a :class:`hopbytes.Remapper` begins with, checked."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hopbytes._arrays import Int32, UInt8
from hopbytes.errors import FormatError, InfeasibleError, UnsupportedError
from hopbytes.machines.distances import TableDistance
from hopbytes.model.allocation import Allocation


def is_one_per_pe(pe: Int32, k: int) -> bool:
    """Tell whether every PE holds at most one task."""
    return len(pe) == 0 or int(np.bincount(pe, minlength=k).max()) <= 1


def check_distances(where: Allocation) -> None:
    """Raise UnsupportedError where distances differ by direction, or are not 0 on a PE."""
    distance = where.distance
    if isinstance(distance, TableDistance):
        table = distance.table
        if not np.array_equal(table, table.T) or np.diagonal(table).any():
            what = "a Remapper needs distances that are equal in both directions and 0 on a PE"
            raise UnsupportedError(what)


def usable_pes(pe: Int32, absent: Sequence[int], k: int) -> UInt8:
    """Return uint8[k], the PEs that are in use at the beginning."""
    array = np.array(list(absent), np.int64)
    if len(array) and not 0 <= int(array.min()) <= int(array.max()) < k:
        wrong = int(array[(array < 0) | (array >= k)][0])
        raise FormatError("absent", None, f"PE {wrong}, expected one of 0..{k - 1}")
    usable = np.ones(k, np.uint8)
    usable[array] = 0
    if not usable.any():
        raise InfeasibleError("every PE is absent, expected at least one in use")
    if len(pe) and not usable[pe].all():
        task = int(np.flatnonzero(usable[pe] == 0)[0])
        raise FormatError("mapping", None, f"task {task} is on PE {pe[task]}, which is absent")
    return usable
