"""Exchanges of two tasks, each the best of all."""

from __future__ import annotations

import numpy as np

from hopbytes._arrays import Int32, Int64
from hopbytes.kernels.base import implementation, optional
from hopbytes.kernels.records import Csr

_kernel = implementation("best_swap")


def best_swap(
    csr: Csr, table: Int64, pe: Int32, most: int, flag: Int32 | None = None
) -> tuple[Int32, int]:
    """Repeatedly exchange the PEs of the two tasks with the best gain until no exchange has a gain.

    The start takes O(k m + n^2), and an exchange O(n) for each task whose best partner may have changed. The
    memory is O(n k).

    >>> pairs = Csr(np.array([0, 1, 2, 3, 4]), np.array([2, 3, 0, 1], np.int32), None)
    >>> far = np.array([[0, 1, 9, 9], [1, 0, 9, 9], [9, 9, 0, 1], [9, 9, 1, 0]])
    >>> best_swap(pairs, far, np.arange(4, dtype=np.int32), 9)
    (array([3, 1, 2, 0], dtype=int32), 1)
    """
    indptr, targets, weights = csr
    result = pe.copy()
    flat = np.ascontiguousarray(table, np.int64).ravel()
    if flag is None:
        flag = np.zeros(1, np.int32)
    made = _kernel.best_swap(indptr, targets, optional(weights), flat, len(table), result, most, flag)
    return result, int(made)
