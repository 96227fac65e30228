"""Steps of a multilevel mapping of a large graph in which several threads work on one level.

None of the results depends on the number of threads.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import numpy as np

from hopbytes._arrays import Int32, Int64
from hopbytes.engine.control import RunControl, interruptible, rescale_to_63_bits
from hopbytes.kernels.base import compiled
from hopbytes.kernels.records import Csr

Result = TypeVar("Result")
#: Offsets, targets, weights of 32 bits, weights of 64 bits, and loads; empty arrays are missing.
LevelArrays = tuple[Int64, Int32, Int32, Int64, Int64]

#: Vertices whose arcs fit in the cache of a core.
LOCAL_RANGE = 2**14
#: No weights of 32 bits are given, and all vertices may be clustered together.
_NONE = np.empty(0, np.int32)


def cluster_synchronously(
    csr: Csr, loads: Int64, max_cluster: int, fewest: int, control: RunControl
) -> tuple[Int32, int]:
    """Cluster vertices along heavy edges (``core/partition/coarsening/synchronous_clustering.hpp``)."""
    found = np.empty(csr.n, np.int32)
    seen, _ = rescale_to_63_bits(csr.weights, len(csr.targets))
    arrays = _arrays(csr._replace(weights=seen), loads)
    count = run_on_level(
        arrays, control,
        lambda flags: compiled.cluster_synchronously(
            arrays, flags, max_cluster, fewest, LOCAL_RANGE, control.seed_word, control.threads, _NONE, found
        ),
    )
    return found, int(count)


def contract_in_parallel(csr: Csr, cluster: Int32, count: int, control: RunControl) -> Csr:
    """Contract all vertices of each cluster: parallel edges are merged, inner edges vanish; rows unsorted."""
    indptr, loads = np.empty(count + 1, np.int64), np.empty(count, np.int64)
    targets, weights = np.empty(len(csr.targets), np.int32), np.empty(len(csr.targets), np.int64)
    arrays = _arrays(csr, np.ones(csr.n, np.int64))
    run_on_level(
        arrays, control,
        lambda flags: compiled.contract_in_parallel(
            arrays, flags, cluster, count, control.threads, indptr, targets, _NONE, weights, loads
        ),
    )
    held = int(indptr[-1])
    return Csr(indptr, targets[:held], weights[:held])


def _arrays(csr: Csr, loads: Int64) -> LevelArrays:
    weights = np.empty(0, np.int64) if csr.weights is None else csr.weights
    return csr.indptr, csr.targets, _NONE, weights, loads


def run_on_level(
    arrays: LevelArrays, control: RunControl, work: Callable[[tuple[Int32, Int64]], Result]
) -> Result:
    """Call `work` with the arrays of the control under :func:`hopbytes.engine.control.interruptible`."""
    flag, spent = control.flag(), np.zeros(2, np.int64)
    return interruptible(lambda: work((flag, spent)), flag, control, len(arrays[0]) + len(arrays[1]), spent)
