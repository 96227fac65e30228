"""Parsers of numbers in text; their state array is described at
:class:`hopbytes.kernels.records.Slot`."""

from __future__ import annotations

import numpy as np

from hopbytes._arrays import Float64, Int32, Int64, UInt8
from hopbytes.kernels.base import implementation

_kernel = implementation("text")


def parse_metis(
    text: UInt8,
    final: bool,
    state: Int64,
    indptr: Int64,
    targets: Int32,
    weights: Int64,
    loads: Int64,
) -> int:
    """Fill rows from vertex lines of a METIS file; return the bytes used (core/io/parse_metis.hpp)."""
    return int(_kernel.parse_metis(text, final, state, indptr, targets, weights, loads))


def parse_table(text: UInt8, final: bool, state: Int64, values: Int64 | Float64) -> int:
    """Fill `values` (int64 or float64) from lines of numbers; return the number of bytes used."""
    parser = _kernel.parse_table if values.dtype == np.int64 else _kernel.parse_real_table
    return int(parser(text, final, state, values))
