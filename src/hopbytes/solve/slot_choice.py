"""Slot selection for fewer processes than slots: nodes filled, spread evenly, or chosen by the pattern."""

from __future__ import annotations

import dataclasses
from contextlib import nullcontext, suppress
from dataclasses import field
from functools import cached_property
from typing import Any

import numpy as np

from hopbytes._arrays import Int32, Int64
from hopbytes._frozen import frozen
from hopbytes.algorithms.base import Effort
from hopbytes.algorithms.shared.sequential_assignment import fill_in_order
from hopbytes.cost.objectives.comm_cost import check_scale
from hopbytes.errors import UnsupportedError
from hopbytes.model.comm_graph import CommGraph
from hopbytes.solve.feasibility import feasible
from hopbytes.solve.formulate import formulate
from hopbytes.solve.presets import Chain
from hopbytes.solve.problem import Problem
from hopbytes.solve.run_chain import Known, solve
from hopbytes.solve.run_chain import Placed as Solved
from hopbytes.solve.slot_policies import Policy, Task, Value, policies

#: The whole chain runs on a policy if its value under the fast chain is at most this factor above the best.
WORTH_PURSUING = 1.05


@frozen(eq=False)
class Placed:
    """The result of :func:`place`."""

    problem: Problem  # the problem with the selected slots
    pe: Int32  # int32[n]: PE of every task, numbered in ``problem.where``.
    notices: list[str]
    slots: str  # name of the policy that was chosen
    value: Value  # (value, J): Key by which mappings are compared
    values: dict[str, Value] = field(default_factory=dict)  # the best key of every policy that was tried

    @property
    def placed(self) -> Int32:
        """The PE of every task in the caller's allocation, int32[n]."""
        pes = self.problem.pes
        if np.array_equal(pes, np.arange(self.problem.where.k)):
            return self.pe
        return pes.astype(np.int32)[self.pe]

    def report(self) -> dict[str, Any]:
        """Return the entries of ``Mapping.info`` about the choice; none if there was no choice."""
        if self.slots == "all":
            return {}
        values = {name: value[0] for name, value in self.values.items()}
        return {"slots": self.slots, **({"alternatives": values} if len(values) > 1 else {})}


def place(task: Task, steps: Chain, quick: Chain | None, effort: Effort, *, limited: bool) -> Placed:
    """Try every policy of slot selection and return the best mapping by the requested objective.

    If the slots are given, only `steps` runs. With fewer tasks than slots the fast chain runs on up to four
    policies, and the whole chain on those close to the best of them. The weaker presets that compete with a
    chain run on all of these policies before the chain runs on the first, so that a limit ends the search
    where it would end that of the weaker preset. In case of ties the mapping in order on filled nodes is
    preferred, because it needs no launch file.
    """
    tried = [Trial(task, each) for each in policies(task, silent=not steps.mapper.knows_tasks)]
    if len(tried) == 1:
        found = [*_in_order(task, tried), tried[0].run(steps, effort)]
        only = _best([*found, *_blocks_in_order(task, found[-1], effort)])
        by_job = only.slots == "job" and not limited
        return _beside_filled(task, only, quick or steps, effort) if by_job else only
    found = _in_order(task, tried)
    for trial in tried:
        found.append(trial.run(steps if quick is None else quick, effort))
        if effort.used_up:
            return _best(found)
    if quick is None:
        return _best(found)
    tried.sort(key=lambda each: each.value)
    limit = tried[0].value[0] * WORTH_PURSUING
    near = [each for each in tried if each.value[0] <= limit]
    staged: list[Placed] = []  # of mappings with the same value that of the stronger chain is taken
    for stage in steps.stages(task.graph.n):
        latest: list[Placed] = []
        for trial in near:
            if not effort.used_up:
                # Some chains require routes between all nodes; `steps` says whether that is an error.
                with nullcontext() if stage is steps else suppress(UnsupportedError):
                    latest.append(trial.run(stage, effort))
        staged = latest + staged
        near.sort(key=lambda each: each.value)
    return _best(found + staged)


class Trial:
    """A policy of slot selection: its problem, and what chains have found for it."""

    def __init__(self, task: Task, policy: Policy) -> None:
        self._task, self.policy = task, policy
        self._known: Known = []
        self._best: Value | None = None

    @property
    def value(self) -> Value:
        """The best key that a chain has found."""
        assert self._best is not None
        return self._best

    @cached_property
    def problem(self) -> Problem:
        """The problem that chains solve."""
        if self.policy.window is None:
            return self._task.formulated(self.policy.request)
        return _with_any_slot(self._task, self.policy.window)

    def run(self, steps: Chain, effort: Effort) -> Placed:
        """Solve the problem by a chain."""
        task, window = self._task, self.policy.window
        graph, where = task.goal.lowered(self.problem.graph, self.problem.where)
        check_scale(graph, where)  # messages may be larger than the volumes that have been checked
        lowered = dataclasses.replace(self.problem, graph=graph, where=where)
        found = solve(lowered, steps, effort, self._known)
        if window is None:
            value = _value(task, self.problem, steps, found, effort)
            placed = Placed(self.problem, found.pe, found.notices, self.policy.name, value)
        else:
            pes = window[self.problem.pes[found.pe[: task.graph.n]]]
            problem = task.formulated(dataclasses.replace(self.policy.request, slots=np.sort(pes)))
            pe = np.searchsorted(problem.pes, pes).astype(np.int32)
            value = task.value(problem, pe, effort.threads)
            placed = Placed(problem, pe, found.notices, self.policy.name, value)
        self._best = value if self._best is None else min(self._best, value)
        return placed


def _beside_filled(task: Task, found: Placed, steps: Chain, effort: Effort) -> Placed:
    """Add the value under filled nodes to a mapping with the counts of the job, so that users can compare."""
    filled = Trial(task, Policy("filled", task.request.using(pack=True))).run(steps, effort)
    if np.array_equal(filled.problem.pes, found.problem.pes):
        return found
    return dataclasses.replace(found, values={**found.values, "filled": filled.value})


def _value(task: Task, problem: Problem, steps: Chain, found: Solved, effort: Effort) -> Value:
    """Return the key of a result, of which the cost is known where the chain compares by it."""
    misplaced, _, cost, _ = found.worth
    if misplaced or not task.objective == steps.goal == "comm_cost":
        return task.value(problem, found.pe, effort.threads)
    return int(cost), int(cost)


def _with_any_slot(task: Task, pes: Int64) -> Problem:
    """Return the problem with more tasks without messages, one per free slot, so that any slot may be used.

    An exchange with such a task is a move to a free slot, so all mappers and refiners can make such moves.
    """
    constraints = dataclasses.replace(
        task.constraints, initial=_with_places_of_empty_tasks(task.constraints.initial, pes)
    )
    return formulate(
        _with_empty_tasks(task.graph, len(pes)), task.where.select(pes), task.request, constraints
    )


def _with_empty_tasks(graph: CommGraph, n: int) -> CommGraph:
    indptr = np.append(graph.indptr, np.full(n - graph.n, graph.indptr[-1]))
    return dataclasses.replace(graph, indptr=indptr, loads=None)


def _with_places_of_empty_tasks(initial: Int32 | None, pes: Int64) -> Int32 | None:
    """Return the current mapping as positions in `pes`, with the added tasks on the free slots."""
    if initial is None:
        return None
    free = np.setdiff1d(pes, initial)
    return np.searchsorted(pes, np.concatenate([initial, free])).astype(np.int32)


def _in_order(task: Task, tried: list[Trial]) -> list[Placed]:
    """Return the mapping in order under every policy whose slots are known before the search."""
    if not task.in_order_counts or task.constraints:
        return []
    found = []
    for trial in tried:
        policy = trial.policy
        if policy.window is not None or policy.request.mapper_chooses:
            continue
        problem = trial.problem
        one_each = problem.name == "processes" or task.graph.n < task.where.k
        if not one_each or problem.bounds.count is None:
            continue
        pe = np.repeat(np.arange(problem.where.k, dtype=np.int32), problem.bounds.count)
        found.append(Placed(problem, pe, [], policy.name, task.value(problem, pe)))
    return found


def _blocks_in_order(task: Task, found: Placed, effort: Effort) -> list[Placed]:
    """Return blocks of consecutive tasks if a partition was found that costs more than these.

    On a path or a ring with hardly more tasks than PEs, where nearly all edges are cut, they may be optimal.
    O(m).
    """
    problem = found.problem
    if not task.in_order_counts or task.constraints or problem.name != "partition":
        return []
    pe = fill_in_order(problem.graph, problem.bounds)
    value = task.value(problem, pe, effort.threads)
    if value >= found.value or not feasible(problem, pe):
        return []
    return [Placed(problem, pe, [], found.slots, value)]


def _best(found: list[Placed]) -> Placed:
    """Return the best mapping, in case of ties the first, with the best value of every policy."""
    values: dict[str, Value] = {}
    for one in found:
        values[one.slots] = min(one.value, values.get(one.slots, one.value))
    return dataclasses.replace(min(found, key=lambda one: one.value), values=values)
