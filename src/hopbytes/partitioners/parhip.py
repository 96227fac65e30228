"""The binary graph layout that KaMinPar loads fastest, written into a file without a name."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from hopbytes import kernels
from hopbytes._arrays import Int32, Int64
from hopbytes.model.comm_graph import Csr

# Arc weights are 32 bits wide each and so is their sum.
_LARGEST_SUM = 2**31 - 1
_LARGEST_OFFSET = 2**32 - 1
_CHUNK = 1 << 20
# Flags in the first word; a set bit means absent or narrow.
_NO_ARC_WEIGHTS, _NO_VERTEX_WEIGHTS, _ALL_NARROW = 1, 2, 4 | 8 | 16 | 32


def fits(n: int, m: int) -> bool:
    """Tell whether a graph of n vertices and m arcs can be written with 32-bit offsets."""
    return _first_target(n) + 4 * m <= _LARGEST_OFFSET


def _first_target(n: int) -> int:
    return 3 * 8 + 4 * (n + 1)


def memory_file() -> IO[bytes]:
    """Open a file that has no name and, where the system can, lives in memory."""
    try:
        return os.fdopen(os.memfd_create("hopbytes-graph"), "w+b", buffering=0)
    except (AttributeError, OSError):
        return tempfile.TemporaryFile(buffering=0)


def write_parhip(file: IO[bytes], csr: Csr, weights: Int32 | None) -> None:
    """Write the binary ParHIP layout with 32-bit numbers throughout.

    Three 64-bit words (flags, n, arcs); n + 1 offsets in bytes from the start of the file; targets;
    vertex weights; arc weights. The last two may be missing.
    """
    n, m = len(csr.indptr) - 1, len(csr.targets)
    flags = _ALL_NARROW
    flags |= _NO_ARC_WEIGHTS if csr.weights is None else 0
    flags |= _NO_VERTEX_WEIGHTS if weights is None else 0
    _write(file, np.array([flags, n, m], "<u8"))
    _write(file, (_first_target(n) + 4 * csr.indptr).astype("<u4"))
    _write(file, csr.targets)
    if weights is not None:
        _write(file, weights)
    if csr.weights is not None:
        for chunk in _scaled_chunks(csr.weights):
            _write(file, chunk)


def _write(file: IO[bytes], array: NDArray[Any]) -> None:
    rest = np.ascontiguousarray(array).view(np.uint8)
    while len(rest):  # one call writes at most 2 GiB
        rest = rest[file.write(rest.data) :]


def _scaled_chunks(weights: Int64) -> Iterator[Int32]:
    """Yield arc weights as positive 32-bit numbers with a sum below 2^31, rounded where they must shrink."""
    total = kernels.checked_sum(weights)
    shrink = (_LARGEST_SUM - 2 * len(weights)) / total if total > _LARGEST_SUM else None
    for start in range(0, len(weights), _CHUNK):
        chunk = weights[start : start + _CHUNK]
        if shrink is not None:
            chunk = np.maximum(np.rint(chunk * shrink), 1)
        yield chunk.astype(np.int32)
