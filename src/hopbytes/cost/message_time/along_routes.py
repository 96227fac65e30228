"""Message times on networks: latency per hop, plus bytes over the bandwidth of every link of the route."""

from __future__ import annotations

import dataclasses

import numpy as np
from numpy.typing import NDArray

from hopbytes._arrays import Int32, Int64
from hopbytes._frozen import frozen
from hopbytes.cost.message_time.form import SearchForm, exponent_for, nearest_product
from hopbytes.cost.objectives.link_sums import endpoints_of, network_of, traffic
from hopbytes.errors import UnsupportedError
from hopbytes.machines.base import NODE_NAMES, Level
from hopbytes.machines.distances import NetworkDistance, RailDistance
from hopbytes.model.allocation import Allocation
from hopbytes.model.comm_graph import CommGraph


@frozen(eq=False)
class RouteTimes:
    """Integer times of hops, links, and levels inside a node."""

    hop: int  # time of a message per link, in units of ``10**-exponent`` seconds
    link_byte: Int64  # int64[n_links]: Time of a byte on each link
    latency: tuple[int, ...]  # time of a message and of a byte for each level inside a node, outermost first
    per_byte: tuple[int, ...]
    exponent: int  # the unit of time is ``10**-exponent`` seconds

    def seconds(self, time: int) -> float:
        """Convert an integer time to seconds."""
        return float(time / 10**self.exponent)


def knows_route_times(where: Allocation) -> bool:
    """Tell whether hops have a latency, links a bandwidth, and the levels inside nodes both.

    Only levels that separate two PEs of the allocation need them.
    """
    if isinstance(where.distance, RailDistance):
        return False
    if where.machine.network_use.hop_latency is None and _several_nodes(where):
        return False  # this check comes first, because it does not require building the network
    return not _missing(where)


def route_times(graph: CommGraph, where: Allocation) -> RouteTimes:
    """Return the times of hops, links and levels as integers; UnsupportedError names missing values."""
    if isinstance(where.distance, RailDistance):
        raise UnsupportedError(
            "weight time: a hop on a machine with rails is one of NVLink or one of adapters, which take "
            "different times, expected weight bytes or messages (`hopbytes simulate` predicts times)"
        )
    missing = _missing(where)
    if missing:
        raise UnsupportedError(
            f"weight time: there is no {', '.join(missing)}, expected lat (seconds) and bw (bytes/second) "
            "of links and levels inside nodes, like 'torus:4x4:lat=1e-7:bw=1e10 / core:8:lat=1e-7:bw=9e9'"
        )
    latency = where.machine.network_use.hop_latency or 0.0
    capacity = network_of(where, "weight time").capacity
    present = capacity[capacity > 0]
    slowest = 1 / float(present.min()) if len(present) else 0.0
    hops, rows = _most_hops(where), [_seconds(level) for level in _inside(where)]
    exponent = exponent_for(
        graph,
        max([hops * latency, *(row[0] for row in rows)]),
        max([hops * slowest, *(row[1] for row in rows)]),
    )
    unit = 10.0**exponent
    per_link = np.rint(unit / np.maximum(capacity, 1).astype(np.float64)).astype(np.int64)
    return RouteTimes(
        round(latency * unit),
        np.where(capacity > 0, per_link, 0),
        tuple(round(row[0] * unit) for row in rows),
        tuple(round(row[1] * unit) for row in rows),
        exponent,
    )


def time_on_routes(graph: CommGraph, where: Allocation, pe: Int32, times: RouteTimes) -> int:
    """Return the total time of all messages in the unit of `times`; O(m x length of a route).

    A message passes its links one after the other (store and forward): each link adds its latency and the
    time of all bytes. Flows over several routes are divided among them. Between nodes with a common endpoint
    (0 hops) a message takes as long as between PEs of one node that differ at the outermost inner level.
    """
    volumes = traffic(graph, graph.volumes, where, pe, "weight time", priced=False)
    messages = traffic(graph, graph.messages, where, pe, "weight time", priced=False)
    used = np.flatnonzero(volumes.amounts)
    moved = zip(volumes.amounts[used].tolist(), times.link_byte[used].tolist(), strict=True)
    total: int = times.hop * messages.total >> messages.shift
    total += sum(amount * price for amount, price in moved) >> volumes.shift
    level = _level_of_arcs(graph, where, pe)
    counts, sizes = graph.arc_messages(), graph.arc_volumes()
    for number, (latency, per_byte) in enumerate(zip(times.latency, times.per_byte, strict=True)):
        here = level == number
        total += latency * int(counts[here].sum()) + per_byte * int(sizes[here].sum())
    return total


def _level_of_arcs(graph: CommGraph, where: Allocation, pe: Int32) -> NDArray[np.int8]:
    """Return int8[m]: the outermost level inside the node at which the PEs of each arc differ, or -1.

    Level 0 is the outermost one. -1 stands for arcs inside a PE and for arcs that take hops.
    """
    near, far = pe[graph.sources()], pe[graph.targets]
    level = np.full(graph.m, -1, np.int8)
    first, machine = where.first_core, where.machine
    outside = len(machine.levels) - len(_inside(where))
    open_arcs = where.node_of_pe[near] == where.node_of_pe[far]
    for number in range(len(_inside(where))):
        unit = machine.ancestors(outside + number)[first]
        parting = open_arcs & (unit[near] != unit[far])
        level[parting] = number
        open_arcs &= ~parting
    apart = np.flatnonzero(where.node_of_pe[near] != where.node_of_pe[far])
    endpoint = endpoints_of(where)
    hops = network_of(where, "weight time").hops(endpoint[near[apart]], endpoint[far[apart]])
    if _inside(where):
        level[apart[hops == 0]] = 0
    return level


def route_search_form(graph: CommGraph, where: Allocation, times: RouteTimes) -> SearchForm:
    """Return a weight per arc and a distance per hop and level whose product approximates the time best."""
    inside = _inside(where)
    present = times.link_byte[times.link_byte > 0]
    hop = float(times.hop), float(present.mean()) if len(present) else 0.0
    terms = [*zip(map(float, times.latency), map(float, times.per_byte), strict=True), hop]
    seen, distances, error = nearest_product(graph, terms, [*([1] * len(inside)), _most_hops(where)])
    *inner, per_hop = distances
    replaced, below = {}, 0
    for level, distance in reversed(list(zip(inside, inner, strict=True))):
        below = max(below, distance)
        replaced[level.name] = below
    outermost_first = {"hop": max(per_hop, below), **dict(reversed(replaced.items()))}
    there = dataclasses.replace(where, machine=where.machine.with_distances(outermost_first))
    return SearchForm(seen, there, error)


def _inside(where: Allocation) -> list[Level]:
    """Return the levels inside a node, outermost first."""
    levels = list(where.machine.levels)
    node = next((place for place, level in enumerate(levels) if level.name in NODE_NAMES), len(levels) - 1)
    return levels[node + 1 :]


def _several_nodes(where: Allocation) -> bool:
    nodes = where.node_of_pe
    return int(nodes[0]) != int(nodes[-1])


def _most_hops(where: Allocation) -> int:
    """Return an upper bound of the hops between two PEs, at least 1."""
    distance = where.distance
    assert isinstance(distance, NetworkDistance)
    return max(1, -(-distance.largest // max(1, distance.per_hop)))


def _seconds(level: Level) -> tuple[float, float]:
    return level.latency or 0.0, 0.0 if level.bandwidth is None else 1 / level.bandwidth


def _missing(where: Allocation) -> list[str]:
    """Return the hops, links and levels that messages may pass although they have no times."""
    missing = []
    if _several_nodes(where):
        network = network_of(where, "weight time")
        if where.machine.network_use.hop_latency is None:
            missing.append("latency of a hop")
        if network.unit != "bytes/s" and int(network.capacity.max(initial=0)) <= 1:
            missing.append("bandwidth of links")
    first, machine = where.first_core, where.machine
    outside = len(machine.levels) - len(_inside(where))
    for number, level in enumerate(_inside(where)):
        if level.latency is not None and level.bandwidth is not None:
            continue
        above = machine.ancestors(outside + number - 1)[first]
        unit = machine.ancestors(outside + number)[first]
        if np.any((above[1:] == above[:-1]) & (unit[1:] != unit[:-1])):
            missing.append(f"latency or bandwidth of {level.name}")
    return missing
