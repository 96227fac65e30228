"""Partitioning of groups of vertices into blocks with maximum weights."""

from __future__ import annotations

import numpy as np

from hopbytes._arrays import Int32, Int64
from hopbytes.engine.call import Call
from hopbytes.engine.control import DEFAULT_CONTROL, RunControl, call_size
from hopbytes.engine.search_problem import SearchProblem, VertexGroups
from hopbytes.engine.settings import PartitionSettings
from hopbytes.kernels.base import compiled


def partition_many(
    problem: SearchProblem,
    groups: VertexGroups,
    settings: PartitionSettings,
    *,
    candidates: Int32 | None = None,
    control: RunControl = DEFAULT_CONTROL,
) -> tuple[Int32, Int64]:
    """Partition every group of vertices into its own blocks."""
    (indptr, targets, weights), group = problem.csr, groups.group
    call = Call.prepare(problem, control)
    child = np.zeros(problem.csr.n, np.int32)
    cut = np.zeros(len(groups.block_start) - 1, np.int64)
    given = np.empty(0, np.int32) if candidates is None else np.ascontiguousarray(candidates).reshape(-1)
    call.run(
        lambda: compiled.partition_many(
            call.graph, call.linear_cost, call.control_arrays, group, groups.block_start,
            groups.max_block_weights, groups.seeds, given, settings.by_name(control.threads), child, cut,
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
