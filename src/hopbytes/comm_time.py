"""Time of messages: latency per message and bytes over bandwidth, by the level at which two PEs part."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hopbytes.allocation import Allocation
from hopbytes.errors import UnsupportedError
from hopbytes.graph import CommGraph
from hopbytes.machines.base import Int32, Level, TreeDistance
from hopbytes.objectives.comm_cost import weight_by_level

#: Units of time are powers of ten of a second, as fine as sums below 2**62 allow, but not finer than this.
FINEST = 18
#: In the search form the sum of weights and the largest distance stay below these, and J below 2**63.
SEARCH_WEIGHT, SEARCH_DISTANCE = 2**40, 2**20


@dataclass(frozen=True, slots=True)
class LevelTimes:
    """Integer times per level, as kernels number levels: 0 within a PE, 1 innermost.

    Parameters
    ----------
    latency, per_byte : tuple of int
        Time of a message and of a byte, in units of ``10**-exponent`` seconds.
    exponent : int
    """

    latency: tuple[int, ...]
    per_byte: tuple[int, ...]
    exponent: int

    def seconds(self, time: int) -> float:
        """Seconds of an integer time."""
        return float(time / 10**self.exponent)


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


def knows_times(where: Allocation) -> bool:
    """Tell whether some levels part PEs, and all that do have latency and bandwidth."""
    if not isinstance(where.distance, TreeDistance) or where.k < 2:
        return False
    return not _missing(where)


def level_times(graph: CommGraph, where: Allocation) -> LevelTimes:
    """Return the times of a machine's levels as integers.

    Parameters
    ----------
    graph : CommGraph
        Whose totals say how fine the unit can be.
    where : Allocation

    Raises
    ------
    UnsupportedError
        A machine that is no tree of levels, or levels without latency or bandwidth.

    Examples
    --------
    >>> import hopbytes as hb
    >>> where = hb.machine("node:2@10:bw=1e9:lat=2e-6 core:2@1:bw=1e10:lat=1e-7")
    >>> level_times(hb.CommGraph.from_edges([0], [1], [1000]), where)
    LevelTimes(latency=(0, 100000000000, 2000000000000), per_byte=(0, 100000000, 1000000000), exponent=18)
    """
    if not isinstance(where.distance, TreeDistance):
        raise UnsupportedError(
            f"weight time on '{where.machine.spec()[:60]}', expected a machine of levels with lat and bw each"
        )
    missing = _missing(where)
    if missing:
        raise UnsupportedError(
            f"weight time: no latency or bandwidth of {', '.join(missing)}, expected both of every level "
            "('hopbytes measure' finds them, or node:8@10:lat=2e-6:bw=1e9)"
        )
    rows = _seconds(where)
    messages = int(graph.arc_messages().sum())
    most = messages * max(latency for latency, _ in rows) + graph.total_volume * max(b for _, b in rows)
    exponent = FINEST if most <= 0 else min(FINEST, math.floor(math.log10(2**62 / most)))
    latencies, per_bytes = zip(*rows, strict=True)
    return LevelTimes(
        (0, *(round(value * 10**exponent) for value in latencies)),
        (0, *(round(value * 10**exponent) for value in per_bytes)),
        exponent,
    )


def comm_time(graph: CommGraph, where: Allocation, pe: Int32, times: LevelTimes) -> int:
    """Return the time of all messages, summed, in the unit of `times`: exact integers, O(m).

    Arcs inside a PE take no time. It is the sum, not the time until the last message has arrived.
    """
    distance = where.distance
    assert isinstance(distance, TreeDistance)
    volumes = weight_by_level(graph, graph.volumes, distance, pe)
    messages = weight_by_level(graph, graph.messages, distance, pe)
    return sum(
        latency * count + per_byte * volume
        for latency, count, per_byte, volume in zip(
            times.latency, messages, times.per_byte, volumes, strict=True
        )
    )


def search_form(graph: CommGraph, where: Allocation, times: LevelTimes) -> SearchForm:
    """Return a weight per arc and a distance per level whose product is nearest to the time.

    Parameters
    ----------
    graph : CommGraph
    where : Allocation
        Of levels with times.
    times : LevelTimes

    Notes
    -----
    The time of an arc at level l is ``messages * latency[l] + bytes * per_byte[l]``. When latency and
    byte times grow alike from level to level, this is one weight per arc times one distance per level;
    otherwise the best such product in the sense of least squares is taken, weighing both terms by the
    totals of the pattern (the first singular vectors of a matrix of two columns). O(m + levels).
    """
    messages, volumes = graph.arc_messages(), graph.arc_volumes()
    totals = max(1, int(messages.sum())), max(1, int(volumes.sum()))
    parts = sorted(_levels_in_use(where))
    terms = np.array([(totals[0] * times.latency[n], totals[1] * times.per_byte[n]) for n in parts], float)
    distances, shares, error = _product(terms)
    weights = shares[0] * (messages / totals[0]) + shares[1] * (volumes / totals[1])
    whole = float(weights.sum())
    scaled = np.rint(weights * (SEARCH_WEIGHT / whole)).astype(np.int64) if whole > 0 else volumes.copy()
    seen = dataclasses.replace(
        graph,
        volumes=np.where((scaled == 0) & (weights > 0), 1, scaled),
        undirected=graph.undirected and graph.messages is None,
    )
    machine, inner, replaced = where.machine, 0, {}
    of_level = dict(zip(parts, distances, strict=True))
    for number, level in enumerate(reversed(machine.levels), start=1):
        inner = max(inner, of_level.get(number, 0))
        replaced[level.name] = inner
    outermost_first = dict(reversed(replaced.items()))
    there = dataclasses.replace(where, machine=machine.with_distances(outermost_first))
    return SearchForm(seen, there, error)


def _product(terms: NDArray[np.float64]) -> tuple[list[int], list[float], float]:
    """Distances and shares of both terms whose product is nearest to `terms` (levels x 2), and the error."""
    if not len(terms) or not terms.any():
        return [1] * len(terms), [0.5, 0.5], 0.0
    left, sizes, right = np.linalg.svd(terms, full_matrices=False)
    rows, shares = np.abs(left[:, 0]), np.abs(right[0])
    distances = np.maximum(1, np.rint(rows / rows.max() * SEARCH_DISTANCE)).astype(np.int64)
    second = float(sizes[1]) if len(sizes) > 1 else 0.0
    return distances.tolist(), shares.tolist(), second / float(sizes[0])


def _levels_in_use(where: Allocation) -> set[int]:
    """Levels at which two PEs part; labels ascend, so neighbours show all of them."""
    distance = where.distance
    assert isinstance(distance, TreeDistance)
    widths = (distance.labels[1:] ^ distance.labels[:-1]).tolist()
    return {int(distance.level_of_bit[int(width).bit_length()]) for width in set(widths)}


def _inside_out(where: Allocation) -> Sequence[Level]:
    levels: Sequence[Level] = where.machine.levels
    return levels[::-1]


def _missing(where: Allocation) -> list[str]:
    """Names of levels that part PEs without both values."""
    used = _levels_in_use(where)
    return [
        level.name
        for number, level in enumerate(_inside_out(where), start=1)
        if number in used and (level.latency is None or level.bandwidth is None)
    ]


def _seconds(where: Allocation) -> list[tuple[float, float]]:
    """Seconds per message and per byte, innermost level first; 0 for levels that part nobody."""
    return [
        (level.latency or 0.0, 0.0 if level.bandwidth is None else 1 / level.bandwidth)
        for level in _inside_out(where)
    ]
