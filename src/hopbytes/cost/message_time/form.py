"""Approximation of message times by the product of a weight per arc and a distance per level.

Searches minimize sums of weight times distance; a time has a second term, the latency of each message.
"""

from __future__ import annotations

import dataclasses
import math

import numpy as np

from hopbytes._arrays import Float64
from hopbytes._frozen import frozen
from hopbytes.model.allocation import Allocation
from hopbytes.model.comm_graph import CommGraph

#: Largest exponent of the unit 10**-exponent seconds; sums below 2**62 may require a coarser unit.
FINEST = 18
#: Bounds of the sum of weights and of the largest distance in the search form; they keep J below 2**63.
SEARCH_WEIGHT, SEARCH_DISTANCE = 2**40, 2**20


@frozen
class SearchForm:
    """Pattern and allocation on which J approximates the message time, with the error of the approximation.
    """

    graph: CommGraph  # the pattern with one weight per arc as its volumes
    where: Allocation  # the allocation with one distance per level or hop
    error: float  # relative error of the product; 0 if it is exact


def exponent_for(graph: CommGraph, latency: float, per_byte: float) -> int:
    """Return the largest e for which the total time in units of 10**-e seconds stays below 2**62.

    `latency` and `per_byte` are the seconds of a message and of a byte on the slowest route.
    """
    most = int(graph.arc_messages().sum()) * latency + graph.total_volume * per_byte
    return FINEST if most <= 0 else min(FINEST, math.floor(math.log10(2**62 / most)))


def nearest_product(
    graph: CommGraph, terms: list[tuple[float, float]], longest: list[int]
) -> tuple[CommGraph, list[int], float]:
    """Return the graph with one weight per arc, a distance per row of `terms`, and the relative error."""
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


def _product(terms: Float64) -> tuple[list[float], list[float], float]:
    """Return the rank-one approximation of `terms` (levels x 2): row factors, column factors, error."""
    if not len(terms) or not terms.any():
        return [1.0] * len(terms), [0.5, 0.5], 0.0
    left, sizes, right = np.linalg.svd(terms, full_matrices=False)
    second = float(sizes[1]) if len(sizes) > 1 else 0.0
    return np.abs(left[:, 0]).tolist(), np.abs(right[0]).tolist(), second / float(sizes[0])
