"""Deep multisection: one hierarchy of the graph, divided along the machine during uncoarsening."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import ClassVar

import numpy as np

from hopbytes._arrays import Int32, Int64
from hopbytes._frozen import frozen
from hopbytes.algorithms.base import Bounds, Effort, Mapper, mappers
from hopbytes.algorithms.mappers.multisection import FAST
from hopbytes.algorithms.shared.search_distances import search_problem
from hopbytes.engine.partition import deep_multisection
from hopbytes.engine.problem import SEARCH_OPTIONS
from hopbytes.model.allocation import Allocation
from hopbytes.model.comm_graph import CommGraph


@mappers.register("deep_multisection")
@frozen
class DeepMultisection(Mapper):
    """Coarsen once, and divide the tasks along the machine during uncoarsening.

    Each graph is refined under the distances between the groups of PEs, then divided further along the
    machine if it has enough vertices for every group, then refined again
    (``core/partition/deep_multisection.hpp``). This joins integrated mapping (Faraj et al., 2020) with deep
    multilevel partitioning (Gottesbüren et al., 2021). The distance between two groups is that of their first
    PEs. O(levels x (n + m)).

    With one task per PE, and with fixed, forbidden or migrating tasks, the mapper is ``multisection``.
    """

    option_groups: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "cuts": ("most_children", "initial_partitions", "region_growings"),
        "coarsening": ("per_child", "fewest"),
        "refinement": ("synchronous_rounds", *SEARCH_OPTIONS),
    }
    #: With fixed tasks the mapper is another one, which takes many times as long.
    maps_all_at_once: ClassVar[bool] = True
    #: a group of more children than this is divided into bundles of them first, so that cuts begin on
    #: smaller graphs; at least 2. A tree with hubs is not divided into bundles.
    most_children: int = 8
    initial_partitions: int = 2  #: effort per cut, see the mapper ``multisection``
    region_growings: int = 1
    per_child: int = 200  #: a graph is divided into more groups if it has this many vertices for each of them
    fewest: int = 2000  #: approximate least number of vertices of the coarsest graph
    synchronous_rounds: int = 8  #: rounds of moves on every graph; all threads work on each round
    #: local search (:class:`hopbytes.engine.problem.SearchSettings`), on whole graphs while there are up to
    #: 16 groups
    rounds: int = 1
    fruitless_moves: int = 15
    seeds: int = 50
    flow_rounds: int = 2
    flow_width: int = 3
    overload_percent: int = 0

    def map(self, graph: CommGraph, where: Allocation, bounds: Bounds, effort: Effort) -> Int32:
        if bounds.exact or bounds.linear_cost is not None or where.k < 2 or graph.n == 0:
            return FAST.map(graph, where, bounds, effort)
        groups = np.array(where.groups(), np.int32)
        capacity = np.ones(where.k, np.int64) if where.capacity is None else where.capacity
        problem = search_problem(graph, where, bounds, effort.threads)
        settings = {field.name: int(getattr(self, field.name)) for field in fields(self)}
        if _is_tree_of_stars(problem.csr.indptr, where.k):
            settings["most_children"] = max(self.most_children, where.k)
        return deep_multisection(
            problem, groups, capacity, bounds.load, settings, control=effort.run_control()
        )


def _is_tree_of_stars(indptr: Int64, k: int) -> bool:
    """Return whether a symmetric graph has no more edges than a tree, and its largest star is about a PE's.

    From an eighth to twice the tasks of a PE. How such stars fit in PEs is decided where all PEs are visible:
    in bundles the cut is up to 18 % larger. Larger stars are cut in any case.
    """
    n = len(indptr) - 1
    if int(indptr[-1]) > 2 * n:
        return False
    return n <= 8 * k * int(np.diff(indptr).max(initial=0)) <= 16 * n
