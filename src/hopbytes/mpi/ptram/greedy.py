"""The part of one leader in PTRAM's distributed greedy mapping (Mirsadeghi and Afsahi, 2016, algorithm 1).

Every leader knows the pattern, the partial mapping, the load of every link, and the routes of its own nodes.
It evaluates its own free nodes. The best candidate of all leaders is taken, and its leader broadcasts the
changes of the link loads. All numbers are the integers of the serial search, so the results are equal.
"""

from __future__ import annotations

import numpy as np

from hopbytes._arrays import Float64, Int32, Int64
from hopbytes.engine.routed_search import HybridTerms
from hopbytes.kernels.leaders import hybrid_after_each, placement_order
from hopbytes.mpi.ptram.own_routes import Flow
from hopbytes.mpi.ptram.part import Part, Room, Talk, apply, batch


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
