"""The compiled core with typed Python signatures; with `engine` the only module that sees ``hopbytes._core``.

Every function here allocates what the compiled pass fills. With ``HOPBYTES_KERNELS=reference`` the
functions that have a definition run their plain Python twin from :mod:`hopbytes.reference` instead;
there is no silent fallback: a missing core is an ImportError.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hopbytes import _core, reference, reference_parse

Int64 = NDArray[np.int64]
Int32 = NDArray[np.int32]
UInt64 = NDArray[np.uint64]

USE_REFERENCE = os.environ.get("HOPBYTES_KERNELS") == "reference"
_implementation: Any = reference if USE_REFERENCE else _core
# Heuristics have no twin to fall back to.
_compiled: Any = _core
_parsers: Any = reference_parse if USE_REFERENCE else _core

_NO_INT64: Int64 = np.empty(0, np.int64)


def optional(array: Int64 | None) -> Int64:
    """Return the empty array that compiled code reads as 'all ones'."""
    return _NO_INT64 if array is None else array


def check_csr(indptr: Int64, targets: Int32) -> int:
    """Return the first row that is unsorted, has a duplicate or leaves 0..n-1; -1 when all are fine."""
    return int(_implementation.check_csr(indptr, targets))


def has_diagonal(indptr: Int64, targets: Int32) -> bool:
    """Tell whether some task has an arc to itself."""
    return bool(_implementation.has_diagonal(indptr, targets))


def checked_sum(values: Int64) -> int:
    """Return the exact sum of int64 values, which may exceed 63 bits."""
    high, low = _implementation.wide_sum(values)
    return (int(high) << 32) + int(low)


def csr_from_arcs(
    n: int, sources: Int32, targets: Int32, volumes: Int64 | None, messages: Int64 | None
) -> tuple[Int64, Int32, Int64 | None, Int64 | None]:
    """Sort arcs into rows and sum duplicates.

    Duplicates make volumes of None into counts, so the returned volumes are None only when there
    were none.
    """
    if volumes is None:
        volumes = np.ones(len(sources), np.int64)
        unit = True
    else:
        unit = False
    indptr = np.empty(n + 1, np.int64)
    columns = np.empty(len(sources), np.int32)
    volume_out = np.empty(len(sources), np.int64)
    message_out = np.empty(0 if messages is None else len(sources), np.int64)
    count = int(
        _implementation.csr_from_arcs(
            sources, targets, volumes, optional(messages), indptr, columns, volume_out, message_out
        )
    )
    if count < len(sources):
        columns, volume_out = columns[:count].copy(), volume_out[:count].copy()
        message_out = message_out[:count].copy()
    elif unit:
        return indptr, columns, None, None if messages is None else message_out
    return indptr, columns, volume_out, None if messages is None else message_out


def symmetrize(indptr: Int64, targets: Int32, volumes: Int64) -> tuple[Int64, Int32, Int64]:
    """Return the graph with weight ``C[i,j] + C[j,i]`` in both directions and no diagonal."""
    volumes = np.ascontiguousarray(volumes)
    out_indptr = np.empty(len(indptr), np.int64)
    out_targets = np.empty(2 * len(targets), np.int32)
    out_weights = np.empty(2 * len(targets), np.int64)
    count = int(_implementation.symmetrize(indptr, targets, volumes, out_indptr, out_targets, out_weights))
    return out_indptr, out_targets[:count].copy(), out_weights[:count].copy()


def induced_csr(
    indptr: Int64, targets: Int32, weights: Int64 | None, members: Int32, place: Int32
) -> tuple[Int64, Int32, Int64 | None]:
    """Return the graph between `members`, renumbered by their position.

    Parameters
    ----------
    members : int32[s]
        Ascending vertex numbers.
    place : int32[n]
        Position of every member, negative for all other vertices.

    Notes
    -----
    O(arcs of the members). Arrays are views of buffers that are larger by the arcs that leave.
    """
    room = int((indptr[1:][members] - indptr[:-1][members]).sum())
    out_indptr = np.empty(len(members) + 1, np.int64)
    out_targets = np.empty(room, np.int32)
    out_weights = np.empty(0 if weights is None else room, np.int64)
    count = int(
        _implementation.induced_csr(
            indptr, targets, optional(weights), members, place, out_indptr, out_targets, out_weights
        )
    )
    return out_indptr, out_targets[:count], None if weights is None else out_weights[:count]


def find_asymmetry(indptr: Int64, targets: Int32, volumes: Int64 | None) -> int:
    """Return the index of an arc whose reverse is missing or weighs differently; -1 when symmetric."""
    return int(_implementation.find_asymmetry(indptr, targets, optional(volumes)))


def comm_cost_by_level(
    indptr: Int64,
    targets: Int32,
    volumes: Int64 | None,
    pe: Int32,
    labels: UInt64,
    level_of_bit: NDArray[np.uint8],
    levels: int,
) -> Int64:
    """Return int64[levels+1]: volume of arcs by the outermost level at which their PEs differ (0: same PE).

    Arcs of a task to itself are left out. `labels` and `level_of_bit` are described at
    :class:`hopbytes.machines.base.TreeDistance`.
    """
    out = np.zeros(levels + 1, np.int64)
    _implementation.volume_by_level(indptr, targets, optional(volumes), pe, labels, level_of_bit, out)
    return out


def comm_cost_table(
    indptr: Int64, targets: Int32, volumes: Int64 | None, pe: Int32, table: Int64
) -> int:
    """Return J = sum over arcs of volume x distance, distances from a dense k x k table (row-major)."""
    return int(_implementation.comm_cost_table(indptr, targets, optional(volumes), pe, table))


# ------------------------------------------------------------------- repair


def repair(
    graph: tuple[Int64, Int32, Int64 | None], loads: Int64 | None, pe: Int32, caps: Int64,
    labels: UInt64 | None, distances: Int64, control: Int32, *, fill_empty: bool = False,
) -> tuple[int, int, int]:
    """Move tasks, in place, until no PE holds more than its cap, as far as moves and swaps can.

    Parameters
    ----------
    graph : (indptr, targets, weights)
        Symmetric, see :meth:`hopbytes.graph.CommGraph.symmetric`.
    loads : int64[n] or None
        Only tasks with load are moved. None means 1 each.
    pe : int32[n]
        Changed in place.
    caps : int64[k]
    labels, distances
        Labels and cost per bit of a tree, or None and the dense table (flattened).
    control : int32[1]
        Polled; anything but 0 ends the call early, caps met or not.
    fill_empty : bool
        Instead give every empty PE a task; for loads of None and caps of 1.

    Returns
    -------
    (moves, swaps, change)
        `change` of the sum over pairs of weight x distance, each pair once.
    """
    indptr, targets, weights = graph
    shared = (indptr, targets, optional(weights), optional(loads), pe, caps, fill_empty)
    if labels is None:
        moves, swaps, change = _compiled.repair_table(*shared, distances, control)
    else:
        moves, swaps, change = _compiled.repair_tree(*shared, labels, distances, control)
    return int(moves), int(swaps), int(change)


def list_schedule(loads: Int64, caps: Int64, pe: Int32) -> None:
    """Place tasks that have load on PEs in place: longest first, each on the emptiest PE for its cap."""
    _compiled.list_schedule(loads, caps, pe)


# ---------------------------------------------------------------- text (state: reference_parse.Slot)


def parse_metis(
    text: NDArray[np.uint8],
    final: bool,
    state: Int64,
    indptr: Int64,
    targets: Int32,
    weights: Int64,
    loads: Int64,
) -> int:
    """Fill rows from vertex lines of a METIS file; return how many bytes were used (see core/parse.hpp)."""
    return int(_parsers.parse_metis(text, final, state, indptr, targets, weights, loads))


def parse_table(
    text: NDArray[np.uint8], final: bool, state: Int64, values: NDArray[np.int64] | NDArray[np.float64]
) -> int:
    """Fill `values` (int64 or float64) from lines of numbers; return how many bytes were used."""
    parser = _parsers.parse_table if values.dtype == np.int64 else _parsers.parse_real_table
    return int(parser(text, final, state, values))
