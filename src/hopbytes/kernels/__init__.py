"""The compiled core with typed Python signatures; only this package and `engine` import ``hopbytes._core``.

Every function allocates the arrays that compiled code fills. With ``HOPBYTES_KERNELS=reference`` the
functions whose results are defined call their definitions in ``tests/reference`` instead (PYTHONPATH=tests).
There is no silent fallback: a missing core is an ImportError.

Here are the functions on communication graphs in CSR form: validation, construction, cost, repair, grouping,
parsing.
"""

from __future__ import annotations

import numpy as np

from hopbytes._arrays import Float64, Int32, Int64, UInt8, UInt64
from hopbytes.kernels.base import compiled, kernel, optional
from hopbytes.kernels.linear_cost import LinearCost, as_arrays
from hopbytes.kernels.records import Csr, Distances


def comm_cost_by_level(
    arcs: Csr, pe: Int32, labels: UInt64, level_of_bit: UInt8, levels: int, threads: int = 1
) -> Int64:
    """Return int64[levels+1], the volume by the outermost level at which the PEs differ (0: same PE)."""
    out = np.zeros(levels + 1, np.int64)
    kernel.volume_by_level(arcs, pe, labels, level_of_bit, threads, out)
    return out


def comm_cost_table(arcs: Csr, pe: Int32, table: Int64, threads: int = 1) -> int:
    """Return J = sum over arcs of volume x distance, where distances are a dense k x k table (row-major)."""
    return int(kernel.comm_cost_table(arcs, pe, table, threads))


def comm_cost_network(arcs: Csr, pe: Int32, labels: UInt64, packed: Int64, threads: int = 1) -> int:
    """Return J on the nodes of a network."""
    return int(kernel.comm_cost_network(arcs, pe, labels, packed, threads))


def group_sums(group: Int32, values: Int64 | None, count: int, threads: int = 1) -> Int64:
    """Return int64[count], the exact sum of `values` (None: 1 each) per group of 0..count-1; O(n + count)."""
    sums = np.zeros(count, np.int64)
    kernel.group_sums(group, optional(values), threads, sums)
    return sums


def repair(
    csr: Csr, loads: Int64 | None, pe: Int32, capacities: Int64, distances: Distances, flag: Int32, *,
    fill_empty: bool = False,
    linear_cost: LinearCost | None = None,
) -> tuple[int, int, int, int]:
    """Move tasks, in place, until no PE exceeds its capacity, as far as moves and swaps can achieve it."""
    moves, swaps, change, compared = compiled.repair(
        (*csr, loads), pe, capacities, fill_empty, distances, (flag, None), as_arrays(linear_cost)
    )
    return int(moves), int(swaps), int(change), int(compared)


def list_schedule(loads: Int64, capacities: Int64, pe: Int32) -> None:
    """Fill `pe` by list scheduling: heaviest tasks first, each to the PE with the smallest relative load."""
    compiled.list_schedule(loads, capacities, pe)


def parse_metis(
    text: UInt8, final: bool, state: Int64, indptr: Int64, targets: Int32, weights: Int64, loads: Int64
) -> int:
    """Fill rows from vertex lines of a METIS file; return the bytes used (core/io/parse_metis.hpp)."""
    return int(kernel.parse_metis(text, final, state, indptr, targets, weights, loads))


def parse_table(text: UInt8, final: bool, state: Int64, values: Int64 | Float64) -> int:
    """Fill `values` (int64 or float64) from lines of numbers; return the number of bytes used."""
    parser = kernel.parse_table if values.dtype == np.int64 else kernel.parse_real_table
    return int(parser(text, final, state, values))


#: Names of the heuristics, in the order in which they are tried; of equally good groupings the first one
#: wins.
HEURISTICS = (
    "packed", "smallest_first", "largest_last", "weighted_degree",
    "heaviest_edge", "least_degree", "in_order", "exact",
)  # fmt: skip


def group_objects(
    csr: Csr, arity: int, *, list_up_to: int = 30_000, credit: int = 1, threads: int = 1
) -> tuple[Int32, str]:
    """Form groups of `arity` of p objects so that the weight between groups is small."""
    group = np.empty(len(csr[0]) - 1, np.int32)
    which = kernel.group_objects(csr, arity, list_up_to, credit, group, threads)
    return group, HEURISTICS[int(which)]


def check_csr(indptr: Int64, targets: Int32, threads: int = 1) -> int:
    """Return the first row that is unsorted or has a duplicate or an invalid target; -1 if there is none."""
    return int(kernel.check_csr(indptr, targets, threads))


def has_diagonal(indptr: Int64, targets: Int32, threads: int = 1) -> bool:
    """Return whether a task has an arc to itself."""
    return bool(kernel.has_diagonal(indptr, targets, threads))


def checked_sum(values: Int64, threads: int = 1) -> int:
    """Return the exact sum of int64 values, which may exceed 63 bits."""
    high, low = kernel.wide_sum(values, threads)
    return (int(high) << 32) + int(low)


def csr_from_arcs(
    n: int, sources: Int32, targets: Int32, volumes: Int64 | None, messages: Int64 | None
) -> tuple[Int64, Int32, Int64 | None, Int64 | None]:
    """Sort arcs into rows and sum duplicates; volumes of None become counts if an arc is repeated."""
    m = len(sources)
    given = np.ones(m, np.int64) if volumes is None else volumes
    indptr, columns = np.empty(n + 1, np.int64), np.empty(m, np.int32)
    sums, counts = np.empty(m, np.int64), np.empty(0 if messages is None else m, np.int64)
    kept = int(
        kernel.csr_from_arcs(sources, targets, given, optional(messages), indptr, columns, sums, counts)
    )
    if kept < m:
        columns, sums, counts = columns[:kept].copy(), sums[:kept].copy(), counts[:kept].copy()
    distinct = volumes is None and kept == m
    return indptr, columns, None if distinct else sums, None if messages is None else counts


def symmetrize(arcs: Csr, threads: int = 1) -> Csr:
    """Return the graph with weight ``C[i,j] + C[j,i]`` in both directions and no diagonal."""
    if arcs.weights is not None:
        arcs = arcs._replace(weights=np.ascontiguousarray(arcs.weights))
    indptr, arcs_both_ways = np.empty(len(arcs.indptr), np.int64), 2 * len(arcs.targets)
    targets, weights = np.empty(arcs_both_ways, np.int32), np.empty(arcs_both_ways, np.int64)
    count = int(kernel.symmetrize(arcs, threads, indptr, targets, weights))
    return Csr(indptr, targets[:count], weights[:count])


def induced_csr(csr: Csr, members: Int32, place: Int32) -> Csr:
    """Return the subgraph induced by `members`, renumbered by their position."""
    room = int((csr.indptr[1:][members] - csr.indptr[:-1][members]).sum())
    indptr, targets = np.empty(len(members) + 1, np.int64), np.empty(room, np.int32)
    weights = np.empty(0 if csr.weights is None else room, np.int64)
    count = int(kernel.induced_csr(csr, members, place, indptr, targets, weights))
    return Csr(indptr, targets[:count], None if csr.weights is None else weights[:count])


def block_weights(csr: Csr, block: Int32, blocks: int, threads: int = 1) -> Csr:
    """Return the graph of the weights between blocks, with rows in ascending order of targets."""
    sums, seen = np.zeros(blocks * blocks, np.int64), np.zeros(blocks * blocks, np.uint8)
    kernel.block_weights(csr, block, blocks, threads, sums, seen)
    entries = np.flatnonzero(seen)
    starts = np.searchsorted(entries, blocks * np.arange(blocks + 1, dtype=np.int64))
    return Csr(starts.astype(np.int64), (entries % max(blocks, 1)).astype(np.int32), sums[entries])


def reverse_cuthill_mckee(csr: Csr) -> Int32:
    """Return the reverse Cuthill-McKee order of a graph, in which neighbours have close numbers."""
    order = np.empty(csr.n, np.int32)
    kernel.reverse_cuthill_mckee(csr, order)
    return order


def find_asymmetry(arcs: Csr, threads: int = 1) -> int:
    """Return the index of the first arc whose reverse is missing or has another weight; -1 if none is."""
    return int(kernel.find_asymmetry(arcs, threads))
