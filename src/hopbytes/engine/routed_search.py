"""Placement of groups of tasks on nodes by link loads (``core/congestion_*.hpp``, ``core/ptram.hpp``)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hopbytes._arrays import Float64, Int32, Int64
from hopbytes.engine.control import interruptible
from hopbytes.engine.places import Neighbourhood
from hopbytes.kernels.base import compiled, optional, optional32


class Routing(NamedTuple):
    """Routes between places, and the capacities of their links.

    Parameters
    ----------
    form, numbers, table, first, head
        Routes between endpoints as compiled code takes them (see ``core/routes.hpp``).
    endpoints : int32[P x ports]
        Endpoint of every port, place by place.
    links : int
    prices : int64[links] or None
        A common multiple of all capacities over the capacity of the link; None if all are equal.
    shift : int
        Amounts on links are in units of 2^-shift; 0 if every flow takes a single path.
    ports : int
        Ports of every place, see :class:`hopbytes.algorithms.two_level.ports.Ports`.
    out_ports, in_ports : int32[m] or None
        Port of each arc at the place where it begins and at the place where it ends; None with one port.
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
    """Directed arcs between groups, the size of each group, and the capacity of each place.

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

    `unit` is the number of integers per unit of congestion, `scale` the number of integers per byte of load.
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
    paper_rule: bool, limit: int, deadline: float | None = None,
) -> tuple[Int32, int, int]:
    """Relieve the hottest links by exchanges; `delta` places are tried per group.

    Returns
    -------
    int32[G], int, int
        Places; exchanges made (at most `limit`) and evaluated.
    """
    options = (delta, paper_rule, limit)
    return _search(_SWAP, traffic, routing, neighbourhood, place, options, deadline=deadline)


def congestion_search(
    traffic: Traffic, routing: Routing, neighbourhood: Neighbourhood, place: Int32, *, evaluations: int,
    nearest: int, band_percent: int, threshold: int, hop_percent: int | None, seed: int,
    hybrid: HybridTerms | None = None, set_percent: int = 0, deadline: float | None = None,
) -> tuple[Int32, int, int]:
    """Lower the load of all hot links by threshold accepting; see ``core/congestion_search.hpp``.

    Parameters
    ----------
    evaluations : int
        Exchanges to evaluate.
    nearest : int
        Number of places around a place that are candidates for a group.
    band_percent : int
        Links with at least this share of the highest congestion are hot.
    threshold : int
        Initial threshold, in thousandths of a group's average share of the objective; it falls to 0.
    hop_percent : int or None
        By how much hop-bytes may exceed those of the start; None: no limit.
    hybrid : HybridTerms, optional
        Lower this metric instead of the highest congestion.
    set_percent : int
        Share of evaluations in which several groups move at once (``core/set_moves.hpp``).

    Returns
    -------
    int32[G], int, int
        The best placement seen, never worse than the start; exchanges made and evaluated.
    """
    # In compiled code 0 means "no limit".
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
    """Place groups one by one where the hybrid metric of all placed groups is least.

    Parameters
    ----------
    by_share : bool
        While t of G groups are placed, multiply hop-bytes by G / t, because they grow with every group while
        the other terms do not.

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
    rounds: int, paper_rule: bool, nearby: bool = False, deadline: float | None = None,
) -> tuple[Int32, int, int]:
    """Make, in each round, the single exchange that relieves the hottest links most.

    Parameters
    ----------
    paper_rule : bool
        Only exchanges that lower the highest congestion count, not those that leave fewer hottest links, and
        only the first hottest link is relieved.
    nearby : bool
        Among places at the same distance prefer the closest numbers, otherwise the lowest.

    Returns
    -------
    int32[G], int, int
        Places; rounds with an exchange; exchanges evaluated.
    """
    options = (nearest, rounds, paper_rule, nearby)
    return _search(_REFINE, traffic, routing, neighbourhood, place, options, deadline=deadline)


def route_classes(routing: Routing, capacities: Int64) -> Int32:
    """int32[P]: lowest place of equal capacity and the same routes to all others, own links aside."""
    classes = np.empty(len(capacities), np.int32)
    compiled.route_classes(*routing[:6], routing.links, optional(routing.prices), capacities, classes)
    return classes


def _search(
    job: int, traffic: Traffic, routing: Routing, neighbourhood: Neighbourhood, place: Int32,
    options: tuple[int, ...], weights: Float64 = _NO_WEIGHTS, classes: Int32 | None = None,
    deadline: float | None = None,
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
