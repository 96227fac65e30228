"""Device rounds: a multilevel mapping whose large graphs are coarsened and refined on a GPU."""

from __future__ import annotations

from contextvars import copy_context
from dataclasses import replace

import numpy as np

from hopbytes._arrays import Int32, Int64
from hopbytes._frozen import frozen, own
from hopbytes.algorithms.base import Bounds, Effort, Mapper, mappers
from hopbytes.algorithms.mappers.deep_multisection import DeepMultisection
from hopbytes.algorithms.mappers.multisection import FAST
from hopbytes.algorithms.shared.search_distances import search_problem
from hopbytes.engine.device import Device, chosen, enough_memory
from hopbytes.engine.device_rounds import AnyArray, DeviceDistances, DeviceGraph, Rounds, map_in_rounds
from hopbytes.engine.partition import RefinementSettings, refine_placement
from hopbytes.engine.problem import SearchProblem, SearchSettings, prepare
from hopbytes.errors import UnsupportedError
from hopbytes.kernels.base import compiled
from hopbytes.kernels.records import Csr, Distances
from hopbytes.machines.distances import NetworkDistance, kernel_distances
from hopbytes.model.allocation import Allocation
from hopbytes.model.comm_graph import CommGraph

#: PEs of a network whose distances fit in a table on the device (64 bits each: 512 MiB).
MOST_IN_TABLE = 2**13
#: Neighbours of a hub, also over the mean of all tasks. The CPU maps graphs with hubs: one thread of a GPU
#: would look at all of them, and what keeps the cost of such graphs low is not among the rounds.
HUB, HUB_OVER_MEAN = 512, 30
#: What the CPU does with the coarsest graph of a V-cycle.
MINIMUM_CUTS = RefinementSettings(search=SearchSettings(1, 15, 50, flow_rounds=2, flow_width=3))


@mappers.register("device_rounds")
@frozen
class DeviceRounds(Mapper):
    """Coarsen on a GPU, map the coarsest graph on the CPU, and refine on the GPU during uncoarsening.

    Clusters are pairs of vertices that rate each other highest, and vertices that join them; the moves are
    rounds after Jet (Gilbert et al., 2024) under the distances of the PEs (``core/device``). The coarsest
    graph is mapped by ``deep_multisection``. The answer has the same bytes on the CPU, where kernels are
    loops, and on every GPU. O(levels x rounds x (n + m)).

    With one task per PE, with fixed, forbidden or migrating tasks, and on graphs with hubs, the CPU searches
    without the device.
    """

    #: cpu, cuda, or auto: a GPU where there is one, otherwise ``deep_multisection`` on the CPU, which maps
    #: graphs that are not larger than the coarsest one in any case
    device: str = "cpu"
    per_pe: int = 100  #: vertices of the coarsest graph for each PE
    fewest: int = 2**17  #: approximate least number of vertices of the coarsest graph
    cycle_to: int = 2**17  #: vertices of the coarsest graph of V-cycles, where the CPU makes minimum cuts
    starts: int = 2  #: mappings of the coarsest graph, of which the best is kept
    clustering_rounds: int = 4  #: rounds of clustering on every graph
    move_rounds: int = 20  #: rounds of moves on every graph
    cycles: int = 1  #: V-cycles that follow the first mapping
    search: bool = False  #: the coarsest graph is mapped by ``multisection`` as in the preset ``fast``

    def map(self, graph: CommGraph, where: Allocation, bounds: Bounds, effort: Effort) -> Int32:
        device, why = chosen(self.device, effort.threads)
        if bounds.exact or bounds.linear_cost is not None or where.k < 2 or graph.n == 0:
            why = "one task per PE and fixed, forbidden or migrating tasks are mapped by the CPU"
            if self.device == "cuda":
                raise UnsupportedError(f"device cuda: {why}, expected a partition without them")
        if why or graph.n <= self._coarsest(where):
            if why and self.device == "auto":
                effort.notices.append(f"mapped by the CPU: {why}")
            return self._by_cpu(graph, where, bounds, effort)
        with enough_memory(device):
            return self._on(device, graph, where, bounds, effort)

    def _coarsest(self, where: Allocation) -> int:
        return max(self.fewest, self.per_pe * where.k)

    def _by_cpu(self, graph: CommGraph, where: Allocation, bounds: Bounds, effort: Effort) -> Int32:
        return (FAST if self.search else DeepMultisection()).map(graph, where, bounds, effort)

    def _on(
        self, device: Device, graph: CommGraph, where: Allocation, bounds: Bounds, effort: Effort
    ) -> Int32:
        put, problem = device.of_host, search_problem(graph, where, bounds, effort.threads)
        indptr, targets, weights = problem.csr
        seen, distances = prepared_distances(device, where, weights, len(targets), effort.threads)
        loads = np.ones(graph.n, np.int64) if problem.loads is None else problem.loads
        given = DeviceGraph(
            put(indptr), put(targets), None if seen is None else put(seen), put(loads)
        )
        pe = self.rounds(device, given, where, distances, bounds, effort)
        return np.ascontiguousarray(device.to_host(pe), np.int32)

    def _best_start(self, graph: CommGraph, where: Allocation, bounds: Bounds, effort: Effort) -> Int32:
        """Return the best of several mappings by the CPU, which share the threads."""
        from concurrent.futures import ThreadPoolExecutor

        share, cancel = max(1, effort.threads // self.starts), effort.run_control().flag()
        efforts = [
            replace(effort, seed=effort.seed + number, threads=share, work={}, cancel=cancel)
            for number in range(self.starts)
        ]
        with ThreadPoolExecutor(min(self.starts, effort.threads)) as threads:
            try:
                started = [
                    threads.submit(copy_context().run, self._by_cpu, graph, where, bounds, each)
                    for each in efforts
                ]
                found = [each.result() for each in started]
            except BaseException:
                compiled.request_stop(cancel)
                raise
        for each in efforts:
            effort.count(**each.work)
        return min(found, key=lambda pe: bounds.rank(graph, where, pe, effort.threads))

    def rounds(
        self, device: Device, graph: DeviceGraph, where: Allocation, distances: DeviceDistances,
        bounds: Bounds, effort: Effort, initial: AnyArray | None = None,
    ) -> AnyArray:
        """Return the PE of every vertex of a graph on a device, there."""

        free = replace(bounds, linear_cost=None)

        def coarse(found: DeviceGraph, current: AnyArray | None) -> Int32:
            """Map the coarsest graph, or improve its mapping."""
            csr, loads = _on_host(device, found)
            if current is None:
                there = CommGraph(*csr, loads=loads, undirected=True)
                return self._best_start(there, where, free, effort)
            problem, pe = SearchProblem(csr, loads, kernel_distances(where)), device.to_host(current)
            return refine_placement(
                problem, pe, bounds.load, MINIMUM_CUTS, control=effort.run_control()
            )[0]

        largest, mean = int(device.xp.diff(graph.start).max()), len(graph.adj) / graph.n
        if largest > max(HUB, HUB_OVER_MEAN * mean):
            effort.notices.append(f"mapped by the CPU: a task has {largest:,} neighbours, and others few")
            csr, loads = _on_host(device, graph)
            there = CommGraph(*csr, loads=loads, undirected=True)
            return device.xp.asarray(self._by_cpu(there, where, free, effort))
        most = device.xp.asarray(bounds.load)
        effort_of = Rounds(
            self._coarsest(where), self.clustering_rounds, self.move_rounds, self.cycle_to, self.cycles
        )
        return map_in_rounds(
            device, graph, distances, most, effort_of, effort.seed % 2**31, coarse,
            lambda: effort.out_of_time, initial,
        )


def prepared_distances(
    device: Device, where: Allocation, weights: AnyArray | None, arcs: int, threads: int
) -> tuple[AnyArray | None, DeviceDistances]:
    """Return weights and distances, scaled so that no sum overflows, the latter on the device."""
    distances = kernel_distances(where)
    if isinstance(where.distance, NetworkDistance):
        if where.k > MOST_IN_TABLE:
            what = f"{where.k:,} PEs of a network on a device, expected at most {MOST_IN_TABLE:,}"
            raise UnsupportedError(what)
        distances = Distances(table=where.distance.matrix().reshape(-1))
    seen, (labels, bit_costs, table), _ = prepare(weights, arcs, distances, threads)
    put = device.xp.asarray
    if labels is None:
        return seen, DeviceDistances(None, put(table), where.k)
    return seen, DeviceDistances(put(labels), put(bit_costs), where.k)


def _on_host(device: Device, graph: DeviceGraph) -> tuple[Csr, Int64]:
    """Return the graph with sorted rows, and its loads."""
    xp = device.xp
    rows = xp.searchsorted(graph.start, xp.arange(len(graph.adj)), side="right") - 1
    order = xp.argsort(rows * graph.n + graph.adj)
    weight = None if graph.weight is None else own(device.to_host(graph.weight[order]))
    start, load = (own(device.to_host(each).copy()) for each in (graph.start, graph.load))
    return Csr(start, own(device.to_host(graph.adj[order])), weight), load
