"""The mapper for huge graphs: it coarsens once, maps the coarse graph, and refines the cost on the way back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import ClassVar

from hopbytes._arrays import Int32
from hopbytes.algorithms.base import Bounds, Effort, Mapper, mappers
from hopbytes.algorithms.mappers.multisection import Multisection
from hopbytes.algorithms.shared.search_distances import search_problem
from hopbytes.engine import SearchSettings
from hopbytes.engine.parallel import UncoarseningSettings, coarsen_in_parallel, uncoarsen_in_parallel
from hopbytes.engine.settings import SEARCH_OPTIONS
from hopbytes.model.allocation import Allocation
from hopbytes.model.comm_graph import CommGraph


@mappers.register("parallel_multilevel")
@dataclass(frozen=True, slots=True)
class ParallelMultilevel(Mapper):
    """Coarsen once, map the coarse graph by multisection, refine the communication cost in uncoarsening.

    Parameters
    ----------
    initial_partitions, flow_rounds, flow_width : int
        Effort per cut of the coarse graph, see the mapper ``multisection``.
    per_pe : int
        Number of vertices of the coarse graph per PE.
    fewest : int
        Least number of vertices of the coarse graph.
    least_tasks : int
        With fewer tasks the mapper is ``multisection`` with the same options.
    synchronous_rounds : int
        Rounds of moves on every level; all threads work on each round.
    sequential_up_to : int
        Graphs with at most so many vertices are refined by one thread with the local search that the next
        options describe.
    rounds, fruitless_moves, seeds, overload_percent : int
        Local search (:class:`hopbytes.engine.SearchSettings`).

    Notes
    -----
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
        "refinement": ("synchronous_rounds", "sequential_up_to", *SEARCH_OPTIONS),
    }
    initial_partitions: int = 2
    per_pe: int = 200
    fewest: int = 20_000
    least_tasks: int = 200_000
    synchronous_rounds: int = 6
    sequential_up_to: int = 0
    rounds: int = 10
    fruitless_moves: int = 40
    seeds: int = 25
    flow_rounds: int = 2
    flow_width: int = 4
    overload_percent: int = 100

    def map(self, graph: CommGraph, where: Allocation, bounds: Bounds, effort: Effort) -> Int32:
        """Return int32[n], the PE of every task."""
        search = SearchSettings(
            self.rounds, self.fruitless_moves, self.seeds, self.flow_rounds, self.flow_width,
            self.overload_percent
        )
        cutter = Multisection(initial_partitions=self.initial_partitions, **asdict(search))
        target = max(self.fewest, self.per_pe * where.k)
        small = graph.n < max(self.least_tasks, 2 * target)
        if small or bounds.exact or bounds.linear_cost is not None or where.k < 2:
            return cutter.map(graph, where, bounds, effort)
        problem = search_problem(graph, where, bounds)
        coarse = coarsen_in_parallel(problem, bounds.load, target, control=effort.run_control())
        if coarse is None:
            return cutter.map(graph, where, bounds, effort)
        pattern = CommGraph(
            coarse.csr.indptr, coarse.csr.targets, coarse.csr.weights, loads=coarse.loads, undirected=True
        )
        pe = cutter.map(pattern, where, bounds, effort)
        found, moves = uncoarsen_in_parallel(
            problem, coarse, pe, bounds.load,
            UncoarseningSettings(self.synchronous_rounds, self.sequential_up_to, search),
            control=effort.run_control(),
        )
        effort.count(moves=moves)
        return found
