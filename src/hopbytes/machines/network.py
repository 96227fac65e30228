"""A network of links between the endpoints (adapters) of nodes, with the routes that flows take."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import gcd, lcm
from typing import Any, NamedTuple

import numpy as np

from hopbytes._arrays import Int32, Int64, UInt16
from hopbytes._frozen import frozen
from hopbytes.errors import FormatError, UnsupportedError
from hopbytes.kernels import routes as kernels
from hopbytes.kernels.routes import RouteForm, Routes, distance_table
from hopbytes.util.computed_once import computed_once


class Wiring(NamedTuple):
    """Where links begin and end, as a graph of vertices 0..vertices-1."""

    #: int64[n_links]: Vertex each link leaves and the one it enters; arbitrary for numbers of no link
    #: (capacity 0)
    tail: Int64
    head: Int64  # int64[n_links]
    at: Int64  # int64[n_endpoints]: Vertex of every endpoint: its own, or the router it is part of
    vertices: int


def from_nodes(nodes: int, each: int) -> tuple[Int64, Int64, Int64]:
    """Return tails and heads of the links of nodes, up and down in turn, and the vertices of endpoints.

    Nodes are vertices 0..nodes-1, routers with `each` nodes follow.
    """
    node = np.arange(nodes, dtype=np.int64)
    ends = np.stack([node, nodes + node // each], axis=1)
    return ends.reshape(-1), ends[:, ::-1].reshape(-1), node


def name_node(node: int) -> str:
    """Return the name of a node of a generated network."""
    return f"n{node}"


def name_link_of_node(link: int, each: int, name_router: Callable[[int], str]) -> str:
    """Return the name of a link of a node, numbered as :func:`from_nodes` has them."""
    ends = (name_node(link // 2), name_router(link // 2 // each))
    return " -> ".join(reversed(ends) if link % 2 else ends)


def name_on_grid(router: int, sizes: tuple[int, ...]) -> str:
    """Return the name of a router of a grid by its coordinates, ``r2.0``."""
    return "r" + ".".join(str(coordinate) for coordinate in np.unravel_index(router, sizes))


#: Prices are exact where the slowest link needs none above this; else the best ones up to it are searched.
MOST_PRICE = 2**16
#: Relative error of the ratio of two prices that is negligible.
AS_GOOD_AS_EXACT = 2.0**-24
#: Where small prices cannot express the ratio of capacities, the fastest link gets a price about this large.
LEAST_PRICE, HIGHEST_PRICE = 2**12, 2**32


class CapacityClasses(NamedTuple):
    """Distinct capacities ascending, links sorted by them, and where the links of each begin.

    `values` are integers > 0; the links of capacity ``values[i]`` are ``links[start[i]:start[i + 1]]``,
    ascending. `links` is None where all links are of one class.
    """

    values: tuple[int, ...]
    links: Int64 | None
    start: tuple[int, ...]


def prices_of(capacities: Sequence[int]) -> tuple[int, ...]:
    """Return integers in the ratio of 1 / capacity, as small as they can be.

    The least common multiple over the capacity is exact; it is taken while the slowest link costs no more
    than 2**16. Rates that were rounded to whole bytes per second have multiples of 2**30 and more although
    they are as 6 to 11. So the smallest price of the slowest link is taken with which all ratios are
    right to 2**-24, or else the best one up to 2**16.
    """
    divisor, multiple = gcd(*capacities), 1
    for value in capacities:
        reduced = value // divisor
        multiple = multiple * reduced // gcd(multiple, reduced)
        if multiple * divisor > MOST_PRICE * capacities[0]:
            return _nearly(capacities)
    return tuple(multiple * divisor // value for value in capacities)


def _nearly(capacities: Sequence[int]) -> tuple[int, ...]:
    share = np.array([capacities[0] / value for value in capacities])
    error = np.zeros(MOST_PRICE)
    slowest = np.arange(1, MOST_PRICE + 1, dtype=np.float64)
    for part in share[1:].tolist():
        price = np.maximum(np.rint(slowest * part), 1)
        np.maximum(error, np.abs(price / (slowest * part) - 1), out=error)
    good = np.flatnonzero(error <= AS_GOOD_AS_EXACT)
    best = int(good[0] if len(good) else error.argmin()) + 1
    if error[best - 1] > 1 / LEAST_PRICE:
        best = max(best, min(HIGHEST_PRICE, round(LEAST_PRICE / float(share[-1]))))
    return tuple(max(1, round(best * part)) for part in share.tolist())


#: Flows whose routes are held at the same time; the lists of links are built batch by batch.
BATCH = 2**16
#: Pairs of endpoints that are examined for the diameter and the mean distance.
PAIRS_LOOKED_AT = 2**24
MAX_LINKS = 2**31 - 1
#: Entries of tables of routes, 4 bytes each.
MAX_TABLE = 2**28
#: Names of the dimensions of grids.
AXES = "xyzuvwabcdefghij"


class Geometry(NamedTuple):
    """Coordinates of the endpoints of a network, or of the nodes of a machine."""

    #: name of each coordinate: ``x``, ``y``, … of grids, ``group`` and ``switch`` of hierarchies
    names: tuple[str, ...]
    places: Int64  # int64[coordinates, endpoints]: Counted from 0; a switch is counted in its group
    sizes: tuple[int, ...] = ()  # of grids: routers per dimension. Empty for hierarchies.
    wrapped: tuple[bool, ...] = ()  # of grids, per dimension: a ring, or a line


def geometry_of_grid(routers: Int64, sizes: tuple[int, ...], wrapped: tuple[bool, ...]) -> Geometry:
    """Return the coordinates of nodes on a grid by the router of each."""
    places = np.stack(np.unravel_index(routers, sizes)).astype(np.int64)
    return Geometry(tuple(AXES[: len(sizes)]), places, sizes, wrapped)


def spread_routes(
    tail: Int32, head: Int32, rows: Int32, endpoints: int, owners: Sequence[int] = ()
) -> RouteForm:
    """Return the routes of flows that divide at every vertex over all links that lead nearer.

    `rows` are the numbers of the vertices that forward flows, -1 for others; `owners` the node of every
    endpoint, where nodes have several.
    """
    first = np.searchsorted(np.sort(tail), np.arange(len(rows) + 1)).astype(np.int32)
    out = np.argsort(tail, kind="stable")
    numbers = np.concatenate([[endpoints, len(rows)], out, owners]).astype(np.int64)
    return RouteForm("spread", numbers, distance_table(tail, head, rows, endpoints), first, head, split=True)


def listed_routes(endpoints: int, sources: Int64, targets: Int64, lengths: Int64, links: Int64) -> RouteForm:
    """Return given routes, one for each pair of a source and a target; their links follow each other."""
    order = np.lexsort((targets, sources))
    before = (np.cumsum(lengths) - lengths)[order]
    lengths = lengths[order]
    starts = np.concatenate([[0], np.cumsum(lengths)])
    links = links[np.repeat(before - starts[:-1], lengths) + np.arange(len(links))]
    first = np.searchsorted(sources[order], np.arange(endpoints + 1))
    numbers = np.concatenate([[endpoints], first, starts]).astype(np.int64)
    return RouteForm("listed", numbers, links.astype(np.int32), targets[order].astype(np.int32))


@frozen(eq=False, owns=("capacity",))
class Network:
    """Directed links between endpoints and switches, and the route of every flow.

    Routes are never stored pair by pair: `form` computes or looks them up when they are asked for.
    """

    form: RouteForm  # the routes as compiled code takes them
    #: endpoints are numbered 0, 1, ...; on direct networks (torus) switches are their routers.
    n_endpoints: int
    n_switches: int
    #: int64[n_links]: What each directed link carries, in `unit`; 0 marks a number that no link has (the
    #: missing border links of a mesh), which no route ever takes
    capacity: Int64
    name_link: Callable[[int], str]  # from the number of a link to its name
    name_endpoint: Callable[[int], str] = str  # from the number of an endpoint to its name
    #: returns the :class:`Wiring`; None where only routes are known and not which links join
    wiring: Callable[[], Wiring] | None = None
    shortest: bool = True  # all routes are as long as `hops`. False for detours (Valiant).
    #: returns the :class:`Geometry` of the endpoints; None where they have no coordinates
    geometry: Callable[[], Geometry] | None = None
    unit: str = "as given"  # of capacities, such as ``"bytes/s"``

    def __post_init__(self) -> None:
        if self.n_endpoints < 1:
            raise FormatError("network", None, f"{self.n_endpoints} endpoints, expected at least one")
        if len(self.capacity) > MAX_LINKS:
            raise FormatError("network", None, f"{len(self.capacity)} links, expected at most {MAX_LINKS}")
        if len(self.capacity) and int(self.capacity.min()) < 0:
            link = int(self.capacity.argmin())
            what = f"capacity {int(self.capacity[link])} of {self.name_link(link)}"
            raise FormatError("network", None, f"{what}, expected an integer > 0")

    @property
    def n_links(self) -> int:
        """Numbers that links may have (some belong to no link: their capacity is 0)."""
        return len(self.capacity)

    def hops(self, sources: Any, targets: Any) -> Int64:
        """int64[...]: links between endpoints; -1 where there is no route. Arguments broadcast."""
        a, b = np.broadcast_arrays(np.asarray(sources), np.asarray(targets))
        flat = kernels.route_hops(self.form, self._endpoints(a), self._endpoints(b))
        return flat.reshape(a.shape)

    def hop_table(self, endpoints: Int32) -> UInt16:
        """uint16[n, n]: hops between some endpoints, of the longer route of both directions."""
        hops, unrouted = kernels.hop_table(self.form, endpoints)
        if unrouted:
            self.check_routed(endpoints)
        if int(hops.max(initial=0)) == kernels.NO_ROUTE:
            raise UnsupportedError(f"routes of {kernels.NO_ROUTE} hops or more, expected shorter ones")
        longer: UInt16 = np.maximum(hops, hops.T)
        return longer

    def mean_hops(self, sources: Any, targets: Any) -> tuple[Int64, int]:
        """Return how many links flows cross on average over their paths, exactly."""
        if self.shortest:
            return self.hops(sources, targets), 1
        parts: list[Int64] = []
        common = 1
        flows = self._endpoints(sources), self._endpoints(targets)
        for start in range(0, len(flows[0]), BATCH):
            routes = self.routes(*(ends[start : start + BATCH] for ends in flows))
            above, parted = routes.numerators, routes.denominators
            if above is None or parted is None:
                above = parted = np.ones(len(routes.links), np.int64)
            below = lcm(common, *np.unique(parted).tolist())
            shares = np.concatenate([[0], np.cumsum(above * (below // parted))])
            parts = [part * (below // common) for part in parts]
            parts.append(shares[routes.indptr[1:]] - shares[routes.indptr[:-1]])
            common = below
        lengths = np.concatenate([np.empty(0, np.int64), *parts])
        lengths[self.hops(sources, targets).reshape(-1) < 0] = -1
        return lengths, common

    def routes(self, sources: Any, targets: Any) -> Routes:
        return kernels.route_links(self.form, self._endpoints(sources), self._endpoints(targets))

    def _endpoints(self, numbers: Any) -> Int32:
        """Return endpoints as compiled code takes them; IndexError for any that does not exist."""
        wide = np.asarray(numbers)
        if wide.size and not 0 <= int(wide.min()) <= int(wide.max()) < self.n_endpoints:
            found = f"endpoints from {wide.min()} to {wide.max()}"
            raise IndexError(f"{found}, expected 0 to {self.n_endpoints - 1}")
        return np.ascontiguousarray(wide, dtype=np.int32).reshape(-1)

    @computed_once(4)
    def prices(self) -> tuple[Int64 | None, int]:
        """Return what makes loads of links with different capacities comparable in integers, for searches.

        Where the least common multiple of the capacities makes prices above 2**16, they are rounded: to a
        relative error of 2**-24 where such prices exist below that, else to 2**-12 in the worst case, and
        beyond where capacities differ by a factor of more than 2**20. Mappings are
        judged by exact fractions all the same, see :func:`hopbytes.cost.objectives.link_sums.traffic`.
        """
        found = self.capacity_classes()
        if len(found.values) < 2 or found.links is None:
            return None, found.values[0] if found.values else 1
        chosen = prices_of(found.values)
        prices = np.zeros(self.n_links, np.int64)
        prices[found.links] = np.repeat(np.array(chosen, np.int64), np.diff(found.start))
        prices.setflags(write=False)
        return prices, chosen[0] * found.values[0]

    @computed_once(4)
    def capacity_classes(self) -> CapacityClasses:
        """Return the links grouped by capacity, those of capacity 0 left out; O(links log links)."""
        capacity = self.capacity
        if len(capacity) and int(capacity.min()) == int(capacity.max()) > 0:
            return CapacityClasses((int(capacity[0]),), None, (0, len(capacity)))
        order = np.argsort(capacity, kind="stable")
        order = order[np.searchsorted(capacity[order], 1) :]
        values, first = np.unique(capacity[order], return_index=True)
        return CapacityClasses(tuple(values.tolist()), order, (*first.tolist(), len(order)))

    def describe(self) -> dict[str, Any]:
        """Return what there is: endpoints, switches, links, capacities, diameter, mean distance.

        ``sources_looked_at`` says from how many endpoints distances were taken: all, unless that would be
        more than 2**24 pairs; then evenly spaced ones. ``unrouted_pairs`` are among those.
        """
        present = self.capacity[self.capacity > 0]
        values, counts = np.unique(present, return_counts=True)
        count = max(1, min(self.n_endpoints, PAIRS_LOOKED_AT // self.n_endpoints))
        sources = np.unique(np.linspace(0, self.n_endpoints - 1, count).astype(np.int32))
        everyone = np.arange(self.n_endpoints, dtype=np.int32)
        longest, total, routed, unrouted = 0, 0, 0, 0
        for source in sources:
            hops = self.hops(source, everyone)
            unrouted += int(np.count_nonzero(hops < 0))
            found = hops[(hops >= 0) & (everyone != source)]
            longest = max(longest, int(found.max(initial=0)))
            total, routed = total + int(found.sum()), routed + len(found)
        return {
            "endpoints": self.n_endpoints,
            "switches": self.n_switches,
            "links": len(present),
            "capacities": {
                str(value): number for value, number in zip(values.tolist(), counts.tolist(), strict=True)
            },
            "capacity_unit": self.unit,
            "several_paths": self.form.split,
            "diameter": longest,
            "mean_distance": total / routed if routed else 0.0,
            "unrouted_pairs": unrouted,
            "sources_looked_at": len(sources),
        }

    def check_routed(self, endpoints: Int32) -> None:
        """Refuse a set of endpoints of which some pair has no route; O(pairs), at most 2**24 of them."""
        chosen = np.unique(endpoints).astype(np.int32)
        for source in chosen[: max(1, PAIRS_LOOKED_AT // max(1, len(chosen)))]:
            lost = np.flatnonzero(self.hops(source, chosen) < 0)
            if len(lost):
                raise self.no_route(int(source), int(chosen[lost[0]]))

    def no_route(self, source: int, target: int) -> UnsupportedError:
        return UnsupportedError(
            f"no route from {self.name_endpoint(source)} to {self.name_endpoint(target)}: leave one of them "
            "out (`hosts`, `exclude`) or give a network on which they are linked"
        )
