"""Functions shared by mappers that assign groups of tasks to nodes."""

from __future__ import annotations

import numpy as np

from hopbytes._arrays import Int32
from hopbytes.algorithms.base import Bounds, Effort
from hopbytes.algorithms.two_level import Capacity, Grouped, cut_into_groups, place_inside
from hopbytes.engine import PartitionSettings, SearchSettings
from hopbytes.model.allocation import Allocation
from hopbytes.model.comm_graph import CommGraph


def capacity_of(graph: CommGraph, bounds: Bounds) -> Capacity:
    """Return the capacity of the PEs: numbers of tasks if counts are exact, otherwise loads."""
    if bounds.exact and bounds.count is not None:
        return Capacity(bounds.count, None)
    return Capacity(bounds.load, graph.loads)


def settings_of(repetitions: int, initial_partitions: int, region_growings: int = 4) -> PartitionSettings:
    """Return the settings of the partition into groups."""
    return PartitionSettings(
        repetitions=repetitions, initial_partitions=initial_partitions, region_growings=region_growings,
        recombinations=max(0, repetitions - 1),
        search=SearchSettings(flow_rounds=1),
    )


def record_work(effort: Effort, grouped: CommGraph, evaluations: int, **amounts: int) -> None:
    """Record evaluated exchanges; each counts as the average number of arcs of two tasks."""
    effort.count(swaps_evaluated=evaluations, **amounts)
    effort.spend(evaluations * max(1, 4 * grouped.m // max(1, grouped.n)), whole=not effort.out_of_time)


def cut(
    graph: CommGraph, where: Allocation, bounds: Bounds, effort: Effort, settings: PartitionSettings
) -> Grouped:
    """Partition the tasks into groups, one per node."""
    return cut_into_groups(graph, where, capacity_of(graph, bounds), settings, effort.run_control())


def finish(
    graph: CommGraph, grouped: Grouped, place: Int32, bounds: Bounds, effort: Effort
) -> Int32:
    """Map the tasks of every group to the PEs of its node."""
    share = capacity_of(graph, bounds)
    return place_inside(
        graph, grouped.nodes, place[grouped.group].astype(np.int32), share.per_pe, share.loads,
        settings_of(1, 4), effort.run_control(),
    )
