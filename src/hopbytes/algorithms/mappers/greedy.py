"""Greedy constructions: the next task is the one that communicates most with assigned tasks."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from hopbytes._arrays import Int32
from hopbytes._frozen import frozen
from hopbytes.algorithms.base import Bounds, Effort, Mapper, mappers
from hopbytes.algorithms.shared.sequential_assignment import room_for
from hopbytes.engine.problem import SearchProblem
from hopbytes.engine.slots import place_greedily
from hopbytes.machines.distances import kernel_distances
from hopbytes.model.allocation import Allocation
from hopbytes.model.comm_graph import CommGraph


@mappers.register("mueller_merbach")
@frozen
class MuellerMerbach(Mapper):
    """Assign the task that communicates most with assigned tasks to the free PE nearest to all used PEs.

    The algorithm is that of Müller-Merbach (1970). The first task is the one with the largest volume, and the
    first PE is the most central one; tasks and PEs are chosen independently. In case of ties the smaller
    number is taken. On a tree the nearest free PE is found by counts per subtree in O(levels) instead of by a
    sum for every PE, so a mapping takes O((n + m) log n); on a table it takes O(n x k).
    """

    linked: ClassVar[bool] = False  # PEs are chosen by what the arcs of the task would cost there

    def map(self, graph: CommGraph, where: Allocation, bounds: Bounds, effort: Effort) -> Int32:
        problem = SearchProblem(graph.symmetric_positive(), distances=kernel_distances(where))
        control = replace(effort.run_control(), spend=None)
        return place_greedily(problem, room_for(graph, bounds), linked=self.linked, control=control)


@mappers.register("greedy_all_c")
@frozen
class GreedyAllC(MuellerMerbach):
    """Assign the task that communicates most with assigned tasks to the free PE where it costs least.

    The algorithm is that of Glantz, Meyerhenke and Noe (2015). It equals ``mueller_merbach`` except that the
    chosen PE minimizes the sum of volume times distance over assigned partners. In case of ties the PE with
    the smaller distance to all used PEs is taken, then the smaller number (the paper does not specify this).
    On trees whose units of a level are alike both mappers return the same mapping: the free PE nearest to the
    used ones is also the cheapest there.
    On a tree only subtrees that hold a partner are searched, which takes O(degree x levels) per task; on a
    table it is O(k x degree).
    """

    linked: ClassVar[bool] = True
