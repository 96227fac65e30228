"""The two halves of a multilevel mapping of a large graph, in which several threads work on every level."""

from __future__ import annotations

from dataclasses import asdict, dataclass

import numpy as np

from hopbytes._arrays import Int32, Int64
from hopbytes.engine.call import Call
from hopbytes.engine.control import DEFAULT_CONTROL, RunControl, call_size
from hopbytes.engine.search_problem import SearchProblem
from hopbytes.engine.settings import DEFAULT_SEARCH, SearchSettings
from hopbytes.kernels.base import compiled
from hopbytes.kernels.records import Csr

#: Every level has at most 9/10 of the vertices of the one before, so all maps together have at most ten times
#: the vertices of the graph, and there are fewer levels than this.
_SHRINK, _MOST_LEVELS = 10, 250


@dataclass(frozen=True, slots=True, eq=False)
class Coarsened:
    """A coarse graph, and how it was made.

    Parameters
    ----------
    csr : Csr
        The coarsest graph.
    loads : int64[c]
        Loads of its vertices.
    maps : int32[...]
        For every level, the finest first, the coarse vertex of each of its vertices, one after another.
    sizes : int64[levels]
        Number of vertices of each coarse level.
    """

    csr: Csr
    loads: Int64
    maps: Int32
    sizes: Int64

    def clusters(self) -> Int32:
        """Return int32[n], the vertex of the coarsest graph that holds each vertex. O(n x levels)."""
        sizes = self.sizes.tolist()
        ends = np.cumsum([len(self.maps) - sum(sizes[:-1]), *sizes[:-1]])
        cluster, *later = np.split(self.maps, ends[:-1])
        for level in later:
            cluster = level[cluster]
        return cluster


def coarsen_in_parallel(
    problem: SearchProblem, max_block_weights: Int64, target: int, *, control: RunControl = DEFAULT_CONTROL
) -> Coarsened | None:
    """Contract heavy edges between light vertices until about `target` vertices are left.

    Parameters
    ----------
    problem : SearchProblem
        Distances are not used; linear assignment costs are not supported.
    max_block_weights : int64[k]
        Maximum block weights; the weight of clusters is limited so that blocks can be filled evenly.
    target : int
        Coarsening stops at so many vertices, or when vertices can hardly be contracted.
    control : RunControl

    Returns
    -------
    Coarsened or None
        None if the graph was not contracted at all. The result does not depend on ``control.threads``.

    Notes
    -----
    O(n + m) work per level; the levels of meshes shrink geometrically.
    """
    n, arcs = problem.csr.n, len(problem.csr.targets)
    # Pages that are never written take no memory.
    maps, sizes = np.empty(_SHRINK * n, np.int32), np.empty(_MOST_LEVELS, np.int64)
    indptr, targets = np.empty(n + 1, np.int64), np.empty(arcs, np.int32)
    weights, loads = np.empty(arcs, np.int64), np.empty(n, np.int64)
    call = Call.prepare(problem, control)
    levels = call.run(
        lambda: compiled.coarsen_in_parallel(
            call.graph, call.control_arrays, max_block_weights, target, control.seed_word, control.threads,
            maps, sizes, indptr, targets, weights, loads,
        ),
        call_size(problem.csr, max_block_weights),
    )
    if not levels:
        return None
    count = int(sizes[levels - 1])
    held = int(indptr[count])
    csr = Csr(indptr[: count + 1].copy(), targets[:held].copy(), weights[:held].copy())
    mapped = n + int(sizes[: levels - 1].sum())
    return Coarsened(csr, loads[:count].copy(), maps[:mapped].copy(), sizes[:levels].copy())


@dataclass(frozen=True, slots=True)
class UncoarseningSettings:
    """Effort of the refinement on the way from the coarsest graph to the given one.

    Parameters
    ----------
    synchronous_rounds : int
        Rounds of synchronous moves on every level (``core/partition/refinement/synchronous_moves.hpp``).
    sequential_up_to : int
        Graphs with at most so many vertices are refined by one thread with the local search of `search`.
    search : SearchSettings
    """

    synchronous_rounds: int = 6
    sequential_up_to: int = 0
    search: SearchSettings = DEFAULT_SEARCH


def uncoarsen_in_parallel(
    problem: SearchProblem,
    coarsened: Coarsened,
    pe: Int32,
    max_block_weights: Int64,
    settings: UncoarseningSettings,
    *,
    control: RunControl = DEFAULT_CONTROL,
) -> tuple[Int32, int]:
    """Refine the communication cost of a mapping of the coarsest graph on every level down to the given one.

    Parameters
    ----------
    problem : SearchProblem
        The graph that was coarsened, and distances between PEs.
    coarsened : Coarsened
    pe : int32[c]
        A mapping of the coarsest graph; the array is not changed.
    max_block_weights : int64[k]
        Maximum load per PE.
    settings : UncoarseningSettings
    control : RunControl

    Returns
    -------
    int32[n], int
        The mapping of the given graph, which does not depend on ``control.threads``, and the number of moves.
        It costs no more than `pe`, except where PEs had to be drained of excess load.

    Notes
    -----
    O(n + m) work per level.
    """
    call = Call.prepare(problem, control)
    result = np.empty(problem.csr.n, np.int32)
    result[: len(pe)] = pe
    own = {
        "synchronous_rounds": settings.synchronous_rounds, "sequential_up_to": settings.sequential_up_to,
        "threads": control.threads,
    }
    options = asdict(settings.search) | own
    moves = call.run(
        lambda: compiled.uncoarsen_in_parallel(
            call.graph, call.distances, call.control_arrays, coarsened.maps, coarsened.sizes,
            max_block_weights, control.seed_word, options, result,
        ),
        call_size(problem.csr, max_block_weights),
    )
    return result, int(moves)
