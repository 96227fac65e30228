"""The part of a network that one leader knows: the routes that begin or end at its own nodes."""

from __future__ import annotations

import numpy as np

from hopbytes._arrays import Bool, Int32, Int64
from hopbytes._frozen import frozen
from hopbytes.algorithms.two_level.neighbourhood import MOST_SITES, WINDOW
from hopbytes.kernels.leaders import LinkChanges, sum_over_routes
from hopbytes.kernels.routes import Routes
from hopbytes.machines.network import Network


@frozen(eq=False)
class Flow:
    """Flows between one place and others."""

    others: Int64  # int64[f]: The places at the far ends
    volumes: Int64  # int64[f]: Negative if a flow is removed
    leaves: Bool  # bool[f]: True if the flow leaves the place, False if it arrives there


class OwnRoutes:
    """Routes from and to the places ``first .. last - 1``, 2 P of them for each of these."""

    def __init__(self, network: Network, endpoints: Int32, first: int, last: int, shift: int) -> None:
        self.places = np.arange(first, last)
        self.count, self.n_links, self.shift = len(endpoints), network.n_links, shift
        own, all_ = np.repeat(endpoints[first:last], self.count), np.tile(endpoints, last - first)
        there, back = network.routes(own, all_), network.routes(all_, own)
        self.routes = Routes(
            np.concatenate([there.indptr, there.indptr[-1] + back.indptr[1:]]),
            np.concatenate([there.links, back.links]),
            _joined(there.numerators, back.numerators), _joined(there.denominators, back.denominators),
        )
        self._network_hops = _hops_around(network, endpoints, self.places)

    def __len__(self) -> int:
        """Number of routes."""
        return len(self.routes.indptr) - 1

    @property
    def nbytes(self) -> int:
        """Bytes of memory that the routes take."""
        return sum(part.nbytes for part in self.routes if part is not None)

    def owns(self, place: int) -> bool:
        """Whether the routes of `place` are among these."""
        return bool(self.places[0] <= place <= self.places[-1])

    def rows(self, place: int, flow: Flow) -> Int64:
        """Return int64[f], the rows of the flows between an own place and others."""
        own = place - int(self.places[0])
        found: Int64 = np.where(flow.leaves, own, own + len(self.places)) * self.count + flow.others
        return found

    def sums(self, flows: list[tuple[int, Flow]]) -> LinkChanges:
        """Return the link loads of flows, one batch for each pair of an own place and its flows."""
        start = np.cumsum([0, *(len(flow.volumes) for _, flow in flows)])
        if not flows:
            return LinkChanges(start, np.empty(0, np.int64), np.empty(0, np.int64))
        rows = np.concatenate([self.rows(place, flow) for place, flow in flows])
        volumes = np.concatenate([flow.volumes for _, flow in flows])
        return sum_over_routes(self.routes, self.shift, self.n_links, start, rows, volumes)

    def sums_at(self, places: Int64, flow: Flow) -> LinkChanges:
        """Return the link loads of the same flows from each of several own places."""
        own = (places - self.places[0])[:, None]
        rows = np.where(flow.leaves, own, own + len(self.places)) * self.count + flow.others
        start = np.arange(len(places) + 1) * len(flow.others)
        volumes = np.tile(flow.volumes, len(places))
        return sum_over_routes(self.routes, self.shift, self.n_links, start, rows.reshape(-1), volumes)

    def over(self, links: Int64) -> Bool:
        """Return bool[rows], True for the routes that use any of the given links."""
        found = np.zeros(len(self), np.bool_)
        hits = np.flatnonzero(np.isin(self.routes.links, links))
        found[np.searchsorted(self.routes.indptr, hits, side="right") - 1] = True
        return found

    def nearest(self, place: int, count: int, *, nearby: bool = False) -> Int64:
        """Return the `count` places nearest to an own one, by the hops of the longer of both directions.

        Ties are broken by the lower number of the place, or with `nearby` by the nearer number.
        """
        sites, hops = self._network_hops[place - int(self.places[0])]
        order = np.lexsort((sites, np.abs(sites - place) if nearby else sites, hops))
        found: Int64 = sites[order][sites[order] != place][:count]
        return found


def _joined(a: Int64 | None, b: Int64 | None) -> Int64 | None:
    return None if a is None or b is None else np.concatenate([a, b])


def _hops_around(network: Network, endpoints: Int32, places: Int64) -> list[tuple[Int64, Int64]]:
    """Return for each place the places in its neighbourhood and their distances in hops.

    The result is that of :func:`hopbytes.algorithms.two_level.neighbourhood_of`: beyond 4096 places it
    is limited to a window of numbers, and only the hops of the forward direction count.
    """
    count = len(endpoints)
    everyone = np.arange(count)
    found = []
    for place in places:
        if count <= MOST_SITES:
            there = network.hops(endpoints[place], endpoints)
            found.append((everyone, np.maximum(there, network.hops(endpoints, endpoints[place]))))
            continue
        first = int(np.clip(place - WINDOW, 0, count - min(count, 2 * WINDOW + 1)))
        window = everyone[first : first + 2 * WINDOW + 1]
        found.append((window, np.minimum(network.hops(endpoints[place], endpoints[window]), 65534)))
    return found
