"""One task per slot: chains of exchanges, and pairwise repartitioning of units."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hopbytes._arrays import Int32, Int64, UInt64
from hopbytes.engine.call import Call
from hopbytes.engine.control import SMALL, Spend, call_size
from hopbytes.engine.slots import Searched
from hopbytes.kernels.base import compiled, implementation
from hopbytes.kernels.linear_cost import LinearCost

_implementation = implementation("slots")


def chain_search(
    indptr: Int64,
    targets: Int32,
    weights: Int64 | None,
    loads: Int64 | None,
    pe: Int32,
    capacities: Int64,
    order: Int32,
    *,
    fruitless_exchanges: int,
    budget: int,
    labels: UInt64 | None = None,
    bit_costs: Int64 | None = None,
    table: Int64 | None = None,
    deadline: float | None = None,
    spend: Spend | None = None,
    linear_cost: LinearCost | None = None,
) -> Searched:
    """Make chains of exchanges that may pass through losses (``core/chains.hpp``).

    Parameters are those of :func:`hopbytes.engine.slots.pair_search`, and

    Parameters
    ----------
    order : int32[n]
        The order in which tasks start chains.
    fruitless_exchanges : int
        Consecutive exchanges without a new best that end a chain.
    budget : int
        Approximate number of edges to scan.
    """
    call = Call.prepare(
        indptr, targets, weights, loads, labels=labels, bit_costs=bit_costs, table=table,
        linear_cost=linear_cost
    )
    counted, result = np.zeros(2, np.int64), pe.copy()
    call.run(
        lambda: _implementation.chain_search(
            call.graph, call.distances, call.linear_cost, call.control_arrays, fruitless_exchanges, budget,
            order, capacities, result, counted,
        ),
        min(SMALL, len(targets) * (fruitless_exchanges + 1)), deadline, spend,
    )
    return Searched(result, int(counted[0]), int(counted[1]))


@dataclass(frozen=True, slots=True)
class RepartitionSettings:
    """Effort of pairwise repartitioning.

    Parameters
    ----------
    new_bisections : int
        New bisections of a pair of units, in addition to the present one.
    rounds : int
        Passes over the pairs; later passes visit only pairs with a unit that changed.
    budget : int
        Approximate number of edges to scan.
    """

    new_bisections: int = 1
    rounds: int = 3
    budget: int = 2**40


def repartition_pairs(
    indptr: Int64,
    targets: Int32,
    weights: Int64 | None,
    pe: Int32,
    k: int,
    unit_start: Int64,
    pairs: Int32,
    settings: RepartitionSettings,
    *,
    seed: int = 0,
    labels: UInt64 | None = None,
    bit_costs: Int64 | None = None,
    table: Int64 | None = None,
    deadline: float | None = None,
    spend: Spend | None = None,
    linear_cost: LinearCost | None = None,
) -> tuple[Searched, int]:
    """Divide the tasks of two units anew between them (``core/pairwise_repartition.hpp``).

    Parameters
    ----------
    unit_start : int64[units+1]
        Unit u consists of the PEs from ``unit_start[u]`` to ``unit_start[u+1] - 1``.
    pairs : int32[p, 2]
        Pairs of units, in the order in which they are tried.
    settings : RepartitionSettings

    Returns
    -------
    Searched, int
        A placement that costs no more and has as many tasks on every PE, and how many pairs gained.
    """
    call = Call.prepare(
        indptr, targets, weights, None, labels=labels, bit_costs=bit_costs, table=table,
        linear_cost=linear_cost
    )
    counted, result = np.zeros(4, np.int64), pe.copy()
    room = np.full(k, len(indptr), np.int64)
    flat = np.ascontiguousarray(pairs, np.int32).reshape(-1)
    options = np.array([settings.new_bisections, settings.rounds, settings.budget], np.int64)
    call.run(
        lambda: compiled.repartition_pairs(
            call.graph, call.distances, call.linear_cost, call.control_arrays, flat, unit_start, options,
            seed % 2**64, room, result, counted,
        ),
        call_size(indptr, targets, room) * (1 + settings.new_bisections), deadline, spend,
    )
    return Searched(result, int(counted[0]), int(counted[1])), int(counted[2])
