"""Writer of the binary ParHIP layout, which KaMinPar loads fastest, into an unnamed file."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from typing import IO

import numpy as np

from hopbytes import kernels
from hopbytes._arrays import Array, Int32, Int64
from hopbytes.kernels.records import Csr

# Arc weights are 32-bit integers, and partitioners store their sum in 32 bits as well.
_LARGEST_SUM = 2**31 - 1
_LARGEST_OFFSET = 2**32 - 1
_CHUNK = 1 << 20
# Flags in the first word; a set bit means that an array is absent or has 32-bit entries.
_NO_ARC_WEIGHTS, _NO_VERTEX_WEIGHTS, _ALL_NARROW = 1, 2, 4 | 8 | 16 | 32


def fits(n: int, m: int) -> bool:
    """Tell whether a graph of n vertices and m arcs can be written with 32-bit offsets."""
    return _first_target(n) + 4 * m <= _LARGEST_OFFSET


def _first_target(n: int) -> int:
    return 3 * 8 + 4 * (n + 1)


def memory_file() -> IO[bytes]:
    """Open an unnamed file, which is in memory if the operating system supports that."""
    try:
        return os.fdopen(os.memfd_create("hopbytes-graph"), "w+b", buffering=0)
    except (AttributeError, OSError):
        return tempfile.TemporaryFile(buffering=0)


def write_parhip(file: IO[bytes], csr: Csr, weights: Int32 | None) -> None:
    """Write a graph in the binary ParHIP layout with 32-bit numbers.

    The file holds three 64-bit words (flags, n, arcs), n + 1 offsets in bytes from the start of the file, the
    targets, the vertex weights and the arc weights. The last two may be absent.
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


def _write(file: IO[bytes], array: Array) -> None:
    rest = np.ascontiguousarray(array).view(np.uint8)
    while len(rest):  # one call writes at most 2 GiB
        rest = rest[file.write(rest.data) :]


def _scaled_chunks(weights: Int64) -> Iterator[Int32]:
    """Yield arc weights as positive 32-bit numbers with a sum below 2^31, scaled and rounded if necessary."""
    total = kernels.checked_sum(weights)
    shrink = (_LARGEST_SUM - 2 * len(weights)) / total if total > _LARGEST_SUM else None
    for start in range(0, len(weights), _CHUNK):
        chunk = weights[start : start + _CHUNK]
        if shrink is not None:
            chunk = np.maximum(np.rint(chunk * shrink), 1)
        yield chunk.astype(np.int32)
