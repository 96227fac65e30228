"""Time of messages: latency and bytes over bandwidth, by level of a tree and by link of a network."""

from __future__ import annotations

import dataclasses
import math

import numpy as np

from hopbytes._arrays import Float64, Int32, Int64
from hopbytes._frozen import frozen
from hopbytes.cost.objectives.comm_cost import SearchForm, parting_level, weight_by_level
from hopbytes.cost.objectives.link_sums import endpoints_of, network_of, traffic
from hopbytes.errors import UnsupportedError
from hopbytes.machines.base import NODE_NAMES, Level
from hopbytes.machines.distances import NetworkDistance, RailDistance, TreeDistance
from hopbytes.model.allocation import Allocation
from hopbytes.model.comm_graph import CommGraph

#: Largest exponent of the unit 10**-exponent seconds; sums below 2**62 may require a coarser unit.
FINEST = 18
#: Bounds of the sum of weights and of the largest distance in the search form; they keep J below 2**63.
SEARCH_WEIGHT, SEARCH_DISTANCE = 2**40, 2**20


@frozen(eq=False)
class Times:
    """Times as integers in units of ``10**-exponent`` seconds."""

    #: time of a message and of a byte: on a tree by level as kernels number them (0 within a PE, 1 the
    #: innermost), on a network for each level inside a node, outermost first
    latency: tuple[int, ...]
    per_byte: tuple[int, ...]
    exponent: int
    hop: int = 0  # on networks: time of a message per link
    link_byte: Int64 | None = None  # on networks int64[n_links]: time of a byte on each link

    def seconds(self, time: int) -> float:
        return float(time / 10**self.exponent)


def knows_times(where: Allocation) -> bool:
    """Tell whether there are two PEs and all levels or links between PEs have latency and bandwidth."""
    distance = where.distance
    if where.k < 2 or isinstance(distance, RailDistance):
        return False
    if isinstance(distance, NetworkDistance):
        # The latency of hops is asked for first, because that does not require building the network.
        no_latency = where.machine.network_use.hop_latency is None and _several_nodes(where)
        return not no_latency and not _missing_on_routes(where)
    return isinstance(distance, TreeDistance) and not _missing_on_levels(where)


def times_of(graph: CommGraph, where: Allocation) -> Times:
    """Return the times of a machine's levels, or of its links and levels inside nodes, as integers."""
    distance = where.distance
    if isinstance(distance, RailDistance):
        raise UnsupportedError(
            "weight time: a hop on a machine with rails is one of NVLink or one of adapters, which take "
            "different times, expected weight bytes or messages (`hopbytes simulate` predicts times)"
        )
    if isinstance(distance, NetworkDistance):
        return _route_times(graph, where)
    if isinstance(distance, TreeDistance):
        return _level_times(graph, where)
    raise UnsupportedError(
        f"weight time on '{where.machine.spec()[:60]}', expected a machine of levels or a network, with lat "
        "and bw of each"
    )


def _level_times(graph: CommGraph, where: Allocation) -> Times:
    missing = _missing_on_levels(where)
    if missing:
        raise UnsupportedError(
            f"weight time: there is no latency or bandwidth of {', '.join(missing)}, expected both for "
            "every level ('hopbytes probe --measure' finds them; or write node:8@10:lat=2e-6:bw=1e9)"
        )
    latencies, per_bytes = zip(*map(_seconds, where.machine.levels[::-1]), strict=True)
    exponent = _exponent(graph, max(latencies), max(per_bytes))
    return Times(
        (0, *(round(value * 10**exponent) for value in latencies)),
        (0, *(round(value * 10**exponent) for value in per_bytes)),
        exponent,
    )


def _route_times(graph: CommGraph, where: Allocation) -> Times:
    missing = _missing_on_routes(where)
    if missing:
        raise UnsupportedError(
            f"weight time: there is no {', '.join(missing)}, expected lat (seconds) and bw (bytes/second) "
            "of links and levels inside nodes, like 'torus:4x4:lat=1e-7:bw=1e10 / core:8:lat=1e-7:bw=9e9'"
        )
    latency = where.machine.network_use.hop_latency or 0.0
    capacity = network_of(where, "weight time").capacity
    present = capacity[capacity > 0]
    slowest = 1 / float(present.min()) if len(present) else 0.0
    hops, rows = _most_hops(where), [_seconds(level) for level in _levels_inside(where)]
    exponent = _exponent(
        graph,
        max([hops * latency, *(row[0] for row in rows)]),
        max([hops * slowest, *(row[1] for row in rows)]),
    )
    unit = 10.0**exponent
    per_link = np.rint(unit / np.maximum(capacity, 1).astype(np.float64)).astype(np.int64)
    return Times(
        tuple(round(row[0] * unit) for row in rows),
        tuple(round(row[1] * unit) for row in rows),
        exponent,
        round(latency * unit),
        np.where(capacity > 0, per_link, 0),
    )


def _exponent(graph: CommGraph, latency: float, per_byte: float) -> int:
    """Return the largest e for which all messages on the slowest route take below 2**62 * 10**-e s."""
    most = int(graph.arc_messages().sum()) * latency + graph.total_volume * per_byte
    return FINEST if most <= 0 else min(FINEST, math.floor(math.log10(2**62 / most)))


def comm_time(graph: CommGraph, where: Allocation, pe: Int32, times: Times) -> int:
    """Return the sum of the times of all messages in the unit of `times`, an exact integer.

    Arcs inside a PE take no time. The sum is not the time until the last message has arrived. O(m) on trees,
    O(m x length of a route) on networks.
    """
    if times.link_byte is not None:
        return _time_on_routes(graph, where, pe, times, times.link_byte)
    distance = where.distance
    assert isinstance(distance, TreeDistance)
    volumes = weight_by_level(graph.arcs(graph.volumes), distance, pe)
    messages = weight_by_level(graph.arcs(graph.messages), distance, pe)
    rows = zip(times.latency, messages, times.per_byte, volumes, strict=True)
    return sum(latency * count + per_byte * volume for latency, count, per_byte, volume in rows)


def _time_on_routes(graph: CommGraph, where: Allocation, pe: Int32, times: Times, link_byte: Int64) -> int:
    """Return the total time: a message passes its links one after the other (store and forward).

    Each link adds its latency and the time of all bytes. Flows over several routes are divided among them.
    """
    volumes = traffic(graph, graph.volumes, where, pe, "weight time", priced=False)
    messages = traffic(graph, graph.messages, where, pe, "weight time", priced=False)
    used = np.flatnonzero(volumes.amounts)
    moved = zip(volumes.amounts[used].tolist(), link_byte[used].tolist(), strict=True)
    total: int = times.hop * messages.total >> messages.shift
    total += sum(amount * price for amount, price in moved) >> volumes.shift
    inside = _levels_inside(where)
    near, far = pe[graph.sources()], pe[graph.targets]
    level = parting_level(where, near, far) - (len(where.machine.levels) - len(inside))
    # Between nodes with a common endpoint a message takes as long as at the outermost level inside a node.
    apart = np.flatnonzero(where.node_of_pe[near] != where.node_of_pe[far])
    ends = endpoints_of(where)
    hops = network_of(where, "weight time").hops(ends[near[apart]], ends[far[apart]])
    level[apart] = np.where(hops == 0, 0, -1)
    counts, sizes = graph.arc_messages(), graph.arc_volumes()
    for number, (latency, per_byte) in enumerate(zip(times.latency, times.per_byte, strict=True)):
        here = level == number
        total += latency * int(counts[here].sum()) + per_byte * int(sizes[here].sum())
    return total


def search_form(graph: CommGraph, where: Allocation, times: Times) -> SearchForm:
    """Return a weight per arc and a distance per level or hop whose product approximates the time best.

    If latency and time per byte grow by the same factors from level to level, the product is exact. Otherwise
    it is the best approximation in the sense of least squares, with both terms weighted by the totals of the
    pattern (the first singular vectors of a matrix of two columns). On networks a hop has the mean time per
    byte of all links. O(m + levels).
    """
    rows = [*zip(map(float, times.latency), map(float, times.per_byte), strict=True)]
    if times.link_byte is None:
        levels, parts, hops = where.machine.levels, sorted(_levels_in_use(where)), []
    else:
        levels = tuple(_levels_inside(where))
        present = times.link_byte[times.link_byte > 0]
        rows = [(0.0, 0.0), *rows[::-1], (float(times.hop), float(present.mean()) if len(present) else 0.0)]
        parts, hops = list(range(len(levels), 0, -1)), [len(levels) + 1]
    longest = [*([1] * len(parts)), *(_most_hops(where) for _ in hops)]
    seen, distances, error = _nearest_product(graph, [rows[number] for number in [*parts, *hops]], longest)
    of_level, inner, replaced = dict(zip([*parts, *hops], distances, strict=True)), 0, {}
    for number, level in enumerate(levels[::-1], start=1):
        inner = max(inner, of_level.get(number, 0))
        replaced[level.name] = inner
    if hops:
        replaced["hop"] = max(inner, of_level[hops[0]])
    outermost_first = dict(reversed(replaced.items()))
    there = dataclasses.replace(where, machine=where.machine.with_distances(outermost_first))
    return SearchForm(seen, there, error)


def _nearest_product(
    graph: CommGraph, terms: list[tuple[float, float]], longest: list[int]
) -> tuple[CommGraph, list[int], float]:
    """Return the graph with one weight per arc, a distance per row of `terms`, and the relative error."""
    messages, volumes = graph.arc_messages(), graph.arc_volumes()
    totals = max(1, int(messages.sum())), max(1, int(volumes.sum()))
    table = np.array([(totals[0] * latency, totals[1] * per_byte) for latency, per_byte in terms], float)
    rows, shares, error = _rank_one(table)
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


def _rank_one(terms: Float64) -> tuple[list[float], list[float], float]:
    """Return the rank-one approximation of `terms` (levels x 2): row factors, column factors, error."""
    if not len(terms) or not terms.any():
        return [1.0] * len(terms), [0.5, 0.5], 0.0
    left, sizes, right = np.linalg.svd(terms, full_matrices=False)
    second = float(sizes[1]) if len(sizes) > 1 else 0.0
    return np.abs(left[:, 0]).tolist(), np.abs(right[0]).tolist(), second / float(sizes[0])


def _seconds(level: Level) -> tuple[float, float]:
    return level.latency or 0.0, 0.0 if level.bandwidth is None else 1 / level.bandwidth


def _levels_in_use(where: Allocation) -> set[int]:
    """Return the levels at which two PEs differ; labels ascend, so adjacent PEs show all of them."""
    distance = where.distance
    assert isinstance(distance, TreeDistance)
    widths = (distance.labels[1:] ^ distance.labels[:-1]).tolist()
    return {int(distance.level_of_bit[int(width).bit_length()]) for width in set(widths)}


def _levels_inside(where: Allocation) -> list[Level]:
    """Return the levels inside a node, outermost first."""
    levels, node = list(where.machine.levels), where.machine.level_named(NODE_NAMES)
    return [] if node is None else levels[node + 1 :]


def _several_nodes(where: Allocation) -> bool:
    return int(where.node_of_pe[0]) != int(where.node_of_pe[-1])


def _most_hops(where: Allocation) -> int:
    """Return an upper bound of the hops between two PEs, at least 1."""
    distance = where.distance
    assert isinstance(distance, NetworkDistance)
    return max(1, -(-distance.largest // max(1, distance.per_hop)))


def _unknown(level: Level) -> bool:
    return level.latency is None or level.bandwidth is None


def _missing_on_levels(where: Allocation) -> list[str]:
    """Return the names of levels that separate PEs but lack latency or bandwidth."""
    used, inside_out = _levels_in_use(where), where.machine.levels[::-1]
    return [
        level.name for number, level in enumerate(inside_out, start=1) if number in used and _unknown(level)
    ]


def _missing_on_routes(where: Allocation) -> list[str]:
    """Return the hops, links and levels that messages may pass although they have no times."""
    missing = []
    if _several_nodes(where):
        network = network_of(where, "weight time")
        if where.machine.network_use.hop_latency is None:
            missing.append("latency of a hop")
        if network.unit != "bytes/s" and int(network.capacity.max(initial=0)) <= 1:
            missing.append("bandwidth of links")
    first, machine, inside = where.first_core, where.machine, _levels_inside(where)
    for number, level in enumerate(inside, start=len(machine.levels) - len(inside)):
        above, unit = machine.ancestors(number - 1)[first], machine.ancestors(number)[first]
        if _unknown(level) and np.any((above[1:] == above[:-1]) & (unit[1:] != unit[:-1])):
            missing.append(f"latency or bandwidth of {level.name}")
    return missing
