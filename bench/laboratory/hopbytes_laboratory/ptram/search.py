"""What one leader does in PTRAM's distributed searches (Mirsadeghi and Afsahi, 2016, algorithms 1 and 2).

Every leader knows the pattern, the mapping so far, the load of every link, and the routes from and to its own
nodes. All numbers are the integers of the serial searches, so the results are equal. A site is a node that
may get a group of tasks.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from hopbytes._arrays import Array, Bool, Float64, Int32, Int64
from hopbytes._frozen import frozen
from hopbytes.algorithms.two_level.neighbourhood import MOST_SITES, WINDOW
from hopbytes.engine.routed_search import Groups, HybridTerms
from hopbytes.kernels.routes import (
    LinkChanges,
    Routes,
    hybrid_after_each,
    peak_after_each,
    placement_order,
    sum_over_routes,
)
from hopbytes.machines.network import Network
from hopbytes.mpi.processes import Comm


class Wire:
    """A communicator that counts what this process sends to others."""

    def __init__(self, comm: Comm) -> None:
        self._comm = comm
        self.rank, self.size = comm.Get_rank(), comm.Get_size()
        self.collectives = self.messages = self.bytes = 0

    def broadcast(self, value: Any, size: int = 0) -> Any:
        """Return the value of rank 0 on all leaders; `size` is its size in bytes, for the count."""
        self._book(self.size - 1 if self.rank == 0 else 0, size)
        return self._comm.bcast(value, root=0)

    def gathered(self, value: Any, size: int = 0) -> list[Any]:
        """Return the values of all leaders, by rank."""
        self._book(self.size - 1, size)
        values: list[Any] = self._comm.allgather(value)
        return values

    def offers(self, mine: Array) -> Array:
        """Return an array [size, n] with the n numbers of every leader (MPI_Allgather)."""
        self._book(self.size - 1, mine.nbytes)
        offers = np.empty((self.size, len(mine)), mine.dtype)
        self._comm.Allgather(mine, offers)
        return offers

    def from_winner(self, mine: Int64, count: int, winner: int) -> Int64:
        """Return int64[count], the numbers of the leader `winner` (MPI_Bcast)."""
        numbers = mine if self.rank == winner else np.empty(count, np.int64)
        self._book(self.size - 1 if self.rank == winner else 0, numbers.nbytes)
        self._comm.Bcast(numbers, root=winner)
        return numbers

    def exchanged(self, parts: list[Int64]) -> list[Int64]:
        """Send ``parts[i]`` to leader i and return what each leader sent to this one (MPI_Alltoall)."""
        self._book(0, 0)
        for rank, part in enumerate(parts):
            if rank != self.rank and len(part):
                self.messages += 1
                self.bytes += part.nbytes
        received: list[Int64] = self._comm.alltoall(parts)
        return received

    def _book(self, receivers: int, size: int) -> None:
        self.collectives += 1
        self.messages += receivers
        self.bytes += receivers * size


class GroupedWire(Wire):
    """A communicator whose processes exchange data inside groups; only the first of a group speaks for it."""

    def __init__(self, comm: Comm, members: int) -> None:
        super().__init__(comm)
        self._members, self._group = members, self.rank // members
        self._near = comm.Split(self._group, self.rank)
        self._place = self.rank % members
        self._far = comm.Split(1 if self._place else 0, self.rank)  # of use between the first of each group
        self._groups = -(-self.size // members)

    def broadcast(self, value: Any, size: int = 0) -> Any:
        """Return the value of rank 0 on all leaders: it goes to the groups, then inside them."""
        if self._place == 0:
            self._book(self._groups - 1 if self.rank == 0 else 0, size)
            value = self._far.bcast(value, root=0)
        return self._inside(value, size)

    def gathered(self, value: Any, size: int = 0) -> list[Any]:
        """Return the values of all leaders, by rank."""
        values = self._to_first(value, size)
        if values is not None:
            self._book(self._groups - 1, size * len(values))
            values = [one for group in self._far.allgather(values) for one in group]
        found: list[Any] = self._inside(values, size * self.size)
        return found

    def offers(self, mine: Array) -> Array:
        """Return an array [size, n] with the n numbers of every leader."""
        return np.stack(self.gathered(mine, mine.nbytes))

    def from_winner(self, mine: Int64, count: int, winner: int) -> Int64:
        """Return int64[count], the numbers of the leader `winner`: first in its group, then in the others."""
        numbers = mine if self.rank == winner else np.empty(count, np.int64)
        group, place = divmod(winner, self._members)
        if self._group == group:
            self._book(self._near.Get_size() - 1 if self.rank == winner else 0, numbers.nbytes)
            self._near.Bcast(numbers, root=place)
        if self._place == 0:
            self._book(self._groups - 1 if self._group == group else 0, numbers.nbytes)
            self._far.Bcast(numbers, root=group)
        if self._group != group:
            self._book(self._near.Get_size() - 1 if self._place == 0 else 0, numbers.nbytes)
            self._near.Bcast(numbers, root=0)
        return numbers

    def exchanged(self, parts: list[Int64]) -> list[Int64]:
        """Send ``parts[i]`` to leader i and return what each leader sent to this one."""
        size = sum(part.nbytes for part in parts)
        rows, step = self._to_first(parts, size), self._members
        found: list[list[Int64]] | None = None
        if rows is not None:
            bundles = [[row[at : at + step] for row in rows] for at in range(0, self.size, step)]
            for group, bundle in enumerate(bundles):
                if group != self._group and (sent := sum(part.nbytes for row in bundle for part in row)):
                    self.messages += 1
                    self.bytes += sent
            received = [row for bundle in self._far.alltoall(bundles) for row in bundle]
            found = [list(column) for column in zip(*received, strict=True)]
            self._book(len(found) - 1, sum(part.nbytes for own in found[1:] for part in own) // len(found))
        mine: list[Int64] = self._near.scatter(found, root=0)
        return mine

    def _to_first(self, value: Any, size: int) -> list[Any] | None:
        """Return the values of a group on its first process, None on the others."""
        self._book(1 if self._place else 0, size)
        values: list[Any] | None = self._near.gather(value, root=0)
        return values

    def _inside(self, value: Any, size: int) -> Any:
        self._book(0 if self._place else self._near.Get_size() - 1, size)
        return self._near.bcast(value, root=0)


@frozen(eq=False)
class Flow:
    """Flows between one site and others."""

    others: Int64  # int64[f]: The sites at the far ends
    volumes: Int64  # int64[f]: Negative if a flow is removed
    leaves: Bool  # bool[f]: True if the flow leaves the site, False if it arrives there


class OwnRoutes:
    """Routes from and to the sites ``first .. last - 1``, 2 P of them for each of these."""

    def __init__(
        self, network: Network, endpoints: Int32, first: int, last: int, shift: int, threads: int = 1
    ) -> None:
        self._threads = threads
        self.sites = np.arange(first, last)
        self.count, self.n_links, self.shift = len(endpoints), network.n_links, shift
        own, all_ = np.repeat(endpoints[first:last], self.count), np.tile(endpoints, last - first)
        there, back = network.routes(own, all_), network.routes(all_, own)
        self.routes = Routes(
            np.concatenate([there.indptr, there.indptr[-1] + back.indptr[1:]]),
            np.concatenate([there.links, back.links]),
            _joined(there.numerators, back.numerators), _joined(there.denominators, back.denominators),
        )
        self._hops = [_hops_around(network, endpoints, site) for site in self.sites.tolist()]

    def __len__(self) -> int:
        return len(self.routes.indptr) - 1

    @property
    def nbytes(self) -> int:
        """Bytes of memory that the routes take."""
        return sum(part.nbytes for part in self.routes if part is not None)

    def owns(self, site: int) -> bool:
        """Whether the routes of `site` are among these."""
        return bool(self.sites[0] <= site <= self.sites[-1])

    def rows(self, site: int | Int64, flow: Flow) -> Int64:
        """Return int64[f], the rows of the flows between an own site and others."""
        own = site - int(self.sites[0])
        rows: Int64 = np.where(flow.leaves, own, own + len(self.sites)) * self.count + flow.others
        return rows

    def sums(self, flows: list[tuple[int, Flow]]) -> LinkChanges:
        """Return the link loads of flows, one batch for each pair of an own site and its flows."""
        start = np.cumsum([0, *(len(flow.volumes) for _, flow in flows)])
        if not flows:
            return LinkChanges(start, np.empty(0, np.int64), np.empty(0, np.int64))
        rows = np.concatenate([self.rows(site, flow) for site, flow in flows])
        volumes = np.concatenate([flow.volumes for _, flow in flows])
        return self._summed(start, rows, volumes)

    def sums_at(self, sites: Int64, flow: Flow) -> LinkChanges:
        """Return the link loads of the same flows from each of several own sites."""
        rows = self.rows(sites[:, None], flow)
        start = np.arange(len(sites) + 1) * len(flow.others)
        volumes = np.tile(flow.volumes, len(sites))
        return self._summed(start, rows.reshape(-1), volumes)

    def _summed(self, start: Int64, rows: Int64, volumes: Int64) -> LinkChanges:
        """Sum batches, those of each thread one after another; the result does not depend on threads."""
        batches = len(start) - 1
        ends: Any = np.arange(self._threads + 1) * batches // self._threads
        if self._threads == 1 or batches < self._threads:
            ends = np.array([0, batches])

        def work(part: int) -> LinkChanges:
            own = start[ends[part] : ends[part + 1] + 1]
            flows = slice(own[0], own[-1])
            return sum_over_routes(
                self.routes, self.shift, self.n_links, own - own[0], rows[flows], volumes[flows]
            )

        if len(ends) == 2:
            return work(0)
        with ThreadPoolExecutor(self._threads) as pool:
            found = list(pool.map(work, range(len(ends) - 1)))
        before = np.cumsum([0, *(len(part.links) for part in found)])
        starts = [part.start[:-1] + at for part, at in zip(found, before[:-1], strict=True)]
        return LinkChanges(
            np.concatenate([*starts, before[-1:]]), np.concatenate([part.links for part in found]),
            np.concatenate([part.amounts for part in found]),
        )

    def over(self, links: Int64) -> Bool:
        """Return bool[rows], True for the routes that use any of the given links."""
        over = np.zeros(len(self), np.bool_)
        hits = np.flatnonzero(np.isin(self.routes.links, links))
        over[np.searchsorted(self.routes.indptr, hits, side="right") - 1] = True
        return over

    def nearest(self, site: int, count: int, *, nearby: bool = False) -> Int64:
        """Return the `count` sites nearest to an own one, by the hops of the longer of both directions."""
        sites, hops = self._hops[site - int(self.sites[0])]
        order = np.lexsort((sites, np.abs(sites - site) if nearby else sites, hops))
        near: Int64 = sites[order][sites[order] != site][:count]
        return near


def _joined(a: Int64 | None, b: Int64 | None) -> Int64 | None:
    return None if a is None or b is None else np.concatenate([a, b])


def _hops_around(network: Network, endpoints: Int32, site: int) -> tuple[Int64, Int64]:
    """Return the sites in the neighbourhood of one and their distances in hops.

    The result is that of :func:`hopbytes.algorithms.two_level.neighbourhood_of`: beyond 4096 sites it
    is limited to a window of numbers, and only the hops of the forward direction count.
    """
    count = len(endpoints)
    if count <= MOST_SITES:
        there, back = network.hops(endpoints[site], endpoints), network.hops(endpoints, endpoints[site])
        return np.arange(count), np.maximum(there, back)
    first = int(np.clip(site - WINDOW, 0, count - min(count, 2 * WINDOW + 1)))
    window = np.arange(first, min(first + 2 * WINDOW + 1, count))
    return window, np.minimum(network.hops(endpoints[site], endpoints[window]), 65534)


class Part:
    """The data of one leader."""

    def __init__(
        self, traffic: Groups, own: OwnRoutes, prices: Int64 | None, wire: Wire, firsts: Int64
    ) -> None:
        self.traffic, self.own, self.wire = traffic, own, wire
        self.prices = prices  # int64[links]; None means 1 for each link
        #: int64[leaders]: First site of every leader; a leader has all sites up to the first one of the next
        self.firsts = firsts
        self.arcs, self.fits = GroupArcs(traffic), Fits(traffic.sizes, traffic.capacities)

    def apply(self, mine: Int64, entries: int, winner: int, load: Int64) -> None:
        """Broadcast the changes of link loads from the winning leader, and add them to `load`."""
        if entries:
            received = self.wire.from_winner(mine, 2 * entries, winner)
            np.add.at(load, received[:entries], received[entries:])


class GroupArcs:
    """The arcs of every group in both directions, without loops and without arcs of volume 0."""

    def __init__(self, traffic: Groups) -> None:
        groups = len(traffic.sizes)
        source = np.repeat(np.arange(groups), np.diff(traffic.csr.indptr))
        targets, volumes = traffic.csr.targets, traffic.csr.weights
        volume = np.ones(len(source), np.int64) if volumes is None else volumes
        counts = (source != targets) & (volume > 0)
        a, b, v = source[counts], targets[counts].astype(np.int64), volume[counts]
        ends, others = np.concatenate([a, b]), np.concatenate([b, a])
        order = np.argsort(ends, kind="stable")
        self._start = np.searchsorted(ends[order], np.arange(groups + 1))
        self._others, self._volumes = others[order], np.concatenate([v, v])[order]
        self._leaves = (np.arange(len(ends)) < len(a))[order]

    def of(self, group: int) -> Flow:
        """Return the arcs of a group; `others` are groups."""
        rows = slice(self._start[group], self._start[group + 1])
        return Flow(self._others[rows], self._volumes[rows], self._leaves[rows])


class Fits:
    """The free sites a group may take so that all other groups still fit; ``core/routing/places.hpp``."""

    def __init__(self, sizes: Int64, capacities: Int64) -> None:
        caps = np.unique(capacities)
        self.group_class = np.minimum(np.searchsorted(caps, sizes), len(caps) - 1)
        self.site_class = np.searchsorted(caps, capacities)
        self._need, self._have = (
            np.cumsum(np.bincount(classes, minlength=len(caps))[::-1])[::-1].copy()
            for classes in (self.group_class, self.site_class)
        )

    def allows(self, group: int) -> Bool:
        """bool[P]: sites, free or not, that the group may take."""
        own = self.group_class[group]
        spare = self._have > self._need
        spare[: own + 1] = True
        open_ = np.logical_and.accumulate(spare)
        open_[:own] = False
        allowed: Bool = open_[self.site_class]
        return allowed

    def take(self, group: int, site: int) -> None:
        self._need[: self.group_class[group] + 1] -= 1
        self._have[: self.site_class[site] + 1] -= 1


def _batch(changes: LinkChanges, number: int) -> Int64:
    """Return int64[2 x entries], the links and then the amounts of one batch."""
    rows = slice(changes.start[number], changes.start[number + 1])
    return np.concatenate([changes.links[rows], changes.amounts[rows]])


def led_greedy(part: Part, terms: HybridTerms, *, by_share: bool) -> tuple[Int32, int]:
    """Return int32[G], the site of every group, equal on all leaders, and this leader's evaluations."""
    traffic, own = part.traffic, part.own
    load = np.zeros(own.n_links, np.int64)
    site_of = np.full(len(traffic.sizes), -1, np.int32)
    free = np.ones(len(traffic.capacities), np.bool_)
    evaluations = 0
    for step, group in enumerate(placement_order(*traffic).tolist()):
        weights = np.array(terms, np.float64)
        if by_share:
            weights[0] *= len(site_of) / (step + 1)
        arcs = part.arcs.of(group)
        sites = site_of[arcs.others].astype(np.int64)
        flow = Flow(sites[sites >= 0], arcs.volumes[sites >= 0], arcs.leaves[sites >= 0])
        candidates = own.sites[(part.fits.allows(group) & free)[own.sites]]
        evaluations += len(candidates)
        chosen = _take_best(part, flow, candidates, load, weights)
        if chosen < 0:  # no site is feasible: the group gets any free one, and the caller enforces bounds
            spare = int(np.argmax(free))
            chosen = _take_best(part, flow, own.sites[own.sites == spare], load, weights)
        site_of[group], free[chosen] = chosen, False
        part.fits.take(group, chosen)
    return site_of, evaluations


def _take_best(part: Part, flow: Flow, candidates: Int64, load: Int64, weights: Float64) -> int:
    """Return the best candidate of all leaders (-1 if there is none), and add its flows to `load`."""
    added = part.own.sums_at(candidates, flow)
    values = hybrid_after_each(added, load, part.prices, weights)
    mine, offer = np.empty(0, np.int64), np.array([np.inf, -1.0, 0.0])
    if len(values):
        best = int(np.argmin(values))
        mine = _batch(added, best)
        offer = np.array([values[best], candidates[best], len(mine) // 2])
    winner, offers = -1, part.wire.offers(offer)
    for rank, (value, site, _) in enumerate(offers):
        if site >= 0 and (winner < 0 or value < offers[winner][0]):
            winner = rank  # sites ascend with ranks, so ties are broken by the lowest site
    if winner < 0:
        return -1
    part.apply(mine, int(offers[winner][2]), winner, load)
    return int(offers[winner][1])


def led_refine(
    part: Part, start: Int32, *, nearest: int, rounds: int, rule: int, nearby: bool
) -> tuple[Int32, int, int]:
    """Return int32[G], the site of every group; the improving rounds; the exchanges this leader evaluated.

    In the paper a leader knows the routes of its own node only, but an exchange changes routes of two nodes.
    Therefore in every round the leaders gather pairs of a node with a flow over the hottest link and a near
    node, and each of the two leaders computes its half of the change. The leaders of the near nodes send
    theirs to those of the former, which evaluate the exchanges.
    """
    own, wire, site_of, evaluations = part.own, part.wire, start.copy(), 0
    paper_rule, listing = rule > 0, rule == 2
    load = _loads(part, site_of)
    for done in range(rounds):
        values = load if part.prices is None else load * part.prices
        top = int(values.max(initial=0))
        if top == 0:
            return site_of, done, evaluations
        group_at = np.full(own.count, -1, np.int64)
        group_at[site_of] = np.arange(len(site_of))
        hot = np.flatnonzero(values == top)
        over = own.over(hot[:1] if paper_rule else hot)
        pairs = _pairs(part, site_of, group_at, over, nearest, nearby=nearby, listing=listing)
        mine, changes = _changes(part, site_of, group_at, pairs)
        evaluations += len(mine)
        tops, counts = peak_after_each(changes, load, part.prices)
        now = [top, 0 if paper_rule else len(hot)]
        offer, moves = [*now, len(pairs), 0], np.empty(0, np.int64)
        if mine:
            if paper_rule:
                counts[:] = 0
            best = int(np.lexsort((counts, tops))[0])  # stable: the first of equals
            if [tops[best], counts[best]] < now:
                moves = _batch(changes, best)
                offer = [tops[best], counts[best], mine[best], len(moves) // 2]
        offers = wire.offers(np.array(offer, np.int64)).tolist()
        winner = min(range(wire.size), key=lambda rank: offers[rank][:3])
        if offers[winner][:2] == now:
            return site_of, done, evaluations
        part.apply(moves, offers[winner][3], winner, load)
        origin, other = pairs[offers[winner][2]]
        here, there = int(group_at[origin]), int(group_at[other])
        site_of[here] = other
        if there >= 0:
            site_of[there] = origin
    return site_of, rounds, evaluations


def _loads(part: Part, site_of: Int32) -> Int64:
    """Return int64[links], the loads of a mapping; every leader sums the flows that leave its nodes."""
    flows = []
    for group in np.flatnonzero(np.isin(site_of, part.own.sites)).tolist():
        arcs = part.arcs.of(group)
        out = arcs.leaves
        flow = Flow(site_of[arcs.others[out]].astype(np.int64), arcs.volumes[out], out[out])
        flows.append((int(site_of[group]), flow))
    sums = part.own.sums(flows)
    mine = np.zeros(part.own.n_links, np.int64)
    np.add.at(mine, sums.links, sums.amounts)
    used = np.flatnonzero(mine)
    load = np.zeros(part.own.n_links, np.int64)
    for links, amounts in part.wire.gathered((used, mine[used]), 2 * used.nbytes):
        load[links] += amounts
    return load


def _pairs(
    part: Part, site_of: Int32, group_at: Int64, hot: Bool, nearest: int, *, nearby: bool,
    listing: bool,
) -> list[tuple[int, int]]:
    """Return all leaders' pairs of a node with a flow over the hot link and a near node to exchange with."""
    mine, own, fits = [], part.own, part.fits
    for origin in own.sites[group_at[own.sites] >= 0].tolist():
        group = int(group_at[origin])
        arcs = part.arcs.of(group)
        flow = Flow(site_of[arcs.others].astype(np.int64), arcs.volumes, arcs.leaves)
        over = hot[own.rows(origin, flow)] & (flow.leaves | (not listing))
        if not over.any():
            continue
        for near in own.nearest(origin, nearest, nearby=nearby).tolist():
            other = int(group_at[near])
            if listing and other < 0:
                continue
            back = other < 0 or fits.site_class[origin] >= fits.group_class[other]
            if back and fits.site_class[near] >= fits.group_class[group]:
                mine.append((origin, near))
    return [pair for pairs in part.wire.gathered(mine, 16 * len(mine)) for pair in pairs]


def _changes(
    part: Part, site_of: Int32, group_at: Int64, pairs: list[tuple[int, int]]
) -> tuple[list[int], LinkChanges]:
    """Return the numbers of this leader's pairs and the changes on links that each exchange would cause."""
    own, empty = part.own, np.empty(0, np.int64)
    owner = np.searchsorted(part.firsts, np.arange(own.count), side="right") - 1
    mine = [number for number, (origin, _) in enumerate(pairs) if own.owns(origin)]
    theirs = [number for number, (_, near) in enumerate(pairs) if own.owns(near)]

    def halves(numbers: list[int], *, at_origin: bool) -> LinkChanges:
        end = 0 if at_origin else 1
        return own.sums([
            (pairs[number][end], _half(part.arcs, site_of, group_at, pairs[number], at_origin=at_origin))
            for number in numbers
        ])

    near_halves = halves(theirs, at_origin=False)
    # To the leader of the node that a group leaves: of each pair the number of links, the links, the amounts.
    messages: list[list[Int64]] = [[] for _ in range(part.wire.size)]
    for i, number in enumerate(theirs):
        half = _batch(near_halves, i)
        messages[owner[pairs[number][0]]] += [np.array([number, len(half) // 2]), half]
    other_half = {}
    for message in part.wire.exchanged([np.concatenate([empty, *pieces]) for pieces in messages]):
        at = 0
        while at < len(message):
            number, count = int(message[at]), int(message[at + 1])
            other_half[number] = message[at + 2 : at + 2 + 2 * count]
            at += 2 + 2 * count
    own_halves = halves(mine, at_origin=True)
    links, amounts, counts = [empty], [empty], [0]
    for i, number in enumerate(mine):
        for half in (_batch(own_halves, i), other_half[number]):
            links.append(half[: len(half) // 2])
            amounts.append(half[len(half) // 2 :])
        counts.append(len(links[-1]) + len(links[-2]))
    return mine, LinkChanges(np.cumsum(counts), np.concatenate(links), np.concatenate(amounts))


def _half(
    all_arcs: GroupArcs, site_of: Int32, group_at: Int64, pair: tuple[int, int], *, at_origin: bool
) -> Flow:
    """Return the flows that an exchange adds to and removes from the routes of one of the two nodes.

    Flows between the two groups use routes of both nodes; they are counted in the half of the origin node.
    """
    origin, near = pair
    group, other = int(group_at[origin]), int(group_at[near])
    goes, comes = (group, other) if at_origin else (other, group)
    others, volumes, leaves = [], [], []
    for who, sign in ((goes, -1), (comes, 1)):
        if who < 0:
            continue
        arcs = all_arcs.of(who)
        apart = (arcs.others != group) & (arcs.others != other)
        others.append(site_of[arcs.others[apart]].astype(np.int64))
        volumes.append(sign * arcs.volumes[apart])
        leaves.append(arcs.leaves[apart])
    if at_origin and other >= 0:
        arcs = all_arcs.of(group)
        between = arcs.others == other
        for sign, reversed_ in ((-1, False), (1, True)):
            volumes.append(sign * arcs.volumes[between])
            others.append(np.full(int(between.sum()), near))
            leaves.append(arcs.leaves[between] != reversed_)
    return Flow(np.concatenate(others), np.concatenate(volumes), np.concatenate(leaves))
