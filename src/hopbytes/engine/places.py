"""Mapping of groups of tasks to nodes by hops (``core/routing/hop_*.hpp``)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hopbytes._arrays import Int32, Int64, UInt16
from hopbytes.engine.control import DEFAULT_CONTROL, RunControl, interruptible
from hopbytes.engine.distances import prepare
from hopbytes.kernels.base import compiled, optional
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


def hop_greedy(
    groups: Groups, neighbourhood: Neighbourhood, distances: Distances, seeds: int
) -> tuple[Int32, int]:
    """Assign groups to places one after another, each near its communication partners."""
    indptr, targets, weights = groups.csr
    weights, arrays, _ = prepare(weights, len(targets), distances)
    place = np.full(len(groups.sizes), -1, np.int32)
    cost = compiled.hop_greedy(
        indptr, targets, optional(weights), groups.sizes, groups.capacities, *neighbourhood,
        *arrays, seeds, place,
    )
    return place, int(cost)


def hop_swap(
    groups: Groups, neighbourhood: Neighbourhood, distances: Distances, place: Int32, delta: int,
    *, control: RunControl = DEFAULT_CONTROL,
) -> tuple[Int32, int]:
    """Exchange groups (or move one to a free place) as long as this lowers the sum of weight x distance."""
    indptr, targets, weights = groups.csr
    weights, arrays, _ = prepare(weights, len(targets), distances)
    flag, result = control.flag(), place.copy()
    _, evaluations = interruptible(
        lambda: compiled.hop_swap(
            indptr, targets, optional(weights), groups.sizes, groups.capacities, *neighbourhood,
            *arrays, delta, flag, result,
        ),
        flag, control, len(targets) + len(neighbourhood.near),
    )
    return result, int(evaluations)
