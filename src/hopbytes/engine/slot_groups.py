"""One task per slot: chains of exchanges, and pairwise repartitioning of units."""

from __future__ import annotations

from dataclasses import asdict

import numpy as np

from hopbytes._arrays import Int32, Int64
from hopbytes._frozen import frozen
from hopbytes.engine.call import Call
from hopbytes.engine.control import DEFAULT_CONTROL, SMALL, RunControl, call_size
from hopbytes.engine.search_problem import SearchProblem
from hopbytes.engine.slots import Searched
from hopbytes.kernels.base import compiled, kernel


@frozen
class ChainSettings:
    """Effort of a search by chains of exchanges."""

    fruitless_exchanges: int  # number of consecutive exchanges without a new best after which a chain ends
    budget: int  # approximate number of edges to scan


def chain_search(
    problem: SearchProblem,
    pe: Int32,
    capacities: Int64,
    order: Int32,
    settings: ChainSettings,
    *,
    control: RunControl = DEFAULT_CONTROL,
) -> Searched:
    """Make chains of exchanges, also with losses (``core/assignment/chains.hpp``).

    The parameters are those of :func:`hopbytes.engine.slots.pair_search` and the following.
    """
    call = Call.prepare(problem, control)
    counted, result = np.zeros(2, np.int64), pe.copy()
    call.run(
        lambda: kernel.chain_search(
            call.graph, call.distances, call.linear_cost, call.control_arrays, settings.fruitless_exchanges,
            settings.budget, order, capacities, result, counted,
        ),
        min(SMALL, len(problem.csr.targets) * (settings.fruitless_exchanges + 1)),
    )
    return Searched(result, int(counted[0]), int(counted[1]))


@frozen
class RepartitionSettings:
    """The effort of pairwise repartitioning."""

    new_bisections: int = 1  # number of new bisections of a pair of units, in addition to the current one
    #: number of passes over the pairs; later passes visit only pairs with a unit that has changed
    rounds: int = 3
    budget: int = 2**40  # approximate number of edges to scan
    threads: int = 1  # number of threads; the result does not depend on it


def repartition_pairs(
    problem: SearchProblem,
    pe: Int32,
    unit_start: Int64,
    pairs: Int32,
    settings: RepartitionSettings,
    *,
    control: RunControl = DEFAULT_CONTROL,
) -> tuple[Searched, int]:
    """Bisect the tasks of pairs of units again (``core/assignment/pairwise_repartition.hpp``)."""
    call = Call.prepare(problem, control)
    counted, result = np.zeros(4, np.int64), pe.copy()
    room = np.full(int(unit_start[-1]), len(problem.csr.indptr), np.int64)
    flat = np.ascontiguousarray(pairs, np.int32).reshape(-1)
    options = asdict(settings)
    call.run(
        lambda: compiled.repartition_pairs(
            call.graph, call.distances, call.linear_cost, call.control_arrays, flat, unit_start, options,
            control.seed_word, room, result, counted,
        ),
        call_size(problem.csr, room) * (1 + settings.new_bisections),
    )
    return Searched(result, int(counted[0]), int(counted[1])), int(counted[2])
