"""Message times on trees: latency and bandwidth of the outermost level at which two PEs differ."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from hopbytes._arrays import Int32
from hopbytes._frozen import frozen
from hopbytes.cost.message_time.form import SearchForm, exponent_for, nearest_product
from hopbytes.cost.objectives.comm_cost import weight_by_level
from hopbytes.errors import UnsupportedError
from hopbytes.machines.base import Level
from hopbytes.machines.distances import TreeDistance
from hopbytes.model.allocation import Allocation
from hopbytes.model.comm_graph import CommGraph


@frozen
class LevelTimes:
    """Integer times per level; levels are numbered as in the kernels: 0 within a PE, 1 the innermost."""

    latency: tuple[int, ...]  # time of a message and of a byte, in units of ``10**-exponent`` seconds
    per_byte: tuple[int, ...]
    exponent: int  # the unit of time is ``10**-exponent`` seconds

    def seconds(self, time: int) -> float:
        """Convert an integer time to seconds."""
        return float(time / 10**self.exponent)


def knows_level_times(where: Allocation) -> bool:
    """Tell whether all levels that separate PEs have latency and bandwidth."""
    return not _missing(where)


def level_times(graph: CommGraph, where: Allocation) -> LevelTimes:
    """Return the times of a machine's levels as integers; UnsupportedError names levels without them."""
    missing = _missing(where)
    if missing:
        raise UnsupportedError(
            f"weight time: there is no latency or bandwidth of {', '.join(missing)}, expected both for "
            "every level ('hopbytes probe' measures them; or write them like node:8@10:lat=2e-6:bw=1e9)"
        )
    latencies, per_bytes = zip(*_seconds(where), strict=True)
    exponent = exponent_for(graph, max(latencies), max(per_bytes))
    return LevelTimes(
        (0, *(round(value * 10**exponent) for value in latencies)),
        (0, *(round(value * 10**exponent) for value in per_bytes)),
        exponent,
    )


def time_by_level(graph: CommGraph, where: Allocation, pe: Int32, times: LevelTimes) -> int:
    """Return the total time of all messages in the unit of `times`; O(m)."""
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


def level_search_form(graph: CommGraph, where: Allocation, times: LevelTimes) -> SearchForm:
    """Return a weight per arc and a distance per level whose product approximates the time best."""
    parts = sorted(_levels_in_use(where))
    terms = [(float(times.latency[number]), float(times.per_byte[number])) for number in parts]
    seen, distances, error = nearest_product(graph, terms, [1] * len(parts))
    inner, replaced = 0, {}
    of_level = dict(zip(parts, distances, strict=True))
    for number, level in enumerate(_inside_out(where), start=1):
        inner = max(inner, of_level.get(number, 0))
        replaced[level.name] = inner
    outermost_first = dict(reversed(replaced.items()))
    there = dataclasses.replace(where, machine=where.machine.with_distances(outermost_first))
    return SearchForm(seen, there, error)


def _levels_in_use(where: Allocation) -> set[int]:
    """Return the levels at which two PEs differ; labels ascend, so adjacent PEs show all of them."""
    distance = where.distance
    assert isinstance(distance, TreeDistance)
    widths = (distance.labels[1:] ^ distance.labels[:-1]).tolist()
    return {int(distance.level_of_bit[int(width).bit_length()]) for width in set(widths)}


def _inside_out(where: Allocation) -> Sequence[Level]:
    levels: Sequence[Level] = where.machine.levels
    return levels[::-1]


def _missing(where: Allocation) -> list[str]:
    """Return the names of levels that separate PEs but lack latency or bandwidth."""
    used = _levels_in_use(where)
    return [
        level.name
        for number, level in enumerate(_inside_out(where), start=1)
        if number in used and (level.latency is None or level.bandwidth is None)
    ]


def _seconds(where: Allocation) -> list[tuple[float, float]]:
    """Return seconds per message and per byte, innermost level first; 0 for levels without values."""
    return [
        (level.latency or 0.0, 0.0 if level.bandwidth is None else 1 / level.bandwidth)
        for level in _inside_out(where)
    ]
