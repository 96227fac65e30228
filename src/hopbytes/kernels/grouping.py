"""Grouping of objects into groups of equal size with little weight between them."""

from __future__ import annotations

import numpy as np

from hopbytes._arrays import Int32
from hopbytes.kernels.base import kernel, optional
from hopbytes.kernels.records import Csr

#: Names of the heuristics, in the order in which they are tried; of equally good groupings the first one
#: wins.
HEURISTICS = (
    "packed", "smallest_first", "largest_last", "weighted_degree",
    "heaviest_edge", "least_degree", "in_order", "exact",
)  # fmt: skip


def group_objects(
    csr: Csr, arity: int, *, list_up_to: int = 30_000, credit: int = 1
) -> tuple[Int32, str]:
    """Form groups of `arity` of p objects so that the weight between groups is small.

    If groups are listed, the time is O(C(p, arity) · (arity + log p)) plus a bounded search. With up to 12
    objects O(3^p) is added, and the grouping is optimal ("exact" if the heuristics did not find it).
    Otherwise the time is O(m log p) plus, per object, as many steps as its group has neighbours.

    >>> pairs = np.array([0, 1, 2, 3, 4]), np.array([2, 3, 0, 1], np.int32), None
    >>> group_objects(pairs, 2)
    (array([0, 1, 0, 1], dtype=int32), 'smallest_first')
    """
    indptr, targets, weights = csr
    group = np.empty(len(indptr) - 1, np.int32)
    which = kernel.group_objects(indptr, targets, optional(weights), arity, list_up_to, credit, group)
    return group, HEURISTICS[int(which)]
