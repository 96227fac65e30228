"""Objectives, which are minimized, and J, the communication cost: volume x distance over stored arcs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar, Literal

import numpy as np

from hopbytes import kernels
from hopbytes._arrays import Int32, Int64
from hopbytes._frozen import frozen
from hopbytes.kernels.records import Csr
from hopbytes.machines.distances import NetworkDistance, TreeDistance
from hopbytes.model.allocation import Allocation
from hopbytes.model.comm_graph import CommGraph
from hopbytes.util.integers import MAX_SUM, check_limit
from hopbytes.util.registry import Registry

_ON_LINKS = ("hops", "hop_bytes", "hybrid", "max_congestion", "max_messages")
objectives: Registry[type[Objective]] = Registry(
    "objective", "hopbytes.cost.objectives",
    modules=dict.fromkeys(_ON_LINKS, "hopbytes.cost.objectives.on_links"),
)  # fmt: skip


class Objective(ABC):
    """A function of a mapping that is minimized. Subclasses are frozen dataclasses; fields are settings.

    Different kernels optimise the two families: a *distance sum* adds one term per pair of tasks, so the gain
    of exchanging two tasks takes O(degree); *link loads* depend on the routes of all arcs.
    """

    __slots__ = ()
    symbol: ClassVar[str]
    unit: ClassVar[str]
    meaning: ClassVar[str]
    family: ClassVar[Literal["distance sum", "link loads"]]

    @abstractmethod
    def value(self, graph: CommGraph, where: Allocation, pe: Int32) -> int | float:
        """Return the value of the mapping `pe` (int32[n]) from the definition; integers are exact."""

    def lowered(self, graph: CommGraph, where: Allocation) -> tuple[CommGraph, Allocation]:
        """Return a graph and an allocation on which J equals this objective, if it is a distance sum.

        Other objectives return their arguments, if the machine has routes: minimizing J gives the mapping
        from which their search starts.
        """
        if self.family == "link loads":
            self.value(graph, where, np.zeros(graph.n, np.int32))
        return graph, where


def in_scale(graph: CommGraph, where: Allocation) -> bool:
    """Return whether no sum of volume x distance can exceed 63 bits."""
    return _largest_sum(graph, where) <= MAX_SUM


def check_scale(graph: CommGraph, where: Allocation) -> None:
    """Raise ScaleError if a sum of volume x distance could exceed 63 bits."""
    what = f"total volume {graph.total_volume} x largest distance {where.distance.largest}"
    check_limit(what, _largest_sum(graph, where), MAX_SUM, "the volumes or the distances")


def _largest_sum(graph: CommGraph, where: Allocation) -> int:
    # Unweighted metrics count every arc once, even if its volume is 0.
    return int(where.distance.largest) * max(graph.total_volume, graph.m)


@objectives.register("comm_cost")
@frozen
class CommCost(Objective):
    """J = sum over stored arcs (i, j) of volume(i, j) * distance(PE of i, PE of j).

    An undirected file stores both directions, so its edges count twice. Arcs of a task to itself have
    distance 0, except on a machine whose distance table has a diagonal above 0.

    Source: Schulz and Träff, "Better process mapping and sparse quadratic assignment", SEA 2017.
    """

    symbol = "J"
    unit = "bytes x distance"
    meaning = "volume times distance, summed over all arcs"
    family = "distance sum"

    def value(self, graph: CommGraph, where: Allocation, pe: Int32, threads: int = 1) -> int:
        """Return J; O(m), shared by `threads`."""
        return arcs_distance_sum(graph.arcs(graph.volumes), where, pe, threads)


@frozen
class SearchForm:
    """Pattern and allocation on which J approximates another objective, and the error of that."""

    graph: CommGraph  # the pattern with one weight per arc as its volumes
    where: Allocation  # the allocation with one distance per level or hop
    error: float  # relative error of the product; 0 if it is exact


def arcs_distance_sum(arcs: Csr, where: Allocation, pe: Int32, threads: int = 1) -> int:
    """Return the sum over arcs of weight x distance; arcs may lead to vertices without a row of their own."""
    distance = where.distance
    if isinstance(distance, TreeDistance):
        sums = weight_by_level(arcs, distance, pe, threads)
        return sum(w * d for w, d in zip(sums, distance.costs.tolist(), strict=True))
    if isinstance(distance, NetworkDistance):
        labels, packed = distance.lowered()
        return kernels.comm_cost_network(arcs, pe, labels, packed, threads)
    return kernels.comm_cost_table(arcs, pe, distance.table.reshape(-1), threads)


def parting_level(where: Allocation, near: Int32, far: Int32) -> Int64:
    """Return int64[pairs], the number of the outermost level of the machine at which two PEs part.

    Level 0 is the outermost one; pairs within the innermost unit get the number of levels. O(levels x pairs).
    """
    levels, first = len(where.machine.levels), where.first_core
    parted, together = np.full(len(near), levels, np.int64), np.arange(len(near))
    for number in range(levels):
        unit = where.machine.ancestors(number)[first]
        apart = unit[near[together]] != unit[far[together]]
        parted[together[apart]] = number
        together = together[~apart]
    return parted


def weight_by_level(arcs: Csr, distance: TreeDistance, pe: Int32, threads: int = 1) -> list[int]:
    """Return the weight of arcs by level: entry 0 within a PE, entry 1 at the innermost level, and so on."""
    levels = len(distance.costs) - 1
    sums: list[int] = kernels.comm_cost_by_level(
        arcs, pe, distance.labels, distance.level_of_bit, levels, threads
    ).tolist()
    return sums


def weight_inside_and_cut(arcs: Csr, k: int, pe: Int32, threads: int = 1) -> tuple[int, int]:
    """Return the weight of arcs within a PE and between different PEs (of 0..k-1), on any machine.

    The kernel for trees is used, with PE numbers as the labels of a tree of one level.
    """
    one_level = np.ones(65, np.uint8)
    one_level[0] = 0
    inside, cut = kernels.comm_cost_by_level(
        arcs, pe, np.arange(k, dtype=np.uint64), one_level, 1, threads
    ).tolist()
    return inside, cut
