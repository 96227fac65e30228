"""The mapper for huge graphs: it coarsens once, maps the coarse graph, and refines J on the way back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import ClassVar

import numpy as np

from hopbytes._arrays import Int32
from hopbytes._frozen import frozen, own
from hopbytes.algorithms.base import Bounds, Effort, Mapper, mappers
from hopbytes.algorithms.mappers.multisection import FAST, Multisection
from hopbytes.algorithms.shared.search_distances import search_problem
from hopbytes.engine import SearchSettings
from hopbytes.engine.parallel import (
    LevelGraph,
    cluster_synchronously,
    contract_in_parallel,
    move_synchronously,
    project_in_parallel,
)
from hopbytes.engine.problem import SEARCH_OPTIONS
from hopbytes.kernels import csr_from_arcs
from hopbytes.model.allocation import Allocation
from hopbytes.model.comm_graph import CommGraph
from hopbytes.util.random_numbers import derived_seeds

#: Smaller graphs are mapped by multisection.
LEAST_TASKS = 100_000
#: The approximate largest factor between the numbers of vertices of two levels, and the share of vertices
#: that may be left for another level to pay off.
LARGEST_SHRINK, SLOWEST_SHRINK = 3.0, 0.95
MOST_LEVELS = 200
#: Where the coarse graph has more than this part of the arcs, as for social networks, clusters do not follow
#: the structure of the graph.
DENSEST = 3
#: A cluster has at most this share of the load of a PE, so that PEs can be filled evenly, and at most this
#: multiple of the average load of the vertices of the coarse graph.
CLUSTERS_PER_PE, LARGEST_CLUSTER = 4, 2


@mappers.register("parallel_multilevel")
@frozen
class ParallelMultilevel(Mapper):
    """Coarsen once, map the coarse graph by multisection, refine the communication cost in uncoarsening.

    All threads work on every level of a large graph. Clusters are chosen in rounds over classes of vertices
    (``core/partition/coarsening/synchronous_clustering.hpp``), and moves under the distances of the machine
    in rounds over all vertices near boundaries (``core/partition/refinement/synchronous_moves.hpp``). A
    round decides everything by the state before it, so the result does not depend on the number of threads.
    The graph is scanned a few times in all, where ``multisection`` coarsens it anew for every level of the
    machine. O(levels x (n + m)).

    With one task per PE, and with fixed, forbidden or migrating tasks, the mapper is ``multisection``.
    """

    option_groups: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "cuts": ("initial_partitions",),
        "coarsening": ("per_pe", "fewest", "least_tasks"),
        "refinement": ("synchronous_rounds", *SEARCH_OPTIONS),
    }
    #: Effort per cut of the coarse graph, see the mapper ``multisection``. More than two did not lower J.
    initial_partitions: int = 2
    per_pe: int = 200  #: number of vertices of the coarse graph per PE; 0 counts as 1
    fewest: int = 20_000  #: least number of vertices of the coarse graph
    #: with fewer tasks the mapper is ``multisection`` with the options that it has in the preset ``fast``
    least_tasks: int = LEAST_TASKS
    synchronous_rounds: int = 24  #: rounds of moves on every level; all threads work on each round
    rounds: int = 10  #: local search in the cuts (:class:`hopbytes.engine.SearchSettings`).
    fruitless_moves: int = 40
    seeds: int = 25
    flow_rounds: int = 2
    flow_width: int = 4
    overload_percent: int = 0

    def map(self, graph: CommGraph, where: Allocation, bounds: Bounds, effort: Effort) -> Int32:
        target = max(self.fewest, max(1, self.per_pe) * where.k)
        small = graph.n < max(self.least_tasks, 2 * target)
        if small or bounds.exact or bounds.linear_cost is not None or where.k < 2:
            return FAST.map(graph, where, bounds, effort)
        finest = LevelGraph.of(search_problem(graph, where, bounds))
        levels, clusters = _coarsened(finest, target, bounds, effort)
        coarsest = levels[-1]
        if not clusters or DENSEST * len(coarsest.targets) > len(finest.targets):
            return FAST.map(graph, where, bounds, effort)
        # No temporary overload: the refinement that follows does more in less time.
        cutter = Multisection(initial_partitions=self.initial_partitions, **asdict(SearchSettings.of(self)))
        pe = cutter.map(_pattern(coarsest), where, bounds, effort)
        near = np.ones(len(pe), np.uint8)
        while levels:
            level = levels.pop()
            if len(clusters) > len(levels):
                pe, near = project_in_parallel(clusters.pop(), pe, near, threads=effort.threads)
            if not effort.used_up:
                moves = move_synchronously(
                    level, pe, near, bounds.load, self.synchronous_rounds, control=effort.run_control()
                )
                effort.count(moves=moves)
        return pe


def _coarsened(
    graph: LevelGraph, target: int, bounds: Bounds, effort: Effort
) -> tuple[list[LevelGraph], list[Int32]]:
    """Return the graphs of all levels, the finest first, and the coarse vertices of the vertices of each."""
    n, total = graph.n, int(graph.loads.sum())
    limit = max(1, min(LARGEST_CLUSTER * total // target, int(bounds.load.min()) // CLUSTERS_PER_PE))
    seeds = derived_seeds((effort.seed % 2**64,), MOST_LEVELS)
    levels, clusters = [graph], list[Int32]()
    while n > target and len(clusters) < MOST_LEVELS and not effort.out_of_time:
        control = replace(effort.run_control(), seed=int(seeds[len(clusters)]))
        # Two average vertices always fit in a cluster.
        most = max(limit, 2 * (total // n) + 1)
        fewest = max(target, int(n / LARGEST_SHRINK))
        cluster, count = cluster_synchronously(levels[-1], most, fewest, control=control)
        if count > n * SLOWEST_SHRINK:
            break
        levels.append(contract_in_parallel(levels[-1], cluster, count, control=control))
        clusters.append(cluster)
        n = count
    return levels, clusters


def _pattern(level: LevelGraph) -> CommGraph:
    """Return a coarse graph as a pattern, whose rows are sorted."""
    csr = level.csr
    sources = np.repeat(np.arange(level.n, dtype=np.int32), np.diff(csr.indptr))
    indptr, targets, volumes, _ = csr_from_arcs(level.n, sources, csr.targets, csr.weights, None)
    return CommGraph(own(indptr), own(targets), own(volumes), loads=level.loads, undirected=True)
