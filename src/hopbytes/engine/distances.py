"""Distances in the form that compiled searches take, scaled down if sums could overflow."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hopbytes._arrays import Int64, UInt64
from hopbytes.engine.control import excess_bits, rescale_to_63_bits
from hopbytes.kernels.records import Distances

#: Position of the largest distance in a packed network (``NetworkDistance`` in core/graph/distance.hpp).
LARGEST = 4


class Prepared(NamedTuple):
    """The arguments of a compiled search.

    `weights` are int64[m] or None, scaled by :func:`hopbytes.engine.rescale_to_63_bits`. `arrays` are labels,
    bit costs and table. `scale` are the distances that determine the scaling.
    """

    weights: Int64 | None
    arrays: tuple[UInt64, Int64, Int64]
    scale: Int64 | None


def prepare(weights: Int64 | None, arcs: int, distances: Distances, threads: int = 1) -> Prepared:
    """Convert distances to the form that compiled code takes."""
    labels, bit_costs, table = distances
    nobody, nothing = np.empty(0, np.uint64), np.empty(0, np.int64)
    if labels is not None and table is not None:
        scale = table[LARGEST : LARGEST + 1]
        _, shift = excess_bits(weights, arcs, scale, threads)
        if weights is not None and shift:
            weights = np.maximum(weights >> shift, 1)
        return Prepared(weights, (labels, np.zeros(65, np.int64), table), scale)
    given = bit_costs if table is None else table
    seen, near = rescale_to_63_bits(weights, arcs, given, threads)
    if table is not None:
        return Prepared(seen, (nobody, np.zeros(65, np.int64), nothing if near is None else near), given)
    costs = np.zeros(65, np.int64) if near is None else near
    return Prepared(seen, (nobody if labels is None else labels, costs, nothing), given)
