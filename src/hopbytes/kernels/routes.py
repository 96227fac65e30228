"""Routes as data, their lengths, the loads of links, fair flows, and the link sums of PTRAM."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from typing import NamedTuple

import numpy as np

from hopbytes._arrays import Bool, Float64, Int32, Int64, UInt16
from hopbytes._frozen import frozen
from hopbytes.kernels.base import kernel, optional
from hopbytes.kernels.records import Csr

#: Forms of routes, in the order of ``any_routes`` in core/routing/any_routes.cpp.
FORMS = ("grid", "forwarding", "listed", "fat_tree", "hyperx", "dragonfly", "spread")

#: The value that means "no route" in a table of hops.
NO_ROUTE = 65535

#: The largest number of fractional bits of link loads if flows take several paths.
MOST_SHIFT = 20


def _none() -> Int32:
    return np.empty(0, np.int32)


@frozen(eq=False, owns=("numbers", "table", "first", "head"))
class RouteForm:
    """All routes of a network, in one of the forms that compiled code supports."""

    #: one of :data:`FORMS`; the contents of the arrays are described at the struct of that form in
    #: core/routing: grid_routes.hpp, table_routes.hpp and hierarchy_routes.hpp.
    kind: str
    numbers: Int64  # int64[...]
    #: int32[...]: Empty for forms that are computed by arithmetic alone
    table: Int32 = field(default_factory=_none)
    first: Int32 = field(default_factory=_none)  # int32[...]
    head: Int32 = field(default_factory=_none)  # int32[...]
    split: bool = False  # whether flows may take several paths, so that loads of links are fractions

    @property
    def arguments(self) -> tuple[int, Int64, Int32, Int32, Int32]:
        """The first arguments of every compiled function on routes."""
        return FORMS.index(self.kind), self.numbers, self.table, self.first, self.head


class Routes(NamedTuple):
    """Routes of flows: flow i takes ``links[indptr[i]:indptr[i+1]]``.

    The share of the flow on entry e is ``numerators[e] / denominators[e]``; both are None if every flow has
    a single path. With several paths a link may occur repeatedly. A flow without a route has no entry, and
    neither has a flow inside one endpoint.
    """

    indptr: Int64
    links: Int64
    numerators: Int64 | None
    denominators: Int64 | None

    @property
    def shares(self) -> Float64:
        """float64[entries]: the share of its flow on every entry."""
        if self.numerators is None or self.denominators is None:
            return np.ones(len(self.links))
        return self.numerators / self.denominators


def route_hops(form: RouteForm, sources: Int32, targets: Int32) -> Int64:
    """Return int64[f], the number of links of the shortest route of each flow; -1 without a route."""
    hops = np.empty(len(sources), np.int64)
    kernel.route_hops(form.arguments, sources, targets, hops)
    return hops


def hop_table(form: RouteForm, endpoints: Int32) -> tuple[UInt16, int]:
    """Return uint16[e, e], hops between endpoints or :data:`NO_ROUTE`, and how many pairs have none."""
    hops = np.empty(len(endpoints) ** 2, np.uint16)
    unrouted = int(kernel.hop_table(form.arguments, endpoints, hops))
    return hops.reshape(len(endpoints), len(endpoints)), unrouted


def route_links(form: RouteForm, sources: Int32, targets: Int32) -> Routes:
    """Return the links of flows; O(total length of the routes) time and memory."""
    start = np.empty(len(sources) + 1, np.int64)
    kernel.route_visits(form.arguments, sources, targets, start)
    columns = [np.empty(int(start[-1]), np.int64) for _ in range(3)]
    kernel.route_links(form.arguments, sources, targets, start, *columns)
    if form.split:
        return Routes(start, *columns)
    return Routes(start, columns[0], None, None)


def fraction_bits(form: RouteForm, total: int) -> int:
    """Return the number of fractional bits of link loads: 0 for single paths, else the most for `total`."""
    # A link may carry all flows, each rounded up by one unit, so rounding takes one additional bit.
    return max(0, min(MOST_SHIFT, 60 - total.bit_length())) if form.split else 0


def link_amounts(form: RouteForm, n_links: int, arcs: Csr, endpoints: Int32, shift: int) -> tuple[Int64, int]:
    """Return the load that flows put on every link."""
    amounts = np.zeros(n_links, np.int64)
    unrouted = kernel.link_amounts(form.arguments, arcs, endpoints, shift, amounts)
    return amounts, int(unrouted)


def arcs_over_link(form: RouteForm, arcs: Csr, endpoints: Int32, link: int) -> Bool:
    """Return bool[m], the arcs whose flow uses `link`."""
    marked = np.zeros(len(arcs.targets), np.uint8)
    kernel.arcs_over_link(form.arguments, arcs, endpoints, link, marked)
    return marked.view(np.bool_)


def hop_histogram(form: RouteForm, arcs: Csr, endpoints: Int32) -> tuple[Int64, Int64]:
    """Count arcs between different endpoints by the hops of their shortest route."""
    flows, amounts = np.zeros(NO_ROUTE, np.int64), np.zeros(NO_ROUTE, np.int64)
    kernel.hop_histogram(form.arguments, arcs, endpoints, flows, amounts)
    most = int(np.flatnonzero(flows).max(initial=0)) + 1
    return flows[:most].copy(), amounts[:most].copy()


def shortest_table(tails: Int32, heads: Int32, rows: Int32, n_endpoints: int) -> Int32:
    """Return forwarding tables along shortest paths, row by row."""
    table = np.empty((int(rows.max(initial=-1)) + 1) * n_endpoints, np.int32)
    kernel.shortest_table(tails, heads, rows, n_endpoints, table)
    return table


def distance_table(tails: Int32, heads: Int32, rows: Int32, n_endpoints: int) -> Int32:
    """Return int32[vertices x n_endpoints], the hops from every forwarding vertex to every endpoint."""
    table = np.empty(len(rows) * n_endpoints, np.int32)
    kernel.distance_table(tails, heads, rows, n_endpoints, table)
    return table


class UnitTraffic(NamedTuple):
    """Weight of arcs `between` different units and `inside` units; weight each unit `sent` and `received`."""

    between: int
    inside: int
    sent: Int64
    received: Int64


def unit_traffic(arcs: Csr, units: Int32, n_units: int, threads: int = 1) -> UnitTraffic:
    """Sum the weight that units (PEs, nodes) send to and receive from each other."""
    sent, received = np.zeros(n_units, np.int64), np.zeros(n_units, np.int64)
    between, inside = kernel.unit_traffic(arcs, units, threads, sent, received)
    return UnitTraffic(int(between), int(inside), sent, received)


class LoadSummary(NamedTuple):
    """Exact sums over links; the value of a link is its load times its price.

    `used` is the number of links with a nonzero load, `most` the largest value, `hottest` the lowest link
    with this value (-1 if no link is used), `at_most` the number of such links, `total` the sum of the values
    and `squares` the sum of their squares.
    """

    used: int
    most: int
    hottest: int
    at_most: int
    total: int
    squares: int


def summarize_links(amounts: Int64, prices: Int64 | None = None) -> LoadSummary:
    """Return sums of link loads; `prices` are int64 per link, and None means 1 each. O(links)."""
    used, most, hottest, at_most, *wide = map(int, kernel.summarize_links(amounts, optional(prices)))
    high, low, top, middle, bottom = wide
    total, squares = (high << 32) + low, (top << 64) + (middle << 32) + bottom
    return LoadSummary(used, most, hottest, at_most, total, squares)


#: Steps of a call, between which the caller may stop.
STEPS = 64


def fair_flow_seconds(
    routes: Routes, capacity: Float64, latency: Float64, volumes: Float64, *, tolerance: float = 0.0,
    go_on: Callable[[], None] | None = None
) -> float:
    """Return the time at which the last of some flows ends that all start at time 0."""
    start = np.ascontiguousarray(routes.indptr, np.int64)
    links = np.ascontiguousarray(routes.links, np.int64)
    penalty = np.where(latency > 0, latency, 1.0)
    left, clock = np.array(volumes, np.float64), np.zeros(2)
    empty = left <= 0
    clock[1] = latency[empty].max(initial=0.0)
    wait = np.ascontiguousarray(latency, np.float64)
    arrays = start, links, routes.shares, np.ascontiguousarray(capacity, np.float64), penalty, wait
    while kernel.fair_flows(arrays, float(tolerance), STEPS, left, clock):
        if go_on is not None:
            go_on()
    return float(clock[1])


class LinkChanges(NamedTuple):
    """Batch i changes ``links[e]`` by ``amounts[e]`` for e in ``start[i]:start[i+1]``; all int64."""

    start: Int64
    links: Int64
    amounts: Int64


def placement_order(arcs: Csr, sizes: Int64, capacities: Int64) -> Int32:
    """Return int32[G], the order in which PTRAM assigns groups; it does not depend on their places."""
    order = np.empty(len(sizes), np.int32)
    kernel.ptram_order(arcs, sizes, capacities, order)
    return order


def sum_over_routes(
    routes: Routes, shift: int, n_links: int, flow_start: Int64, rows: Int64, volumes: Int64
) -> LinkChanges:
    """Return the contributions of the flows of every batch to the links."""
    room = int((routes.indptr[rows + 1] - routes.indptr[rows]).sum())
    start = np.empty(len(flow_start), np.int64)
    links, amounts = np.empty(room, np.int64), np.empty(room, np.int64)
    entries = int(kernel.sum_over_routes(
        routes, shift, n_links, flow_start, rows, volumes, start, links, amounts
    ))
    return LinkChanges(start, links[:entries], amounts[:entries])


def hybrid_after_each(added: LinkChanges, load: Int64, prices: Int64 | None, terms: Float64) -> Float64:
    """Return float64[B], the hybrid metric of PTRAM after adding each batch alone to `load`."""
    value = np.empty(len(added.start) - 1, np.float64)
    kernel.hybrid_after_each(added, load, optional(prices), terms, value)
    return value


def peak_after_each(changes: LinkChanges, load: Int64, prices: Int64 | None) -> tuple[Int64, Int64]:
    """Return the largest load x price after each batch of changes alone, and how many links have it."""
    top, count = (np.empty(len(changes.start) - 1, np.int64) for _ in range(2))
    kernel.peak_after_each(changes, load, optional(prices), top, count)
    return top, count
