"""Groups of tasks onto nodes by the load of links (``core/congestion_*.hpp``, ``core/ptram.hpp``)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hopbytes._arrays import Int32, Int64
from hopbytes.engine.control import interruptible
from hopbytes.engine.places import Neighbourhood
from hopbytes.kernels.base import compiled, optional, optional32


class Routing(NamedTuple):
    """Routes between places, and what their links bear.

    Parameters
    ----------
    form, numbers, table, first, head
        Routes between endpoints as compiled code takes them (see ``core/routes.hpp``).
    endpoints : int32[P x ports]
        Endpoint of every port, place by place.
    links : int
    prices : int64[links] or None
        A common multiple of all capacities over the capacity of the link; None when all are equal.
    shift : int
        Amounts on links are in units of 2^-shift; 0 where every flow takes a single path.
    ports : int
        Ports of every place, see :class:`hopbytes.algorithms.two_level.ports.Ports`.
    out_ports, in_ports : int32[m] or None
        Port that each arc leaves its place by, and the one it reaches the other by; None with one port.
    """

    form: int
    numbers: Int64
    table: Int32
    first: Int32
    head: Int32
    endpoints: Int32
    links: int
    prices: Int64 | None
    shift: int
    ports: int = 1
    out_ports: Int32 | None = None
    in_ports: Int32 | None = None


class Traffic(NamedTuple):
    """Directed arcs between groups, the size of each group, and what each place may hold.

    Parameters
    ----------
    indptr, targets, volumes
        int64[G+1], int32[m], int64[m] or None for 1 each.
    sizes, capacities : int64[G], int64[P]
    """

    indptr: Int64
    targets: Int32
    volumes: Int64 | None
    sizes: Int64
    capacities: Int64


class HybridTerms(NamedTuple):
    """Weights of hop-bytes, highest congestion, mean and variance of congestion, and units of the loads.

    `unit` is what an integer of congestion counts as, `scale` what one of load does.
    """

    hop_bytes: float
    max_congestion: float
    avg_congestion: float
    var_congestion: float
    unit: float
    scale: float


_SWAP, _SEARCH, _GREEDY, _REFINE = range(4)
_NO_WEIGHTS = np.zeros(6)


def congestion_swap(
    traffic: Traffic, routing: Routing, neighbourhood: Neighbourhood, place: Int32, *, delta: int,
    paper_rule: bool,
    limit: int, deadline: float | None = None,
) -> tuple[Int32, int, int]:
    """Relieve the hottest links by exchanges, `delta` places tried per group.

    Returns
    -------
    int32[G], int, int
        Places; exchanges made (at most `limit`) and evaluated.
    """
    return _search(
        _SWAP, traffic, routing, neighbourhood, place, (delta, paper_rule, limit), deadline=deadline
    )


def congestion_search(
    traffic: Traffic, routing: Routing, neighbourhood: Neighbourhood, place: Int32, *, evaluations: int,
    nearest: int,
    band_percent: int, threshold: int, hop_percent: int | None, seed: int, hybrid: HybridTerms | None = None,
    set_percent: int = 0, deadline: float | None = None,
) -> tuple[Int32, int, int]:
    """Take load off all hot links by threshold accepting; see ``core/congestion_search.hpp``.

    Parameters
    ----------
    evaluations : int
        Exchanges to look at.
    nearest : int
        Places around a place that a group may go to.
    band_percent : int
        Links from this share of the highest congestion on are hot.
    threshold : int
        What an exchange may cost at first, in thousandths of a hottest link; falls to 0.
    hop_percent : int or None
        How far hop-bytes may rise above those at the start; None: without limit.
    hybrid : HybridTerms, optional
        Lower this metric instead of the highest congestion.
    set_percent : int
        Share of the looks that go to several groups at once (``core/set_moves.hpp``).

    Returns
    -------
    int32[G], int, int
        The best placement seen, never worse than the start; exchanges made and evaluated.
    """
    # Compiled code takes 0 for "without limit".
    limit = 0 if hop_percent is None else hop_percent + 1
    options = (
        evaluations, nearest, band_percent, threshold, limit, seed % 2**63, hybrid is not None, set_percent
    )
    weights = _NO_WEIGHTS if hybrid is None else np.array(hybrid, np.float64)
    return _search(_SEARCH, traffic, routing, neighbourhood, place, options, weights, deadline=deadline)


def hybrid_greedy(
    traffic: Traffic, routing: Routing, neighbourhood: Neighbourhood, terms: HybridTerms, classes: Int32, *,
    by_share: bool = False, deadline: float | None = None,
) -> tuple[Int32, int]:
    """Place groups one by one where the hybrid metric of all that is placed is least.

    Parameters
    ----------
    by_share : bool
        While t of G groups are placed, hop-bytes count G / t times: they grow with every group, the other
        terms do not.

    Returns
    -------
    int32[G], int
        Places; candidates evaluated.
    """
    place = np.full(len(traffic.sizes), -1, np.int32)
    weights = np.array(terms, np.float64)
    found, _, evaluations = _search(
        _GREEDY, traffic, routing, neighbourhood, place, (by_share,), weights, classes, deadline
    )
    return found, evaluations


def hottest_link_refine(
    traffic: Traffic, routing: Routing, neighbourhood: Neighbourhood, place: Int32, *, nearest: int,
    rounds: int,
    paper_rule: bool, nearby: bool = False, deadline: float | None = None,
) -> tuple[Int32, int, int]:
    """Make, in each round, the one exchange that relieves the hottest links most.

    Parameters
    ----------
    paper_rule : bool
        Only what lowers the highest congestion counts, not fewer links that have it, and only the first
        of them is looked at.
    nearby : bool
        Of places as many hops away those come first that are nearer by number, else the lower ones.

    Returns
    -------
    int32[G], int, int
        Places; rounds won; exchanges evaluated.
    """
    options = (nearest, rounds, paper_rule, nearby)
    return _search(_REFINE, traffic, routing, neighbourhood, place, options, deadline=deadline)


def route_classes(routing: Routing, capacities: Int64) -> Int32:
    """int32[P]: lowest place with the same routes to all others, links of its own aside, and capacity."""
    classes = np.empty(len(capacities), np.int32)
    compiled.route_classes(*routing[:6], routing.links, optional(routing.prices), capacities, classes)
    return classes


def _search(
    job: int, traffic: Traffic, routing: Routing, neighbourhood: Neighbourhood, place: Int32,
    options: tuple[int, ...],
    weights: NDArray[np.float64] = _NO_WEIGHTS, classes: Int32 | None = None, deadline: float | None = None,
) -> tuple[Int32, int, int]:
    control, result = np.zeros(2, np.int32), place.copy()
    if classes is None:
        classes = np.arange(len(traffic.capacities), dtype=np.int32)
    made, evaluations = interruptible(
        lambda: compiled.routed_search(
            job, *routing[:6], routing.links, optional(routing.prices), routing.shift,
            traffic.indptr, traffic.targets, optional(traffic.volumes), traffic.sizes, traffic.capacities,
            routing.ports, optional32(routing.out_ports), optional32(routing.in_ports), *neighbourhood,
            np.array(options, np.int64), weights, classes, control, result,
        ),
        control, deadline, len(traffic.targets) + len(neighbourhood.near),
    )
    return result, int(made), int(evaluations)
