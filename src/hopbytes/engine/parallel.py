"""Steps of a multilevel mapping of a large graph in which several threads work on one level.

None of the results depends on the number of threads.
"""

from __future__ import annotations

import numpy as np

from hopbytes._arrays import Int32, Int64, UInt8
from hopbytes._frozen import frozen
from hopbytes.engine.call import Call
from hopbytes.engine.control import DEFAULT_CONTROL, RunControl, call_size
from hopbytes.engine.search_problem import SearchProblem
from hopbytes.kernels.base import compiled
from hopbytes.kernels.records import Csr

#: Vertices whose arcs fit in the cache of a core.
LOCAL_RANGE = 2**14

_NO_BLOCKS = np.empty(0, np.int64)
#: All vertices may be clustered together.
NO_COMMUNITIES = np.empty(0, np.int32)


@frozen(eq=False)
class CoarseLevel:
    """A graph that was made by contraction of clusters.

    Parameters
    ----------
    csr : Csr
        The coarse graph; the targets within a row are not sorted.
    loads : int64[c]
        Loads of its vertices.
    map : int32[n]
        The coarse vertex of every vertex of the finer graph.
    """

    csr: Csr
    loads: Int64
    map: Int32


def cluster_synchronously(
    problem: SearchProblem, max_cluster: int, fewest: int, *, communities: Int32 = NO_COMMUNITIES,
    local_range: int = LOCAL_RANGE, control: RunControl = DEFAULT_CONTROL,
) -> tuple[Int32, int]:
    """Cluster vertices along heavy edges (``core/partition/coarsening/synchronous_clustering.hpp``).

    Parameters
    ----------
    problem : SearchProblem
        A graph and its loads; distances and linear assignment costs are not used.
    max_cluster : int
        Largest load of a cluster of several vertices.
    fewest : int
        The search ends when about so many clusters are left.
    communities : int32[n] or int32[0]
        Only vertices of equal communities are clustered together; if empty, all may be.
    local_range : int
        Number of vertices of consecutive numbers that are clustered among themselves first.
    control : RunControl

    Returns
    -------
    int32[n], int
        The cluster of every vertex, and the number of clusters.

    Notes
    -----
    O(n + m) work.

    Examples
    --------
    >>> path = Csr(np.array([0, 1, 2, 3, 4]), np.array([1, 0, 3, 2], np.int32), None)
    >>> cluster_synchronously(SearchProblem(path), 2, 1)
    (array([0, 0, 1, 1], dtype=int32), 2)
    """
    call = Call.prepare(problem, control)
    found = np.empty(problem.csr.n, np.int32)
    count = call.run(
        lambda: compiled.cluster_synchronously(
            call.graph, call.control_arrays, max_cluster, fewest, local_range, control.seed_word,
            control.threads, communities, found,
        ),
        call_size(problem.csr, _NO_BLOCKS),
    )
    return found, int(count)


def contract_in_parallel(
    problem: SearchProblem, cluster: Int32, count: int, *, control: RunControl = DEFAULT_CONTROL
) -> CoarseLevel:
    """Contract all vertices of each cluster: loads are summed, parallel edges merged, inner edges vanish.

    Parameters
    ----------
    problem : SearchProblem
        A graph and its loads; weights that could overflow are rounded as in every search.
    cluster : int32[n]
        Cluster of every vertex, 0..count-1; no cluster is empty.
    count : int
    control : RunControl

    Returns
    -------
    CoarseLevel

    Notes
    -----
    O(n + m) work. The arrays of the result are views of larger ones, of which pages that were never written
    take no memory.

    Examples
    --------
    >>> path = Csr(np.array([0, 1, 3, 4]), np.array([1, 0, 2, 1], np.int32), np.array([5, 5, 7, 7]))
    >>> level = contract_in_parallel(SearchProblem(path), np.array([0, 0, 1], np.int32), 2)
    >>> level.csr.targets, level.csr.weights, level.loads
    (array([1, 0], dtype=int32), array([7, 7]), array([2, 1]))
    """
    call = Call.prepare(problem, control)
    arcs = len(problem.csr.targets)
    indptr, loads = np.empty(count + 1, np.int64), np.empty(count, np.int64)
    targets, weights = np.empty(arcs, np.int32), np.empty(arcs, np.int64)
    call.run(
        lambda: compiled.contract_in_parallel(
            call.graph, call.control_arrays, cluster, count, control.threads, indptr, targets, weights, loads
        ),
        call_size(problem.csr, _NO_BLOCKS),
    )
    held = int(indptr[-1])
    return CoarseLevel(Csr(indptr, targets[:held], weights[:held]), loads, cluster)


def move_synchronously(
    problem: SearchProblem,
    pe: Int32,
    near_boundary: UInt8,
    max_block_weights: Int64,
    rounds: int,
    *,
    control: RunControl = DEFAULT_CONTROL,
) -> int:
    """Lower the communication cost by rounds of moves, in place.

    Parameters
    ----------
    problem : SearchProblem
        Linear assignment costs are not used.
    pe : int32[n]
        The mapping, which is changed in place.
    near_boundary : uint8[n]
        1 for all vertices with a neighbour on another PE, and for others perhaps; updated in place.
    max_block_weights : int64[k]
        Maximum load per PE; a PE that exceeds it at the beginning may keep its load.
    rounds : int
        Greatest number of rounds.
    control : RunControl

    Returns
    -------
    int
        The number of moves.

    Notes
    -----
    See ``core/partition/refinement/synchronous_moves.hpp``. O(n) plus, per round, the degrees of the vertices
    near boundaries times the number of PEs adjacent to them.

    Examples
    --------
    >>> from hopbytes.kernels.records import Distances
    >>> path = Csr(np.array([0, 1, 3, 4]), np.array([1, 0, 2, 1], np.int32), np.array([5, 5, 7, 7]))
    >>> pe, near = np.array([0, 0, 1], np.int32), np.ones(3, np.uint8)
    >>> two = Distances(table=np.array([0, 1, 1, 0]))
    >>> move_synchronously(SearchProblem(path, distances=two), pe, near, np.array([2, 2]), 4) > 0, pe
    (True, array([0, 1, 1], dtype=int32))
    """
    call = Call.prepare(problem, control)
    moves = call.run(
        lambda: compiled.move_synchronously(
            call.graph, call.distances, call.control_arrays, max_block_weights, rounds, control.threads,
            near_boundary, pe,
        ),
        call_size(problem.csr, max_block_weights),
    )
    return int(moves)


def project_in_parallel(
    cluster: Int32, coarse_pe: Int32, coarse_near: UInt8, *, threads: int = 1
) -> tuple[Int32, UInt8]:
    """Return ``coarse_pe[cluster]`` and ``coarse_near[cluster]``, taken by several threads.

    Examples
    --------
    >>> cluster, pe = np.array([0, 0, 1], np.int32), np.array([7, 3], np.int32)
    >>> project_in_parallel(cluster, pe, np.array([0, 1], np.uint8))
    (array([7, 7, 3], dtype=int32), array([0, 0, 1], dtype=uint8))
    """
    pe, near = np.empty(len(cluster), np.int32), np.empty(len(cluster), np.uint8)
    compiled.project_in_parallel(cluster, coarse_pe, coarse_near, threads, pe, near)
    return pe, near
