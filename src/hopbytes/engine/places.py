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
    """Sites (nodes), the sites around each of them, and the places at each site.

    Parameters
    ----------
    near : int32[sites * reach]
        For every site its `reach` nearest sites, beginning with itself (in case of ties the lower number).
    hops : uint16[sites * reach]
        Distance of each of them.
    site : int32[P]
        Site of every place.
    place_start, place : int64[sites+1], int32[P]
        Places of every site, ascending.
    """

    near: Int32
    hops: UInt16
    site: Int32
    place_start: Int64
    place: Int32


class Groups(NamedTuple):
    """Groups of tasks that are assigned to places as a whole, at most one group per place.

    Parameters
    ----------
    csr : Csr
        The graph between groups: symmetric without diagonal for searches by hops, directed for searches by
        link loads.
    sizes : int64[G]
        Size of each group.
    capacities : int64[P]
        Capacity of each place.
    """

    csr: Csr
    sizes: Int64
    capacities: Int64


def hop_greedy(
    groups: Groups, neighbourhood: Neighbourhood, distances: Distances, seeds: int
) -> tuple[Int32, int]:
    """Assign groups to places one after another, each near its communication partners.

    Returns
    -------
    int32[G], int
        Place of every group, and the sum over pairs of weight x distance (with rounded numbers if sums could
        overflow, see :func:`hopbytes.engine.rescale_to_63_bits`).
    """
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
    """Exchange groups (or move one to a free place) as long as this lowers the sum of weight x distance.

    Returns
    -------
    int32[G], int
        The places, and the number of evaluated exchanges.
    """
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
