"""The integrated mapper: it coarsens once, and divides further and refines the cost during uncoarsening."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import ClassVar

import numpy as np

from hopbytes._arrays import Int32
from hopbytes._frozen import frozen
from hopbytes.algorithms.base import Bounds, Effort, Mapper, mappers
from hopbytes.algorithms.mappers.multisection import Multisection
from hopbytes.algorithms.multisection.descent import descend
from hopbytes.algorithms.multisection.hierarchy import Level, Subproblem, levels_of
from hopbytes.algorithms.shared.quotient_graph import quotient_csr
from hopbytes.engine import RefinementSettings, SearchProblem, SearchSettings, refine_placement
from hopbytes.engine.partition import coarsen_once
from hopbytes.engine.problem import SEARCH_OPTIONS
from hopbytes.machines.distances import kernel_distances
from hopbytes.model.allocation import Allocation
from hopbytes.model.capacities import child_bounds, group_sums
from hopbytes.model.comm_graph import CommGraph


@mappers.register("integrated")
@frozen
class Integrated(Mapper):
    """Coarsen once, partition the coarsest graph, and refine the communication cost in uncoarsening.

    During uncoarsening each graph is refined under the distances between its groups of PEs, then divided
    further along the machine if it has enough vertices, then refined again. The maximum block weights are
    such that later cuts can meet theirs. With few vertices per block all cuts are made on the coarsest
    graph, as in integrated multilevel mapping (Faraj et al., 2020). With more, cuts follow as the graph
    grows, as in deep multilevel partitioning (Gottesbüren et al., 2021), but under the distances of the
    machine. With very many it equals multisection. Clusters are heavier than tasks, so intermediate graphs
    may temporarily exceed a maximum block weight. The distance between two groups is taken to be that of
    their first PEs.

    With exact counts (one task per slot) the mapper calls ``multisection``. O(levels x (n + m)) for meshes.
    """

    option_groups: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "cuts": ("repetitions", "initial_partitions", "recombinations"),
        "coarsening": ("per_block", "fewest"),
        "refinement": SEARCH_OPTIONS,
    }
    repetitions: int = 1  #: effort per cut, see the mapper ``multisection``
    initial_partitions: int = 4
    recombinations: int = 0
    #: minimum number of vertices per group of PEs: a graph of the hierarchy is divided into more groups only
    #: if it has this many vertices for each of them
    per_block: int = 1000
    fewest: int = 3000  #: approximate minimum number of vertices of the coarsest graph
    #: local search for the edge cut and for the communication cost (:class:`hopbytes.engine.SearchSettings`).
    rounds: int = 10
    fruitless_moves: int = 40
    seeds: int = 25
    flow_rounds: int = 1
    flow_width: int = 4
    overload_percent: int = 0

    def map(self, graph: CommGraph, where: Allocation, bounds: Bounds, effort: Effort) -> Int32:
        search = SearchSettings.of(self)
        cutter = Multisection(
            self.repetitions, self.initial_partitions, self.recombinations, **asdict(search)
        )
        if bounds.exact or where.k < 2 or graph.n == 0:
            return cutter.map(graph, where, bounds, effort)
        levels, pe_of_leaf = levels_of(where, bounds, graph.loads, even=False)
        whole = Subproblem.whole(graph, bounds, effort.threads)
        each = 2 if whole.csr.indptr is graph.indptr else 1
        subproblems, maps = self._coarsened(whole, levels, effort)
        depth, group = 0, np.zeros(subproblems[-1].n, np.int32)
        for number in range(len(subproblems) - 1, -1, -1):
            subproblem = subproblems[number]
            if number < len(maps):
                group = group[maps[number]]
                group = _refined(subproblem, levels[depth - 1], group, where, each, search, effort)
            deep = self._depth(subproblem.n, levels) if number else len(levels)
            if deep > depth:
                subproblem = Subproblem(
                    depth, 0, (), None, subproblem.csr, subproblem.loads, subproblem.linear_cost
                )
                group = descend(
                    subproblem, levels[:deep], each, False, effort, cutter.settings, None, group
                )
                group = _refined(subproblem, levels[deep - 1], group, where, each, search, effort)
                depth = deep
        pe: Int32 = pe_of_leaf[group]
        return pe

    def _depth(self, n: int, levels: list[Level]) -> int:
        """Return the number of levels of cuts for which n vertices suffice."""
        return max(1, sum(n >= self.per_block * len(level.parent) for level in levels))

    def _coarsened(
        self, whole: Subproblem, levels: list[Level], effort: Effort
    ) -> tuple[list[Subproblem], list[Int32]]:
        """Return the graphs of the coarsening, the finest first, and the maps between them."""
        maps = coarsen_once(
            SearchProblem(whole.csr, whole.loads, linear_cost=whole.linear_cost), levels[0].leaf_bounds,
            per_block=self.per_block, fewest=self.fewest, control=effort.run_control(),
        )
        subproblems = [whole]
        for cluster in maps:
            fine, count = subproblems[-1], int(cluster.max()) + 1
            csr = quotient_csr(fine.csr, cluster, count)
            linear_cost = None if fine.linear_cost is None else fine.linear_cost.contracted(cluster, count)
            loads = group_sums(cluster, fine.loads, count)
            subproblems.append(Subproblem(0, 0, (), None, csr, loads, linear_cost))
        return subproblems, maps


def _refined(
    subproblem: Subproblem, level: Level, group: Int32, where: Allocation, each: int, search: SearchSettings,
    effort: Effort,
) -> Int32:
    """Refine a mapping on groups of PEs; the distance between two groups is that of their first PEs."""
    groups = len(level.parent)
    first = np.full(groups, where.k, np.int64)
    np.minimum.at(first, level.child_of_pe, np.arange(where.k))
    order = np.argsort(first)  # allocations are in machine order
    rank = np.empty(groups, np.int32)
    rank[order] = np.arange(groups, dtype=np.int32)
    linear_cost = None
    if subproblem.linear_cost is not None:
        nothing, all_groups = np.zeros(subproblem.n, np.int32), np.arange(groups)
        linear_cost = subproblem.linear_cost.grouped(
            nothing, rank[level.child_of_pe], np.zeros(groups, np.int64), all_groups
        )
        linear_cost = linear_cost.scaled(1, each)
    total = int(group_sums(group * 0, subproblem.loads, 1)[0])
    caps = child_bounds(total, level.shares, level.leaf_bounds, level.left)
    better, moves = refine_placement(
        SearchProblem(
            subproblem.csr, subproblem.loads, kernel_distances(where.select(first[order])), linear_cost
        ),
        rank[group], np.maximum(caps, np.maximum(level.held, level.sure))[order],
        RefinementSettings(search=search), control=effort.run_control(),
    )
    effort.count(moves=moves)
    found: Int32 = order.astype(np.int32)[better]
    return found
