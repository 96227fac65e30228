"""The base class and functions that the three mappers of LibTopoMap share."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

import numpy as np

from hopbytes._arrays import Int32, Int64
from hopbytes._frozen import frozen
from hopbytes.algorithms.base import Bounds, Effort, Mapper
from hopbytes.algorithms.shared.sequential_assignment import fill_in_order
from hopbytes.algorithms.two_level import Grouped, HostGraph, host_graph
from hopbytes.algorithms.two_level.node_level import cut, finish, settings_of
from hopbytes.cost.objectives.base import objectives
from hopbytes.model.allocation import Allocation
from hopbytes.model.comm_graph import CommGraph


@frozen
class TopologyMapper(Mapper):
    """Partition the tasks to nodes, then assign the groups to nodes on the graph of the network."""

    needs_routes: ClassVar[bool] = True
    #: return the mapping in order if its maximum congestion is lower, as the library does according to Deveci
    #: et al. (2015).
    guarded: bool = False
    repetitions: int = 1  # effort of the partition to nodes, see :class:`hopbytes.engine.PartitionSettings`.
    initial_partitions: int = 4

    def map(self, graph: CommGraph, where: Allocation, bounds: Bounds, effort: Effort) -> Int32:
        """Return int32[n], the PE of every task."""
        grouped = cut(graph, where, bounds, effort, settings_of(self.repetitions, self.initial_partitions))
        place = grouped.start
        if grouped.nodes.count > 1 and graph.n:
            place = self.place(grouped, host_graph(grouped.nodes, "a mapper of LibTopoMap"), effort)
        pe = finish(graph, grouped, place, bounds, effort)
        if not self.guarded:
            return pe
        in_order = fill_in_order(graph, bounds, np.arange(graph.n, dtype=np.int64))
        congestion = objectives["max_congestion"]()
        return min((in_order, pe), key=lambda each: congestion.value(graph, where, each))

    @abstractmethod
    def place(self, grouped: Grouped, hosts: HostGraph, effort: Effort) -> Int32:
        """Return int32[G], the node of every group."""


def classes(grouped: Grouped) -> tuple[Int64, Int64]:
    """Return int64[G] and int64[P], classes of groups and of places (nodes) that have the same capacity.

    Groups within a class can be exchanged without exceeding the capacity of a place.
    """
    kinds = np.unique(grouped.capacities, return_inverse=True)[1].astype(np.int64)
    return kinds[grouped.start], kinds


def in_step(groups: Int64, places: Int64, grouped: Grouped) -> Int32:
    """Assign groups in their order to places (nodes) in theirs, separately for each class."""
    of_group, of_place = classes(grouped)
    place = np.empty(len(groups), np.int32)
    for kind in np.unique(of_group):
        own = groups[of_group[groups] == kind]
        place[own] = places[of_place[places] == kind][: len(own)]
    return place
