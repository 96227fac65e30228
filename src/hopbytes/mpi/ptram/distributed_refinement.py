"""The part of one leader in PTRAM's distributed refinement (Mirsadeghi and Afsahi, 2016, algorithm 2).

In the paper a leader knows the routes of its own node only, but an exchange changes routes of two nodes.
Therefore each of the two leaders computes its half of the change, and the leader of the node with a flow over
the hottest link evaluates the sum.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from hopbytes._arrays import Bool, Int32, Int64
from hopbytes.kernels.leaders import LinkChanges, peak_after_each
from hopbytes.mpi.ptram.own_routes import Flow
from hopbytes.mpi.ptram.part import Part, Room, Talk, apply, batch


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
