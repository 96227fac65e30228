"""What searches work on in place of times: a weight per arc and a distance per level."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hopbytes.model.allocation import Allocation
from hopbytes.model.comm_graph import CommGraph

#: Units of time are powers of ten of a second, as fine as sums below 2**62 allow, but not finer than this.
FINEST = 18
#: In the search form the sum of weights and the largest distance stay below these, and J below 2**63.
SEARCH_WEIGHT, SEARCH_DISTANCE = 2**40, 2**20


@dataclass(frozen=True, slots=True)
class SearchForm:
    """What searches work on: one weight per arc, one distance per level, and how far their product is off.

    Parameters
    ----------
    graph : CommGraph
    where : Allocation
    error : float
        0 where the product is exact.
    """

    graph: CommGraph
    where: Allocation
    error: float


def exponent_for(graph: CommGraph, latency: float, per_byte: float) -> int:
    """Return e such that 10**-e seconds are a unit fine enough, in which the whole pattern stays below 2**62.

    `latency` and `per_byte` are the seconds of the slowest way a message or a byte can go.
    """
    most = int(graph.arc_messages().sum()) * latency + graph.total_volume * per_byte
    return FINEST if most <= 0 else min(FINEST, math.floor(math.log10(2**62 / most)))


def nearest_product(
    graph: CommGraph, terms: list[tuple[float, float]], longest: list[int]
) -> tuple[CommGraph, list[int], float]:
    """Return the graph with one weight per arc, a distance per row of `terms`, and the relative error.

    Parameters
    ----------
    graph : CommGraph
    terms : list of (latency, per byte)
        Of each level, or of a hop.
    longest : list of int
        How many times that distance can be met between two PEs: hops, 1 for levels.
    """
    messages, volumes = graph.arc_messages(), graph.arc_volumes()
    totals = max(1, int(messages.sum())), max(1, int(volumes.sum()))
    table = np.array([(totals[0] * latency, totals[1] * per_byte) for latency, per_byte in terms], float)
    rows, shares, error = _product(table)
    weights = shares[0] * (messages / totals[0]) + shares[1] * (volumes / totals[1])
    whole = float(weights.sum())
    scaled = np.rint(weights * (SEARCH_WEIGHT / whole)).astype(np.int64) if whole > 0 else volumes.copy()
    seen = dataclasses.replace(
        graph,
        volumes=np.where((scaled == 0) & (weights > 0), 1, scaled),
        undirected=graph.undirected and graph.messages is None,
    )
    largest = max((row * most for row, most in zip(rows, longest, strict=True)), default=0.0)
    scale = SEARCH_DISTANCE / largest if largest > 0 else 0.0
    return seen, [max(1, round(row * scale)) for row in rows], error


def _product(terms: NDArray[np.float64]) -> tuple[list[float], list[float], float]:
    """Factors of rows and shares of columns whose product is nearest to `terms` (levels x 2), its error."""
    if not len(terms) or not terms.any():
        return [1.0] * len(terms), [0.5, 0.5], 0.0
    left, sizes, right = np.linalg.svd(terms, full_matrices=False)
    second = float(sizes[1]) if len(sizes) > 1 else 0.0
    return np.abs(left[:, 0]).tolist(), np.abs(right[0]).tolist(), second / float(sizes[0])
