"""The part of a network that one leader knows: the routes that begin or end at its own nodes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from hopbytes._arrays import Bool, Float64, Int32, Int64
from hopbytes._frozen import frozen
from hopbytes.algorithms.two_level.neighbourhood import MOST_SITES, WINDOW
from hopbytes.engine.places import Groups
from hopbytes.engine.routed_search import HybridTerms
from hopbytes.kernels.leaders import (
    LinkChanges,
    hybrid_after_each,
    peak_after_each,
    placement_order,
    sum_over_routes,
)
from hopbytes.kernels.routes import Routes
from hopbytes.machines.network.network import Network
from hopbytes.mpi.ptram.leaders import Wire


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


@frozen(eq=False)
class Part:
    """The data of one leader."""

    traffic: Groups
    own: OwnRoutes
    prices: Int64 | None  # int64[links] or None: None means 1 for each link
    wire: Wire
    #: int64[leaders]: First place of every leader; a leader has all places up to the first one of the next
    #: leader
    firsts: Int64


class Talk:
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


class Room:
    """The free places a group may take so that all other groups still fit; ``core/routing/place_fit.hpp``."""

    def __init__(self, sizes: Int64, capacities: Int64) -> None:
        caps = np.unique(capacities)
        self.group_class = np.minimum(np.searchsorted(caps, sizes), len(caps) - 1)
        self.place_class = np.searchsorted(caps, capacities)
        self._need = self._from_class_up(self.group_class, len(caps))
        self._have = self._from_class_up(self.place_class, len(caps))

    @staticmethod
    def _from_class_up(classes: Int64, count: int) -> Int64:
        found: Int64 = np.cumsum(np.bincount(classes, minlength=count)[::-1])[::-1].copy()
        return found

    def allows(self, group: int) -> Bool:
        """bool[P]: places, free or not, that the group may take."""
        own = self.group_class[group]
        spare = self._have > self._need
        spare[: own + 1] = True
        open_ = np.logical_and.accumulate(spare)
        open_[:own] = False
        found: Bool = open_[self.place_class]
        return found

    def take(self, group: int, place: int) -> None:
        """Record that the group takes the place."""
        self._need[: self.group_class[group] + 1] -= 1
        self._have[: self.place_class[place] + 1] -= 1


def batch(changes: LinkChanges, number: int) -> Int64:
    """Return int64[2 x entries], the links and then the amounts of one batch."""
    rows = slice(changes.start[number], changes.start[number + 1])
    return np.concatenate([changes.links[rows], changes.amounts[rows]])


def apply(wire: Wire, mine: Int64, entries: int, winner: int, load: Int64) -> None:
    """Broadcast the changes of link loads from the winning leader, and add them to `load`."""
    if entries == 0:
        return
    received = wire.from_winner(mine if wire.rank == winner else None, 2 * entries, winner)
    np.add.at(load, received[:entries], received[entries:])


def led_greedy(part: Part, terms: HybridTerms, *, by_share: bool) -> tuple[Int32, int]:
    """Return int32[G], the place of every group, equal on all leaders, and this leader's evaluations.

    Each group costs one Allgather of three numbers and one Bcast of the changes of link loads.
    """
    traffic, own = part.traffic, part.own
    talk, room = Talk(traffic), Room(traffic.sizes, traffic.capacities)
    load = np.zeros(own.n_links, np.int64)
    place = np.full(len(traffic.sizes), -1, np.int32)
    free = np.ones(len(traffic.capacities), np.bool_)
    evaluations = 0
    for step, group in enumerate(placement_order(*traffic).tolist()):
        weights = np.array(terms, np.float64)
        if by_share:
            weights[0] *= len(place) / (step + 1)
        arcs = talk.of(group)
        seats = place[arcs.others].astype(np.int64)
        flow = Flow(seats[seats >= 0], arcs.volumes[seats >= 0], arcs.leaves[seats >= 0])
        candidates = own.places[(room.allows(group) & free)[own.places]]
        evaluations += len(candidates)
        chosen = _take_best(part, flow, candidates, load, weights)
        if chosen < 0:  # no place is feasible: the group gets any free place, and the caller enforces bounds
            spare = int(np.argmax(free))
            chosen = _take_best(part, flow, own.places[own.places == spare], load, weights)
        place[group], free[chosen] = chosen, False
        room.take(group, chosen)
    return place, evaluations


def _take_best(
    part: Part, flow: Flow, candidates: Int64, load: Int64, weights: Float64
) -> int:
    """Return the best candidate of all leaders (-1 if there is none), and add its flows to `load`."""
    added = part.own.sums_at(candidates, flow)
    values = hybrid_after_each(added, load, part.prices, weights)
    mine, offer = np.empty(0, np.int64), np.array([np.inf, -1.0, 0.0])
    if len(values):
        best = int(np.argmin(values))
        mine = batch(added, best)
        offer = np.array([values[best], candidates[best], len(mine) // 2])
    winner, offers = -1, part.wire.offers(offer)
    for rank, (value, place, _) in enumerate(offers):
        if place >= 0 and (winner < 0 or value < offers[winner][0]):
            winner = rank  # places ascend with ranks, so ties are broken by the lowest place
    if winner < 0:
        return -1
    apply(part.wire, mine, int(offers[winner][2]), winner, load)
    return int(offers[winner][1])


def led_refine(
    part: Part, start: Int32, *, nearest: int, rounds: int, paper_rule: bool, nearby: bool
) -> tuple[Int32, int, int]:
    """Return int32[G], the place of every group; the improving rounds; the exchanges this leader evaluated.

    In every round the leaders gather pairs of a node with a flow over the hottest link and a near node. The
    leaders of the near nodes send the changes on their routes to those of the former, which evaluate the
    exchanges.
    """
    own, wire, place, evaluations = part.own, part.wire, start.copy(), 0
    talk, room = Talk(part.traffic), Room(part.traffic.sizes, part.traffic.capacities)
    load = _loads(part, talk, place)
    for done in range(rounds):
        values = load if part.prices is None else load * part.prices
        top = int(values.max(initial=0))
        if top == 0:
            return place, done, evaluations
        group_at = np.full(own.count, -1, np.int64)
        group_at[place] = np.arange(len(place))
        hot = np.flatnonzero(values == top)
        over = own.over(hot[:1] if paper_rule else hot)
        pairs = _pairs(
            part, talk, room, place, group_at, over,
            lambda origin: own.nearest(origin, nearest, nearby=nearby),
        )
        mine, changes = _changes(part, talk, place, group_at, pairs)
        evaluations += len(mine)
        tops, counts = peak_after_each(changes, load, part.prices)
        now = [top, 0 if paper_rule else len(hot)]
        offer, moves = [*now, len(pairs), 0], np.empty(0, np.int64)
        if mine:
            if paper_rule:
                counts[:] = 0
            best = int(np.lexsort((counts, tops))[0])  # stable: the first of equals
            if [tops[best], counts[best]] < now:
                moves = batch(changes, best)
                offer = [tops[best], counts[best], mine[best], len(moves) // 2]
        offers = wire.offers(np.array(offer, np.int64)).tolist()
        winner = min(range(wire.size), key=lambda rank: offers[rank][:3])
        if offers[winner][:2] == now:
            return place, done, evaluations
        apply(wire, moves, offers[winner][3], winner, load)
        origin, other = pairs[offers[winner][2]]
        here, there = int(group_at[origin]), int(group_at[other])
        place[here] = other
        if there >= 0:
            place[there] = origin
    return place, rounds, evaluations


def _loads(part: Part, talk: Talk, place: Int32) -> Int64:
    """Return int64[links], the loads of a mapping; every leader sums the flows that leave its nodes."""
    flows = []
    for group in np.flatnonzero(np.isin(place, part.own.places)):
        arcs = talk.of(int(group))
        out = arcs.leaves
        flow = Flow(place[arcs.others[out]].astype(np.int64), arcs.volumes[out], out[out])
        flows.append((int(place[group]), flow))
    found = part.own.sums(flows)
    mine = np.zeros(part.own.n_links, np.int64)
    np.add.at(mine, found.links, found.amounts)
    used = np.flatnonzero(mine)
    gathered = part.wire.gathered((used, mine[used]), 2 * used.nbytes)
    load = np.zeros(part.own.n_links, np.int64)
    for links, amounts in gathered:
        load[links] += amounts
    return load


def _pairs(
    part: Part, talk: Talk, room: Room, place: Int32, group_at: Int64, hot: Bool,
    around: Callable[[int], Int64],
) -> list[tuple[int, int]]:
    """Return all leaders' pairs of a node with a flow over the hot link and a near node to exchange with."""
    mine = []
    for origin in part.own.places[group_at[part.own.places] >= 0].tolist():
        group = int(group_at[origin])
        arcs = talk.of(group)
        flow = Flow(place[arcs.others].astype(np.int64), arcs.volumes, arcs.leaves)
        if not hot[part.own.rows(origin, flow)].any():
            continue
        for near in around(origin).tolist():
            other = int(group_at[near])
            back = other < 0 or room.place_class[origin] >= room.group_class[other]
            if back and room.place_class[near] >= room.group_class[group]:
                mine.append((origin, near))
    gathered = part.wire.gathered(mine, 16 * len(mine))
    return [pair for each in gathered for pair in each]


def _changes(
    part: Part, talk: Talk, place: Int32, group_at: Int64, pairs: list[tuple[int, int]]
) -> tuple[list[int], LinkChanges]:
    """Return the numbers of this leader's pairs and the changes on links that each exchange would cause.

    This leader has the routes of the node that a group leaves. The leader of the node that it moves to sends
    the other half: for each pair the number of links, then the links, then the amounts.
    """
    own, size = part.own, part.wire.size
    owner = np.searchsorted(part.firsts, np.arange(own.count), side="right") - 1
    mine = [number for number, (origin, _) in enumerate(pairs) if own.owns(origin)]
    theirs = [number for number, (_, near) in enumerate(pairs) if own.owns(near)]
    halves = own.sums([
        (pairs[number][1], _half(talk, place, group_at, pairs[number], at_origin=False)) for number in theirs
    ])
    parts: list[list[Int64]] = [[] for _ in range(size)]
    for i, number in enumerate(theirs):
        half = batch(halves, i)
        parts[owner[pairs[number][0]]] += [np.array([number, len(half) // 2]), half]
    empty = np.empty(0, np.int64)
    received = part.wire.exchanged([np.concatenate([empty, *each]) for each in parts])
    other_half = {}
    for message in received:
        at = 0
        while at < len(message):
            number, count = int(message[at]), int(message[at + 1])
            other_half[number] = message[at + 2 : at + 2 + 2 * count]
            at += 2 + 2 * count
    first = own.sums([
        (pairs[number][0], _half(talk, place, group_at, pairs[number], at_origin=True)) for number in mine
    ])
    links, amounts, counts = [empty], [empty], [0]
    for i, number in enumerate(mine):
        for half in (batch(first, i), other_half[number]):
            links.append(half[: len(half) // 2])
            amounts.append(half[len(half) // 2 :])
        counts.append(len(links[-1]) + len(links[-2]))
    return mine, LinkChanges(np.cumsum(counts), np.concatenate(links), np.concatenate(amounts))


def _half(talk: Talk, place: Int32, group_at: Int64, pair: tuple[int, int], *, at_origin: bool) -> Flow:
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
        arcs = talk.of(who)
        apart = (arcs.others != group) & (arcs.others != other)
        others.append(place[arcs.others[apart]].astype(np.int64))
        volumes.append(sign * arcs.volumes[apart])
        leaves.append(arcs.leaves[apart])
    if at_origin and other >= 0:
        arcs = talk.of(group)
        between = arcs.others == other
        for sign, turned in ((-1, False), (1, True)):
            volumes.append(sign * arcs.volumes[between])
            others.append(np.full(int(between.sum()), near))
            leaves.append(arcs.leaves[between] != turned)
    return Flow(np.concatenate(others), np.concatenate(volumes), np.concatenate(leaves))
