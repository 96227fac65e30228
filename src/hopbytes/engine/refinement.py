"""Refinement of a mapping by moves of tasks and clusters."""

from __future__ import annotations

from dataclasses import asdict

import numpy as np

from hopbytes._arrays import Int32, Int64
from hopbytes._frozen import frozen
from hopbytes.engine.call import Call
from hopbytes.engine.control import DEFAULT_CONTROL, RunControl, call_size
from hopbytes.engine.search_problem import SearchProblem
from hopbytes.engine.settings import DEFAULT_SEARCH, SearchSettings
from hopbytes.kernels.base import compiled


@frozen
class RefinementSettings:
    """Effort of a refinement."""

    #: number of V-cycles (coarsening inside PEs, refinement on every level); 0 refines only the given graph
    cycles: int = 0
    chains: int = 1  # number of independent sequences of cycles in parallel; the best result is kept
    coarsest: int = 40  # number of clusters per PE on the coarsest level
    #: sweeps of simulated annealing over the boundaries of 16 or more PEs of different distances
    #: (``core/partition/refinement/annealing.hpp``). 0 turns it off.
    annealing_sweeps: int = 0
    #: temperature of the first sweep, in per cent of the mean weight of an arc
    annealing_hot_percent: int = 60
    anneal_distant: bool = False  # anneal although distant PEs carry nearly all of the cost
    search: SearchSettings = DEFAULT_SEARCH  # settings of the local search on every level


DEFAULT_REFINEMENT = RefinementSettings()


def refine_placement(
    problem: SearchProblem,
    pe: Int32,
    max_block_weights: Int64,
    settings: RefinementSettings = DEFAULT_REFINEMENT,
    *,
    others: Int32 | None = None,
    control: RunControl = DEFAULT_CONTROL,
) -> tuple[Int32, int]:
    """Lower the communication cost of a mapping by moves of single tasks or of clusters."""
    call = Call.prepare(problem, control)
    result = pe.copy()
    own = asdict(settings)
    options = own | own.pop("search") | {"threads": control.threads}
    partners = np.empty(0, np.int32) if others is None else np.ascontiguousarray(others).reshape(-1)
    moves = call.run(
        lambda: compiled.refine_placement(
            call.graph, call.distances, call.linear_cost, call.control_arrays, max_block_weights,
            control.seed_word, options, partners, result,
        ),
        call_size(problem.csr, max_block_weights, settings.chains * max(1, settings.cycles)),
    )
    return result, int(moves)


def even_placement(
    problem: SearchProblem,
    pe: Int32,
    counts: Int64,
    sweeps: int = 0,
    hot_percent: int = 0,
    *,
    control: RunControl = DEFAULT_CONTROL,
) -> tuple[Int32, bool]:
    """Anneal the boundaries of PEs and give every PE its exact number of tasks, with the least loss.

    Simulated annealing (``core/partition/refinement/annealing.hpp``), then chains of moves from PEs above
    their counts to PEs below (``core/partition/refinement/even_sizes.hpp``); both are our own. O(n + m) per
    sweep; a pass of chains takes O(n + m) for the cheapest moves between every two PEs, and several passes
    may be needed. The result does not depend on the number of threads.
    """
    call = Call.prepare(problem, control)
    result = pe.copy()
    even = call.run(
        lambda: compiled.even_placement(
            call.graph, call.distances, call.linear_cost, call.control_arrays, counts, control.seed_word,
            sweeps, hot_percent, result,
        ),
        call_size(problem.csr, counts, 1),
    )
    return result, bool(even)
