"""Searches for patterns with zero-load tasks, which have two bounds per PE.

Searches support one bound per PE. If some tasks have no load, their number per PE is bounded as well, since
they could otherwise all end up on few PEs. Each search therefore runs twice: for the tasks with load while
the others are fixed, then for the others.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from hopbytes._arrays import Int32, Int64
from hopbytes.algorithms.base import Bounds, Effort, Mapper, Refiner
from hopbytes.kernels.linear_cost import held
from hopbytes.model.capacities import group_sums
from hopbytes.model.comm_graph import CommGraph
from hopbytes.solve.problem import Problem


def zero_load_excess(problem: Problem, pe: Int32) -> int:
    """Return the largest number of zero-load tasks of a PE beyond its bound."""
    if problem.zero_load_bounds is None:
        return 0
    return max(
        0, int((group_sums(pe, _zero_load(problem), problem.where.k) - problem.zero_load_bounds).max())
    )


def place_zero_load(problem: Problem, mapper: Mapper, pe: Int32, effort: Effort) -> Int32:
    """Map the zero-load tasks from scratch, evenly to all PEs, while the others are fixed.

    The mapper should respect ``Bounds.linear_cost``; otherwise the caller rejects the result.
    """
    assert problem.zero_load_bounds is not None
    graph, bounds = _zero_load_side(problem, problem.bounds, pe)
    bounds = dataclasses.replace(bounds, load=problem.zero_load_bounds)
    return mapper.map(graph, problem.where, bounds, effort)


def refine_in_turns(
    problem: Problem, refiner: Refiner, pe: Int32, bounds: Bounds, effort: Effort
) -> Int32:
    """Run a refiner once, or if there are zero-load tasks, first for the others and then for them."""
    if problem.zero_load_bounds is None:
        return refiner.refine(problem.graph, problem.where, pe, bounds, effort)
    for side in (_loaded_side, _zero_load_side):
        graph, own = side(problem, bounds, pe)
        pe = refiner.refine(graph, problem.where, pe, own, effort)
    return pe


def _zero_load(problem: Problem) -> Int64:
    zero_load: Int64 = (problem.graph.task_loads() == 0).astype(np.int64)
    return zero_load


def _loaded_side(problem: Problem, bounds: Bounds, pe: Int32) -> tuple[CommGraph, Bounds]:
    """Return the problem in which zero-load tasks are fixed."""
    linear_cost = held(bounds.linear_cost, _zero_load(problem) > 0, pe)
    return problem.graph, dataclasses.replace(bounds, linear_cost=linear_cost)


def _zero_load_side(problem: Problem, bounds: Bounds, pe: Int32) -> tuple[CommGraph, Bounds]:
    """Return the problem in which tasks with load are fixed and each zero-load task has load 1."""
    assert problem.zero_load_bounds is not None
    zero_load = _zero_load(problem)
    caps = np.maximum(problem.zero_load_bounds, group_sums(pe, zero_load, problem.where.k))
    graph = dataclasses.replace(problem.graph, loads=zero_load)
    return graph, dataclasses.replace(
        bounds, load=caps, linear_cost=held(bounds.linear_cost, zero_load == 0, pe)
    )
