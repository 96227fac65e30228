"""The reverse Cuthill-McKee order of a graph, in which neighbours have close numbers."""

from __future__ import annotations

import numpy as np

from hopbytes._arrays import Int32
from hopbytes.kernels.records import Csr


def reverse_cuthill_mckee(csr: Csr) -> Int32:
    """Return int32[n], the vertices in reverse Cuthill-McKee order, computed by SciPy.

    Parameters
    ----------
    csr : Csr
        Symmetric, with fewer than 2^31 arcs, because SciPy's row pointers have 32 bits.

    Notes
    -----
    Cuthill and McKee, 1969: breadth-first searches from vertices far from the center, which visit
    neighbours of small degree first. Weights are ignored. O(n log n + m).

    Examples
    --------
    >>> path = Csr(np.array([0, 2, 3, 4]), np.array([1, 2, 0, 0], np.int32), None)  # 1 - 0 - 2
    >>> reverse_cuthill_mckee(path).tolist()
    [2, 0, 1]
    """
    from scipy.sparse import csgraph, csr_array

    n = len(csr.indptr) - 1
    ones = np.ones(len(csr.targets), np.int8)
    pattern = csr_array((ones, csr.targets, csr.indptr.astype(np.int32)), shape=(n, n))
    order: Int32 = csgraph.reverse_cuthill_mckee(pattern, symmetric_mode=True).astype(np.int32)
    return order
