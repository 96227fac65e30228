"""Reference implementations of the kernels on routes and link loads."""

from fractions import Fraction

import numpy as np

from hopbytes._arrays import Int32, Int64, UInt8, UInt16
from hopbytes.kernels.records import Csr
from reference.graph_reference import arcs_of
from reference.route_forms import ROUTERS, Path, Router, dragonfly

#: The number of a form, and its arrays.
Form = tuple[int, Int64, Int32, Int32, Int32]


def _router(form: Form) -> Router:
    return ROUTERS[form[0]](*form[1:])


def _shortest(form: int, path: Path | None, source: int, target: int, minimal: Router) -> int:
    if path is None:
        return -1
    if ROUTERS[form] is dragonfly:  # hops of flows on detours are those of the minimal route
        path = minimal(source, target) or []
        return len(path)
    links: Fraction = sum((Fraction(above, below) for _, above, below in path), Fraction(0))
    return int(links)


def route_hops(
    form: Form,
    sources: Int32,
    targets: Int32,
    hops: Int64,
) -> None:
    """Fill the number of links of a shortest route; -1 without a route."""
    router = _router(form)
    minimal = router
    if ROUTERS[form[0]] is dragonfly:
        minimal = dragonfly(np.array([*form[1][:5], 0]))
    for i, (source, target) in enumerate(zip(sources.tolist(), targets.tolist(), strict=True)):
        hops[i] = _shortest(form[0], router(source, target), source, target, minimal)


def hop_table(
    form: Form,
    endpoints: Int32,
    hops: UInt16,
) -> int:
    """Fill hops between all pairs; return the number of pairs without a route."""
    count = len(endpoints)
    found = np.empty(count * count, np.int64)
    route_hops(form, np.repeat(endpoints, count), np.tile(endpoints, count), found)
    hops[:] = np.where((found < 0) | (found > 65535), 65535, found)
    return int(np.count_nonzero(found < 0))


def route_visits(
    form: Form,
    sources: Int32,
    targets: Int32,
    start: Int64,
) -> None:
    """Fill the start of the links of each route."""
    router = _router(form)
    start[0] = 0
    for i, (source, target) in enumerate(zip(sources.tolist(), targets.tolist(), strict=True)):
        start[i + 1] = start[i] + len(router(source, target) or [])


def route_links(
    form: Form,
    sources: Int32,
    targets: Int32,
    start: Int64,
    links: Int64,
    numerators: Int64,
    denominators: Int64,
) -> None:
    """Fill links and shares of each route; their order may differ from that of the kernel."""
    router = _router(form)
    for i, (source, target) in enumerate(zip(sources.tolist(), targets.tolist(), strict=True)):
        for place, entry in enumerate(router(source, target) or [], start=int(start[i])):
            links[place], numerators[place], denominators[place] = entry


def share_of(amount: int, numerator: int, denominator: int, shift: int) -> int:
    """Return amount x numerator / denominator in units of 2**-shift, rounded half up."""
    return int((Fraction(amount * numerator, denominator) * 2**shift + Fraction(1, 2)) // 1)


def link_amounts(
    form: Form,
    graph: Csr,
    endpoints: Int32,
    shift: int,
    amounts: Int64,
) -> int:
    """Add the share of every arc to the links of its route; return the first arc without a route or -1."""
    router = _router(form)
    unrouted = -1
    for e, (i, j, weight) in enumerate(arcs_of(graph)):
        here, there = int(endpoints[i]), int(endpoints[j])
        path = router(here, there) if here != there else []
        if path is None and unrouted < 0:
            unrouted = e
        for link, above, below in path or []:
            amounts[link] += share_of(weight, above, below, shift)
    return unrouted


def arcs_over_link(
    form: Form,
    graph: Csr,
    endpoints: Int32,
    link: int,
    marked: UInt8,
) -> None:
    """Mark the arcs whose flow uses `link`."""
    router = _router(form)
    for e, (i, j, _) in enumerate(arcs_of(graph)):
        here, there = int(endpoints[i]), int(endpoints[j])
        path = router(here, there) if here != there else []
        marked[e] = any(taken == link for taken, _, _ in path or [])


def hop_histogram(
    form: Form, graph: Csr, endpoints: Int32, flows: Int64, amounts: Int64
) -> int:
    """Count arcs by hops; return the number of arcs without a route or with too many hops."""
    arcs = arcs_of(graph)
    here, there = (np.array([endpoints[arc[end]] for arc in arcs], np.int32) for end in (0, 1))
    hops = np.empty(len(arcs), np.int64)
    route_hops(form, here, there, hops)
    left_out = 0
    for e in np.flatnonzero(here != there).tolist():
        if not 0 <= hops[e] < len(flows):
            left_out += 1
            continue
        flows[hops[e]] += 1
        amounts[hops[e]] += arcs[e][2]
    return left_out


def shortest_table(tails: Int32, heads: Int32, rows: Int32, n_endpoints: int, table: Int32) -> None:
    """Fill forwarding tables along shortest paths, found by relaxing all links until nothing changes."""
    links = list(zip(tails.tolist(), heads.tolist(), strict=True))
    for target in range(n_endpoints):
        distance = {target: 0}
        passing = {vertex for vertex, row in enumerate(rows.tolist()) if row >= 0} | {target}
        for _ in range(len(rows)):
            for tail, head in links:
                if head in distance and head in passing:
                    distance[tail] = min(distance.get(tail, len(rows)), distance[head] + 1)
        for vertex, row in enumerate(rows.tolist()):
            if row < 0:
                continue
            ways = [
                link
                for link, (tail, head) in enumerate(links)
                if tail == vertex != target
                and head in passing
                and distance.get(head, -2) + 1 == distance.get(tail)
            ]
            table[row * n_endpoints + target] = ways[target % len(ways)] if ways else -1


def distance_table(tails: Int32, heads: Int32, rows: Int32, n_endpoints: int, table: Int32) -> None:
    """Fill distances to every endpoint through forwarding vertices, by relaxing all links."""
    far = len(rows) + 1
    for target in range(n_endpoints):
        distance = [0 if vertex == target else far for vertex in range(len(rows))]
        for _ in range(len(rows)):
            for tail, head in zip(tails.tolist(), heads.tolist(), strict=True):
                if rows[tail] >= 0:
                    distance[tail] = min(distance[tail], distance[head] + 1)
        for vertex, way in enumerate(distance):
            table[vertex * n_endpoints + target] = way if way < far else -1


def unit_traffic(
    graph: Csr, units: Int32, threads: int, sent: Int64, received: Int64
) -> tuple[int, int]:
    """Add the weight that units send and receive; return the weight between and inside units.

    `threads` are not used.
    """
    between = inside = 0
    for i, far, weight in arcs_of(graph):
        if units[i] != units[far]:
            between += weight
            sent[units[i]] += weight
            received[units[far]] += weight
        elif i != far:
            inside += weight
    return between, inside


def summarize_links(amounts: Int64, prices: Int64) -> tuple[int, ...]:
    """Return the components of :class:`hopbytes.kernels.routes.LoadSummary`."""
    values = [int(a) * (int(prices[i]) if len(prices) else 1) for i, a in enumerate(amounts.tolist())]
    used = sum(1 for a in amounts.tolist() if a)
    most = max([value for value, a in zip(values, amounts.tolist(), strict=True) if a], default=0)
    total, squares = sum(values), sum(value * value for value in values)
    word = 0xFFFFFFFF
    return (
        used,
        most,
        values.index(most) if used else -1,
        values.count(most) if used else 0,
        total >> 32,
        total & word,
        squares >> 64,
        squares >> 32 & word,
        squares & word,
    )
