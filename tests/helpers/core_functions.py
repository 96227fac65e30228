"""Functions of the core that the library does not call by themselves, with the signatures of its wrappers."""

import numpy as np

from hopbytes._arrays import Int32, Int64, UInt8
from hopbytes.engine.control import DEFAULT_CONTROL, RunControl
from hopbytes.engine.parallel import NO_COMMUNITIES, LevelGraph, _run
from hopbytes.engine.problem import Call, SearchProblem
from hopbytes.kernels.base import compiled, kernel
from hopbytes.kernels.records import Csr


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
    moves = _run(
        graph, control,
        lambda flags: compiled.move_synchronously(
            graph.arrays, graph.distances, flags, max_block_weights, rounds, control.threads, near_boundary,
            pe,
        ),
    )
    return int(moves)
