"""Partitioning of groups of vertices, coarsening, and refinement of mappings by moves of tasks."""

from __future__ import annotations

from dataclasses import asdict

import numpy as np

from hopbytes._arrays import Int32, Int64
from hopbytes._frozen import frozen
from hopbytes.engine.control import DEFAULT_CONTROL, RunControl, call_size
from hopbytes.engine.problem import (
    DEFAULT_SEARCH,
    Call,
    PartitionSettings,
    SearchProblem,
    SearchSettings,
    VertexGroups,
)
from hopbytes.kernels.base import compiled


def partition_many(
    problem: SearchProblem, groups: VertexGroups, settings: PartitionSettings, *,
    candidates: Int32 | None = None, control: RunControl = DEFAULT_CONTROL
) -> tuple[Int32, Int64]:
    """Partition every group of vertices into its own blocks."""
    (indptr, targets, weights), group = problem.csr, groups.group
    call = Call.prepare(problem, control)
    child = np.zeros(problem.csr.n, np.int32)
    cut = np.zeros(len(groups.block_start) - 1, np.int64)
    given = np.empty(0, np.int32) if candidates is None else np.ascontiguousarray(candidates).reshape(-1)
    call.run(
        lambda graph, _, linear_cost, flags: compiled.partition_many(
            graph, linear_cost, flags, group, groups.block_start, groups.max_block_weights, groups.seeds,
            given, settings.by_name(control.threads), child, cut,
        ),
        call_size(problem.csr, groups.max_block_weights, settings.repeats),
    )
    # Compiled code returns the cut of rounded weights, so the exact cut is computed here.
    if weights is not None and call.graph[2] is not weights:
        cut[:] = 0
        rows = np.repeat(np.arange(problem.csr.n), np.diff(indptr))
        counts = (rows < targets) & (group[rows] == group[targets]) & (child[rows] != child[targets])
        np.add.at(cut, group[rows[counts]], weights[counts])
    return child, cut


@frozen
class RefinementSettings:
    """Effort of a refinement, see the options of the refiner ``vcycle``."""

    cycles: int = 0
    chains: int = 1
    coarsest: int = 40
    annealing_sweeps: int = 0  # ``core/partition/refinement/annealing.hpp``
    annealing_hot_percent: int = 60  # temperature of the first sweep, of the mean weight of an arc
    anneal_distant: bool = False  # anneal although distant PEs carry nearly all of the cost
    search: SearchSettings = DEFAULT_SEARCH  # settings of the local search on every level


DEFAULT_REFINEMENT = RefinementSettings()


def refine_placement(
    problem: SearchProblem, pe: Int32, max_block_weights: Int64,
    settings: RefinementSettings = DEFAULT_REFINEMENT, *, others: Int32 | None = None,
    control: RunControl = DEFAULT_CONTROL
) -> tuple[Int32, int]:
    """Lower the communication cost of a mapping by moves of single tasks or of clusters."""
    result, own = pe.copy(), asdict(settings)
    options = own | own.pop("search") | {"threads": control.threads}
    partners = np.empty(0, np.int32) if others is None else np.ascontiguousarray(others).reshape(-1)
    moves = Call.prepare(problem, control).run(
        compiled.refine_placement,
        call_size(problem.csr, max_block_weights, settings.chains * max(1, settings.cycles)),
        max_block_weights, control.seed_word, options, partners, result,
    )
    return result, int(moves)


def even_placement(
    problem: SearchProblem, pe: Int32, counts: Int64, sweeps: int = 0, hot_percent: int = 0, *,
    control: RunControl = DEFAULT_CONTROL
) -> tuple[Int32, bool]:
    """Anneal the boundaries of PEs and give every PE its exact number of tasks, with the least loss."""
    result = pe.copy()
    even = Call.prepare(problem, control).run(
        compiled.even_placement, call_size(problem.csr, counts, 1),
        counts, control.seed_word, sweeps, hot_percent, result,
    )
    return result, bool(even)


def deep_multisection(
    problem: SearchProblem, groups: Int32, capacity: Int64, max_loads: Int64, settings: dict[str, int],
    *, control: RunControl = DEFAULT_CONTROL,
) -> Int32:
    """Return int32[n], the PE of every task (``core/partition/deep_multisection.hpp``).

    `groups` are int32[levels, k], the group of each PE, outermost level first; the last level has one per PE.
    Linear costs may only fix tasks.
    """
    heaviest = 1 if problem.loads is None else int(problem.loads.max(initial=1))
    pe = np.zeros(problem.csr.n, np.int32)
    Call.prepare(problem, control).run(
        compiled.deep_multisection, call_size(problem.csr, max_loads),
        groups.reshape(-1), capacity, max_loads, control.seed_word,
        settings | {"threads": control.threads, "heaviest": heaviest}, pe,
    )
    return pe
