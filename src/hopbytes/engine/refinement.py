"""Refinement of a placement by moves of tasks and clusters."""

from __future__ import annotations

from dataclasses import astuple

import numpy as np

from hopbytes._arrays import Int32, Int64, UInt64
from hopbytes.engine.call import Call
from hopbytes.engine.control import Spend, call_size
from hopbytes.engine.settings import SearchSettings
from hopbytes.kernels.base import compiled
from hopbytes.kernels.linear_cost import LinearCost

DEFAULT_SEARCH = SearchSettings()


def refine_placement(
    indptr: Int64,
    targets: Int32,
    weights: Int64 | None,
    loads: Int64 | None,
    pe: Int32,
    max_block_weights: Int64,
    *,
    labels: UInt64 | None = None,
    bit_costs: Int64 | None = None,
    table: Int64 | None = None,
    seed: int = 0,
    cycles: int = 0,
    chains: int = 1,
    coarsest: int = 40,
    search: SearchSettings = DEFAULT_SEARCH,
    others: Int32 | None = None,
    threads: int = 1,
    deadline: float | None = None,
    spend: Spend | None = None,
    linear_cost: LinearCost | None = None,
) -> tuple[Int32, int]:
    """Lower the communication cost of a placement by moves of single tasks or of clusters.

    Parameters
    ----------
    pe : int32[n]
        The placement to start from; not changed.
    max_block_weights : int64[k]
        Largest load per PE.
    labels, bit_costs
        Distances of a tree (see :class:`hopbytes.machines.place_distances.TreeDistance`), or
    table : int64[k*k]
        symmetric distances row by row. Both labels and a table: a network, see
        :func:`hopbytes.engine.distances.prepare`.
    cycles : int
        V-cycles (coarsen inside PEs, refine on every level); 0 refines only the given graph.
    chains : int
        Independent sequences of cycles, run in parallel; the cheapest result is kept.
    spend : callable or None
        Called at the end with the number of scanned edges.
    linear_cost : LinearCost or None
        Linear assignment costs, in units of weight x distance where each edge counts once.
    others : int32[c, n] or None
        Placements to recombine with: cycle i contracts only what the placement and ``others[i]`` agree on,
        so that it can choose between them region by region.

    Returns
    -------
    int32[n], int
        A placement that costs no more (after rounding by :func:`rescale_to_63_bits`), and the number of
        moves tried.
    """
    call = Call.prepare(
        indptr, targets, weights, loads, labels=labels, bit_costs=bit_costs, table=table,
        linear_cost=linear_cost
    )
    result = pe.copy()
    options = np.array([cycles, coarsest, *astuple(search), chains, threads], np.int64)
    partners = np.empty(0, np.int32) if others is None else np.ascontiguousarray(others).reshape(-1)
    moves = call.run(
        lambda: compiled.refine_placement(
            call.graph, call.distances, call.linear_cost, call.control_arrays, max_block_weights,
            seed % 2**64, options, partners, result,
        ),
        call_size(indptr, targets, max_block_weights, chains * max(1, cycles)), deadline, spend,
    )
    return result, int(moves)
