"""Steps of a multilevel mapping of a large graph in which several threads work on one level.

None of the results depends on the number of threads.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import numpy as np

from hopbytes._arrays import Int32, Int64
from hopbytes._frozen import frozen
from hopbytes.engine.control import DEFAULT_CONTROL, RunControl, interruptible
from hopbytes.engine.problem import DistanceArrays, SearchProblem, prepare
from hopbytes.kernels.base import compiled
from hopbytes.kernels.records import Csr

Result = TypeVar("Result")

#: Vertices whose arcs fit in the cache of a core.
LOCAL_RANGE = 2**14

_NO_NARROW, _NO_WIDE = np.empty(0, np.int32), np.empty(0, np.int64)
#: All vertices may be clustered together.
NO_COMMUNITIES = np.empty(0, np.int32)


@frozen(eq=False)
class LevelGraph:
    """A graph on one level, with the distances of the PEs, in the form that the compiled steps take."""

    indptr: Int64  # int64[n+1]: A symmetric graph without diagonal; targets need not be sorted within rows
    targets: Int32  # int32[m]
    #: int32[m], int64[m] or None: Weights of 32 bits have a sum below 2^31; None means 1 each
    weights: Int32 | Int64 | None
    loads: Int64  # int64[n]
    distances: DistanceArrays  # see :class:`hopbytes.engine.problem.Call`.

    @classmethod
    def of(cls, problem: SearchProblem) -> LevelGraph:
        """Return the graph of a problem, where numbers whose sums could overflow are scaled down."""
        indptr, targets, weights = problem.csr
        seen, distances, _ = prepare(weights, len(targets), problem.distances)
        loads = np.ones(problem.csr.n, np.int64) if problem.loads is None else problem.loads
        return cls(indptr, targets, seen, loads, distances)

    @property
    def n(self) -> int:
        return len(self.loads)

    @property
    def csr(self) -> Csr:
        """The graph with weights of 64 bits."""
        wide = None if self.weights is None else self.weights.astype(np.int64, copy=False)
        return Csr(self.indptr, self.targets, wide)

    @property
    def weights_are_narrow(self) -> bool:
        """Whether the sum of all weights, and so each weight of a coarser graph, has 32 bits."""
        weights, most = self.weights, 2**31 - 1
        if weights is None:
            return len(self.targets) <= most
        return weights.dtype == np.int32 or int(weights.sum()) <= most

    @property
    def arrays(self) -> tuple[Int64, Int32, Int32, Int64, Int64]:
        """Offsets, targets, weights of 32 bits, weights of 64 bits, and loads; empty arrays are missing."""
        narrow, wide = _NO_NARROW, _NO_WIDE
        if self.weights is not None and self.weights.dtype == np.int32:
            narrow = self.weights.astype(np.int32, copy=False)
        elif self.weights is not None:
            wide = self.weights.astype(np.int64, copy=False)
        return self.indptr, self.targets, narrow, wide, self.loads


def _run(graph: LevelGraph, control: RunControl, work: Callable[[tuple[Int32, Int64]], Result]) -> Result:
    """Call `work` with the arrays of the control under :func:`hopbytes.engine.control.interruptible`."""
    flag, spent = control.flag(), np.zeros(2, np.int64)
    size = len(graph.indptr) + len(graph.targets)
    return interruptible(lambda: work((flag, spent)), flag, control, size, spent)


def cluster_synchronously(
    graph: LevelGraph, max_cluster: int, fewest: int, *, communities: Int32 = NO_COMMUNITIES,
    local_range: int = LOCAL_RANGE, control: RunControl = DEFAULT_CONTROL,
) -> tuple[Int32, int]:
    """Cluster vertices along heavy edges (``core/partition/coarsening/synchronous_clustering.hpp``)."""
    found = np.empty(graph.n, np.int32)
    count = _run(
        graph, control,
        lambda flags: compiled.cluster_synchronously(
            graph.arrays, flags, max_cluster, fewest, local_range, control.seed_word, control.threads,
            communities, found,
        ),
    )
    return found, int(count)


def contract_in_parallel(
    graph: LevelGraph, cluster: Int32, count: int, *, control: RunControl = DEFAULT_CONTROL
) -> LevelGraph:
    """Contract all vertices of each cluster: loads are summed, parallel edges merged, inner edges vanish."""
    arcs = len(graph.targets)
    indptr, loads = np.empty(count + 1, np.int64), np.empty(count, np.int64)
    targets, narrow, wide = np.empty(arcs, np.int32), _NO_NARROW, _NO_WIDE
    if graph.weights_are_narrow:
        weights: Int32 | Int64 = (narrow := np.empty(arcs, np.int32))
    else:
        weights = wide = np.empty(arcs, np.int64)
    _run(
        graph, control,
        lambda flags: compiled.contract_in_parallel(
            graph.arrays, flags, cluster, count, control.threads, indptr, targets, narrow, wide, loads
        ),
    )
    held = int(indptr[-1])
    return LevelGraph(indptr, targets[:held], weights[:held], loads, graph.distances)
