"""Functions of the core that the library does not call by themselves, with the signatures of its wrappers."""

import numpy as np

from hopbytes._arrays import Int32, Int64, UInt8
from hopbytes.engine.control import DEFAULT_CONTROL, RunControl
from hopbytes.engine.parallel import LOCAL_RANGE, run_on_level
from hopbytes.engine.problem import Call, SearchProblem, prepare
from hopbytes.kernels.base import compiled, kernel
from hopbytes.kernels.records import Csr

NO_COMMUNITIES = np.empty(0, np.int32)


class LevelGraph:
    """A graph on one level with the distances of the PEs; weights are of 32 or of 64 bits, or 1 each."""

    def __init__(self, problem: SearchProblem) -> None:
        indptr, targets, weights = problem.csr
        seen, self.distances, _ = prepare(weights, len(targets), problem.distances)
        loads = np.ones(problem.csr.n, np.int64) if problem.loads is None else problem.loads
        self.n, wide = problem.csr.n, np.empty(0, np.int64) if seen is None else seen
        self.arrays = indptr, targets, np.empty(0, np.int32), wide, loads


def cluster_synchronously(
    graph: LevelGraph, max_cluster: int, fewest: int, *, communities: Int32 = NO_COMMUNITIES,
    local_range: int = LOCAL_RANGE, control: RunControl = DEFAULT_CONTROL,
) -> tuple[Int32, int]:
    """Cluster vertices along heavy edges (``core/partition/coarsening/synchronous_clustering.hpp``)."""
    found = np.empty(graph.n, np.int32)
    count = run_on_level(
        graph.arrays, control,
        lambda flags: compiled.cluster_synchronously(
            graph.arrays, flags, max_cluster, fewest, local_range, control.seed_word, control.threads,
            communities, found,
        ),
    )
    return found, int(count)


def contract_to(
    graph: LevelGraph, cluster: Int32, count: int, kind: type, control: RunControl
) -> tuple[Csr, Int64]:
    """Contract all vertices of each cluster to weights of a kind, int32 or int64; return the loads, too."""
    indptr, targets = np.empty(count + 1, np.int64), np.empty(len(graph.arrays[1]), np.int32)
    weights, loads = np.empty(len(targets), kind), np.empty(count, np.int64)
    none = np.empty(0, np.int32), np.empty(0, np.int64)
    narrow, wide = (weights, none[1]) if kind is np.int32 else (none[0], weights)
    run_on_level(
        graph.arrays, control,
        lambda flags: compiled.contract_in_parallel(
            graph.arrays, flags, cluster, count, control.threads, indptr, targets, narrow, wide, loads
        ),
    )
    return Csr(indptr, targets[: indptr[-1]], weights[: indptr[-1]]), loads


def cluster_tree_parts(
    problem: SearchProblem, max_cluster: int, *, communities: Int32 = NO_COMMUNITIES
) -> tuple[Int32, int]:
    """Cluster the pendant trees and the chains of a graph (``core/partition/coarsening/tree_parts.hpp``)."""
    call = Call.prepare(problem, DEFAULT_CONTROL)
    found = np.empty(problem.csr.n, np.int32)
    return found, int(compiled.cluster_tree_parts(call.graph, max_cluster, communities, found))


def fragments_between_natural_cuts(
    problem: SearchProblem, region: int, *, cores_per_region: int = 4, most_work: int = 64,
    control: RunControl = DEFAULT_CONTROL,
) -> tuple[Int32, int]:
    """Find the fragments between natural cuts (``core/partition/coarsening/natural_cuts.hpp``)."""
    call = Call.prepare(problem, control)
    found = np.empty(problem.csr.n, np.int32)
    count = compiled.fragments_between_natural_cuts(
        call.graph, call.control_arrays, region, cores_per_region, most_work, control.seed_word, found
    )
    return found, int(count)


def weights_uneven(csr: Csr) -> bool:
    """Return whether few edges weigh as much as all others; the engine then partitions differently.

    O(m). This rule is not from the literature. It usually holds for volumes that span orders of magnitude,
    and never for equal ones.
    """
    return bool(kernel.weights_uneven(csr))


def move_synchronously(
    graph: LevelGraph,
    pe: Int32,
    near_boundary: UInt8,
    max_block_weights: Int64,
    rounds: int,
    *,
    control: RunControl = DEFAULT_CONTROL,
) -> int:
    """Lower the communication cost by rounds of moves, in place."""
    moves = run_on_level(
        graph.arrays, control,
        lambda flags: compiled.move_synchronously(
            graph.arrays, graph.distances, flags, max_block_weights, rounds, control.threads, near_boundary,
            pe,
        ),
    )
    return int(moves)
