"""Mapping of groups of tasks to nodes by hops and by link loads (``core/routing``)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import NamedTuple

import numpy as np

from hopbytes._arrays import Float64, Int32, Int64, UInt16
from hopbytes._frozen import frozen
from hopbytes.engine.control import DEFAULT_CONTROL, RunControl, interruptible
from hopbytes.engine.problem import DistanceArrays, prepare
from hopbytes.kernels.base import compiled
from hopbytes.kernels.records import Csr, Distances


class Neighbourhood(NamedTuple):
    """Sites (nodes), the sites around each of them, and the places at each site."""

    #: int32[sites * reach]: For every site its `reach` nearest sites, beginning with itself (in case of ties
    #: the lower number)
    near: Int32
    hops: UInt16  # uint16[sites * reach]: Distance of each of them
    site: Int32  # int32[P]: Site of every place
    place_start: Int64  # int64[sites+1]: Places of every site, ascending
    place: Int32  # int32[P]


class Groups(NamedTuple):
    """Groups of tasks that are assigned to places as a whole, at most one group per place."""

    #: the graph between groups: symmetric without diagonal for searches by hops, directed for searches by
    #: link loads
    csr: Csr
    sizes: Int64  # int64[G]: Size of each group
    capacities: Int64  # int64[P]: Capacity of each place


def _scaled(groups: Groups, distances: Distances) -> tuple[Groups, DistanceArrays]:
    """Return groups and distances as compiled code takes them: sums of products cannot overflow."""
    csr = groups.csr
    weights, arrays, _ = prepare(csr.weights, len(csr.targets), distances)
    return groups._replace(csr=csr._replace(weights=weights)), arrays


def hop_greedy(
    groups: Groups, neighbourhood: Neighbourhood, distances: Distances, seeds: int
) -> tuple[Int32, int]:
    """Assign groups to places one after another, each near its communication partners."""
    scaled, arrays = _scaled(groups, distances)
    place = np.full(len(groups.sizes), -1, np.int32)
    return place, int(compiled.hop_greedy(scaled, neighbourhood, arrays, seeds, place))


def hop_swap(
    groups: Groups, neighbourhood: Neighbourhood, distances: Distances, place: Int32, delta: int,
    *, control: RunControl = DEFAULT_CONTROL,
) -> tuple[Int32, int]:
    """Exchange groups (or move one to a free place) as long as this lowers the sum of weight x distance."""
    scaled, arrays = _scaled(groups, distances)
    flag, result = control.flag(), place.copy()
    _, evaluations = interruptible(
        lambda: compiled.hop_swap(scaled, neighbourhood, arrays, delta, (flag, None), result),
        flag, control, len(groups.csr.targets) + len(neighbourhood.near),
    )
    return result, int(evaluations)


class Routing(NamedTuple):
    """Routes between places, and the capacities of their links."""

    #: routes between endpoints in the form that compiled code takes (see ``core/routing/routes.hpp``).
    form: int
    numbers: Int64
    table: Int32
    first: Int32
    head: Int32
    endpoints: Int32  # int32[P x ports]: Endpoint of every port, place by place
    links: int
    #: int64[links] or None: A common multiple of all capacities over the capacity of the link; None if all
    #: are equal
    prices: Int64 | None
    shift: int  # loads of links are in units of 2^-shift; 0 if every flow takes a single path
    ports: int = 1  # number of ports per place, see :class:`hopbytes.algorithms.two_level.routing.Ports`.
    #: int32[m] or None: Port of each arc at the place where it begins and at the place where it ends; None
    #: with one port
    out_ports: Int32 | None = None
    in_ports: Int32 | None = None  # int32[m] or None


class HybridTerms(NamedTuple):
    """Weights of hop-bytes and of maximum, mean and variance of congestion, and units of the loads.

    `unit` is the integer value of one unit of congestion, and `scale` that of one byte of load.
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
    traffic: Groups, routing: Routing, neighbourhood: Neighbourhood, place: Int32, *, delta: int,
    paper_rule: bool, limit: int, control: RunControl = DEFAULT_CONTROL,
) -> tuple[Int32, int, int]:
    """Lower the congestion of the hottest links by exchanges; `delta` places are tried per group."""
    options = {"delta": delta, "paper_rule": paper_rule, "limit": limit}
    return _search(_SWAP, traffic, routing, neighbourhood, place, options, control=control)


@frozen
class CongestionSettings:
    """Effort and acceptance of threshold accepting, see the options of the refiner ``congestion``."""

    evaluations: int  # number of exchanges to evaluate
    nearest: int
    band_percent: int
    threshold: int
    hop_percent: int | None
    set_percent: int = 0  # ``SetMoves`` in congestion_search.hpp


def congestion_search(
    traffic: Groups, routing: Routing, neighbourhood: Neighbourhood, place: Int32,
    settings: CongestionSettings, *, hybrid: HybridTerms | None = None, control: RunControl = DEFAULT_CONTROL,
) -> tuple[Int32, int, int]:
    """Lower the load of all hot links by threshold accepting; see ``core/routing/congestion_search.hpp``."""
    # In compiled code -1 means "no limit".
    limit = -1 if settings.hop_percent is None else settings.hop_percent
    options = asdict(settings) | {
        "hop_percent": limit, "hybrid": hybrid is not None, "seed": control.seed % 2**63,
    }  # fmt: skip
    weights = _NO_WEIGHTS if hybrid is None else np.array(hybrid, np.float64)
    return _search(_SEARCH, traffic, routing, neighbourhood, place, options, weights, control=control)


def hybrid_greedy(
    traffic: Groups, routing: Routing, neighbourhood: Neighbourhood, terms: HybridTerms, classes: Int32, *,
    by_share: bool = False, control: RunControl = DEFAULT_CONTROL,
) -> tuple[Int32, int]:
    """Assign groups one by one to the place where the hybrid metric of all assigned groups is lowest."""
    place = np.full(len(traffic.sizes), -1, np.int32)
    weights = np.array(terms, np.float64)
    found, _, evaluations = _search(
        _GREEDY, traffic, routing, neighbourhood, place, {"by_share": by_share}, weights, classes, control
    )
    return found, evaluations


def hottest_link_refine(
    traffic: Groups, routing: Routing, neighbourhood: Neighbourhood, place: Int32, *, nearest: int,
    rounds: int, rule: int, nearby: bool = False, control: RunControl = DEFAULT_CONTROL,
) -> tuple[Int32, int, int]:
    """In each round, make the exchange that lowers the congestion of the hottest links most.

    The `rule` is a number of ``ReliefRule``: 0 counts hottest links, 1 is the paper's, 2 its listing.
    """
    options = {"nearest": nearest, "rounds": rounds, "paper_rule": rule, "nearby": nearby}
    return _search(_REFINE, traffic, routing, neighbourhood, place, options, control=control)


def route_classes(routing: Routing, capacities: Int64, control: RunControl = DEFAULT_CONTROL) -> Int32:
    """Return int32[P], the lowest place with the same capacity and, except for own links, the same routes."""
    flag, classes = control.flag(), np.empty(len(capacities), np.int32)
    interruptible(
        lambda: compiled.route_classes(routing, capacities, (flag, None), classes),
        flag, control, len(capacities) ** 2,
    )
    return classes


def _search(
    job: int, traffic: Groups, routing: Routing, neighbourhood: Neighbourhood, place: Int32,
    options: Mapping[str, int], weights: Float64 = _NO_WEIGHTS, classes: Int32 | None = None,
    control: RunControl = DEFAULT_CONTROL,
) -> tuple[Int32, int, int]:
    flag, result = control.flag(), place.copy()
    if classes is None:
        classes = np.arange(len(traffic.capacities), dtype=np.int32)
    made, evaluations = interruptible(
        lambda: compiled.routed_search(
            job, traffic, routing, neighbourhood, options, weights, classes, (flag, None), result
        ),
        flag, control, len(traffic.csr.targets) + len(neighbourhood.near),
    )
    return result, int(made), int(evaluations)
