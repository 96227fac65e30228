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
from hopbytes.kernels.base import compiled, implementation

_implementation = implementation("slots")


@frozen
class ChainSettings:
    """Effort of a search by chains of exchanges.

    Parameters
    ----------
    fruitless_exchanges : int
        Number of consecutive exchanges without a new best after which a chain ends.
    budget : int
        Approximate number of edges to scan.
    """

    fruitless_exchanges: int
    budget: int


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

    Parameters
    ----------
    order : int32[n]
        The order in which tasks start chains.
    settings : ChainSettings
    """
    call = Call.prepare(problem, control)
    counted, result = np.zeros(2, np.int64), pe.copy()
    call.run(
        lambda: _implementation.chain_search(
            call.graph, call.distances, call.linear_cost, call.control_arrays, settings.fruitless_exchanges,
            settings.budget, order, capacities, result, counted,
        ),
        min(SMALL, len(problem.csr.targets) * (settings.fruitless_exchanges + 1)),
    )
    return Searched(result, int(counted[0]), int(counted[1]))


@frozen
class RepartitionSettings:
    """The effort of pairwise repartitioning.

    Parameters
    ----------
    new_bisections : int
        Number of new bisections of a pair of units, in addition to the current one.
    rounds : int
        Number of passes over the pairs; later passes visit only pairs with a unit that has changed.
    budget : int
        Approximate number of edges to scan.
    threads : int
        Number of threads; the result does not depend on it.
    """

    new_bisections: int = 1
    rounds: int = 3
    budget: int = 2**40
    threads: int = 1


def repartition_pairs(
    problem: SearchProblem,
    pe: Int32,
    unit_start: Int64,
    pairs: Int32,
    settings: RepartitionSettings,
    *,
    control: RunControl = DEFAULT_CONTROL,
) -> tuple[Searched, int]:
    """Bisect the tasks of pairs of units again (``core/assignment/pairwise_repartition.hpp``).

    Parameters
    ----------
    problem : SearchProblem
        Its loads must be None, because only the number of tasks per PE is bounded.
    unit_start : int64[units+1]
        Unit u consists of the PEs from ``unit_start[u]`` to ``unit_start[u+1] - 1``; every PE is in a unit.
    pairs : int32[p, 2]
        Pairs of units, in the order in which they are tried.
    settings : RepartitionSettings
    control : RunControl

    Returns
    -------
    Searched, int
        A mapping that costs no more, with the same number of tasks on every PE, and the number of pairs with
        a gain.
    """
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
