"""Space-filling curves through boxes of any dimension."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

Int64 = NDArray[np.int64]


@lru_cache(maxsize=8)
def hilbert_order(sizes: tuple[int, ...]) -> Int64:
    """int64[product of sizes]: cells of a box (last coordinate fastest) in the order of a Hilbert curve.

    The curve fills the smallest cube of 2^b cells a side; cells outside the box are skipped, so on boxes
    that are no such cube it jumps now and then.

    Notes
    -----
    O(cells x dimensions x bits). Source: Skilling, "Programming the Hilbert curve", AIP Conference
    Proceedings 707 (2004).

    Examples
    --------
    >>> hilbert_order((2, 2)).tolist()
    [0, 1, 3, 2]
    """
    dimensions = len(sizes)
    bits = max(1, (max(sizes) - 1).bit_length())
    cells = int(np.prod(sizes, dtype=np.int64))
    axis = [np.asarray(row, np.int64).copy() for row in np.unravel_index(np.arange(cells), sizes)]
    # From coordinates to the transposed index: undo the rotations of every level, then Gray decode.
    for level in range(bits - 1, 0, -1):
        high = np.int64(1) << level
        low = high - 1
        for d in range(dimensions):
            flips = (axis[d] & high) != 0
            swap = np.where(flips, 0, (axis[0] ^ axis[d]) & low)
            axis[0] = np.where(flips, axis[0] ^ low, axis[0] ^ swap)
            axis[d] = axis[d] ^ swap
    for d in range(1, dimensions):
        axis[d] ^= axis[d - 1]
    turn = np.zeros(cells, np.int64)
    for level in range(bits - 1, 0, -1):
        high = np.int64(1) << level
        turn = np.where((axis[-1] & high) != 0, turn ^ (high - 1), turn)
    keys: list[Int64] = []  # digit by digit, outermost level first
    for level in range(bits - 1, -1, -1):
        digit = np.zeros(cells, np.int64)
        for d in range(dimensions):
            digit = digit << 1 | ((axis[d] ^ turn) >> level & 1)
        keys.append(digit)
    order = np.lexsort(keys[::-1]).astype(np.int64)
    order.setflags(write=False)
    return order
