"""Which slots fewer tasks than slots use: nodes filled, spread evenly, or chosen by the pattern."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from contextlib import nullcontext, suppress
from dataclasses import field
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np

from hopbytes._arrays import Int32, Int64
from hopbytes._frozen import frozen
from hopbytes.algorithms.base import Effort
from hopbytes.algorithms.shared.sequential_assignment import fill_in_order
from hopbytes.cost.objectives.comm_cost import Objective, check_scale
from hopbytes.errors import InfeasibleError, UnsupportedError
from hopbytes.machines.allocate.slot_counts import asked_by_job, spread
from hopbytes.model.allocation import Allocation, SlotUse
from hopbytes.model.comm_graph import CommGraph
from hopbytes.solve.feasible import feasible
from hopbytes.solve.formulate import formulate
from hopbytes.solve.method import Method, Sequence
from hopbytes.solve.problem import Problem, Request, TaskConstraints
from hopbytes.solve.search import Search

#: Key by which mappings are compared: the requested objective, then J plus the linear assignment cost.
Value: TypeAlias = tuple[int | float, int]

#: With a free choice the search uses this multiple of the number of tasks as slots: a compact part of the
#: machine, and a larger part with room for other shapes. The limit keeps the work proportional to the tasks.
FREE_SLOTS = (1, 4)
#: With at least so many tasks, and at most one free slot for so many of them, all policies lead to nearly the
#: same problem, and only the free choice among all slots is searched.
LARGE, FEW_FREE = 4096, 64


@frozen(eq=False)
class Policy:
    """A policy of slot selection."""

    #: with "free" tasks may use any slots of `window`; with "asked" the caller or the mapper selects them;
    #: with "job" the job prescribes the number of tasks per node; with "all" every slot is used
    name: str
    request: Request
    #: int64[w] or None: PEs among which the search chooses; None means that the request decides
    window: Int64 | None = None


@frozen(eq=False)
class Task:
    """The pattern, the machine, the request, and the objective by which mappings are compared."""

    graph: CommGraph  # the arguments of :func:`hopbytes.solve.formulate.formulate`.
    where: Allocation
    request: Request
    constraints: TaskConstraints
    objective: str  # name of the objective
    goal: Objective
    in_order_counts: bool = True  # the mapping in order is a candidate if every process has one slot

    def formulated(self, request: Request) -> Problem:
        return formulate(self.graph, self.where, request, self.constraints)

    def value(self, problem: Problem, pe: Int32, threads: int = 1) -> Value:
        """Return the key by which mappings are compared; exact integers for J."""
        cost = problem.cost(pe, threads)
        if self.objective == "comm_cost":
            return cost, cost
        return self.goal.value(self.graph, self.where, problem.pes[pe].astype(np.int32)), cost


def policies(task: Task, *, silent: bool) -> Iterator[Policy]:
    """Yield the policies of slot selection: only one if the slots are given or all slots are needed.

    With constraints on single tasks the search cannot choose freely, and neither can it without `silent`
    tasks (tasks without messages, one per free slot); then nodes are filled or tasks are spread. A current
    mapping keeps its slots, or may leave them if migration is free. If the job prescribes the number of tasks
    per node, it is kept, because the user requested it from the scheduler. A partition into fewer tasks than
    PEs has one task per PE as well, so that it has the same choice.
    """
    request, where, n = task.request, task.where, task.graph.n
    settled = request.chooses_slots or request.mapper_chooses or task.constraints.initial is not None
    if silent and _free_to_leave(task):
        yield Policy(_what_constrains(task), request)
        near = window(where, min(FREE_SLOTS[-1] * n, where.k))
        yield Policy("free", request, np.union1d(np.asarray(task.constraints.initial, np.int64), near))
        return
    if settled or asked_by_job(where, n) or not 0 < n < where.k:
        yield Policy(_what_constrains(task), request)
        return
    if request.use.equal_nodes:
        yield from _on_equal_nodes(task)
        return
    yield Policy("filled", request.using(pack=True))
    if silent and not task.constraints:
        windows = [window(where, min(times * n, where.k)) for times in FREE_SLOTS]
        yield from (Policy("free", request, pes) for pes in {len(pes): pes for pes in windows}.values())
        if task.objective == "comm_cost" and where.node_of_pe[n - 1] == where.node_of_pe[-1]:
            return  # filled and spread tasks differ in free slots of the same nodes, and "free" has both
    yield Policy("spread", request.using(spread=True))


def _free_to_leave(task: Task) -> bool:
    """Return whether each task has its own slot now, other slots are free, and tasks may move there."""
    constraints, n = task.constraints, task.graph.n
    restricted = constraints.fixed is not None or constraints.forbidden is not None
    if constraints.initial is None or constraints.price or restricted:
        return False
    whole = task.request.chooses_slots or task.request.mapper_chooses
    return not whole and 0 < n < task.where.k and len(np.unique(constraints.initial)) == n


def _what_constrains(task: Task) -> str:
    """Return the name of the only policy if there is no choice."""
    request = task.request
    if task.graph.n >= task.where.k:
        return "all"
    if request.use.counted or task.constraints.initial is not None or request.mapper_chooses:
        return "asked"
    if request.use.pack:
        return "filled"
    return "job" if asked_by_job(task.where, task.graph.n) and not request.use.spread else "spread"


def _on_equal_nodes(task: Task) -> Iterator[Policy]:
    """Yield the policies that give every used node the same number of tasks, as constraints allow.

    Slots are numbered as :func:`hopbytes.solve.formulate.formulate` does, without PEs that no task may use.
    """
    n, where = task.graph.n, task.where
    usable = task.constraints.usable(n, where.k)
    where = where if len(usable) in (0, where.k) else where.select(usable)
    fixed, found = task.constraints.fixed, False
    for name, way in slot_choices(where, n, equal_nodes=True).items():
        slots = spread(where, n, SlotUse(**way))
        if fixed is not None:
            slots = _around(where, slots, np.flatnonzero(np.isin(usable, fixed)))
        request = dataclasses.replace(task.request, slots=slots)
        if not task.constraints or np.array_equal(task.formulated(request).pes, usable[request.slots]):
            found = True
            yield Policy(name, request)
    if not found:
        yield Policy("spread", task.request.using(spread=True))


def _around(where: Allocation, slots: Int64, needed: Int64) -> Int64:
    """Return as many slots of as many nodes, among them those `needed` if nodes have room for them."""
    node = where.node_of_pe
    each = int(np.bincount(node[slots]).max())
    wish = np.full(where.k, 2)
    wish[slots] = 1
    wish[needed] = 0
    order = np.lexsort((wish, node))  # node after node
    rank = np.arange(where.k) - np.searchsorted(node[order], node[order])
    full = np.bincount(node) >= each
    first = order[(rank == 0) & full[node[order]]]
    chosen = node[first[np.argsort(wish[first], kind="stable")[: len(slots) // each]]]
    return np.sort(order[(rank < each) & np.isin(node[order], chosen)])


def slot_choices(where: Allocation, n: int, *, equal_nodes: bool) -> dict[str, dict[str, Any]]:
    """Return arguments of :func:`hopbytes.allocate` for "filled" and "spread"; {} without a choice."""
    if n >= where.k or n == 0 or asked_by_job(where, n):
        return {}
    if not equal_nodes:
        return {"filled": {"pack": True}, "spread": {"spread": True}}
    possible = []
    for used in range(1, min(n, len(np.unique(where.node_of_pe))) + 1):
        if n % used == 0:
            with suppress(InfeasibleError):
                spread(where, n, SlotUse(tasks_per_node=n // used))
                possible.append({"tasks_per_node": n // used})
    return dict(zip(("filled", "spread"), possible[:1] + possible[1:][-1:], strict=False))


def window(where: Allocation, wanted: int) -> Int64:
    """Return at least `wanted` PEs that are close to each other, or all PEs if there are fewer."""
    pes = np.arange(where.k, dtype=np.int64)
    while len(pes) > wanted:
        parts = where.split(pes)
        enough = [part for part in parts if len(part) >= wanted]
        if enough:
            pes = min(enough, key=len)
            continue
        taken: list[Int64] = []
        for part in sorted(parts, key=len, reverse=True):
            if sum(map(len, taken)) < wanted:
                taken.append(part)
        return np.sort(np.concatenate(taken))
    return pes


#: The whole chain runs on a policy if its value under the fast chain is at most this factor above the best.
WORTH_PURSUING = 1.05


@frozen(eq=False)
class Result:
    """A mapping to selected slots."""

    problem: Problem  # the problem with the selected slots
    pe: Int32  # int32[n]: PE of every task, numbered in ``problem.where``
    notices: list[str]
    slots: str  # name of the policy that was chosen
    value: Value  # (value, J): key by which mappings are compared
    values: dict[str, Value] = field(default_factory=dict)  # the best key of every policy that was tried

    @property
    def mapping(self) -> Int32:
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


def solve(task: Task, method: Method, effort: Effort, *, limited: bool) -> Result:
    """Try every policy of slot selection and return the best mapping by the requested objective.

    If the slots are given, only the method itself runs. With fewer tasks than slots the fast sequence runs on
    up to four policies, and the whole method on the best of them that are close to the very best. The weaker
    presets that compete with a method run on all of these policies before the method runs on the first, so
    that a limit ends the search where it would end that of the weaker preset. In case of ties the mapping in
    order on filled nodes is preferred, because it needs no launch file.
    """
    quick, steps = method.quick, method.steps
    trials = [Trial(task, each, effort) for each in policies(task, silent=not method.mapper.knows_tasks)]
    results = _in_order(task, trials)
    n, free = task.graph.n, task.where.k - task.graph.n
    if n >= LARGE and free * FEW_FREE <= n:
        trials = [trial for trial in trials if trial.policy.name == "free"] or trials
    if len(trials) == 1:
        results.append(trials[0].run(steps))
        only = _best([*results, *_blocks_in_order(task, results[-1], effort)])
        by_job = only.slots == "job" and not limited
        return _beside_filled(task, only, quick or steps, effort) if by_job else only
    for trial in trials:
        results.append(trial.run(steps if quick is None else quick))
        if effort.used_up:
            return _best(results)
    if quick is None:
        return _best(results)
    trials.sort(key=lambda trial: trial.value)
    most = trials[0].value[0] * WORTH_PURSUING
    near = [trial for trial in trials[: method.slot_choices] if trial.value[0] <= most]
    staged: list[Result] = []  # of mappings with the same value that of the stronger sequence is taken
    for stage in steps.stages(task.graph.n):
        latest: list[Result] = []
        for trial in near:
            if not effort.used_up:
                # Some sequences require routes between all nodes; `steps` says whether that is an error.
                with nullcontext() if stage is steps else suppress(UnsupportedError):
                    latest.append(trial.run(stage))
        staged = latest + staged
        near.sort(key=lambda trial: trial.value)
    return _best(results + staged)


class Trial:
    """A policy of slot selection: its problem, and what sequences have found for it."""

    def __init__(self, task: Task, policy: Policy, effort: Effort) -> None:
        self._task, self.policy, self._effort = task, policy, effort
        self._best: Value | None = None

    @property
    def value(self) -> Value:
        """The best key that a sequence has found."""
        assert self._best is not None
        return self._best

    @cached_property
    def problem(self) -> Problem:
        if self.policy.window is None:
            return self._task.formulated(self.policy.request)
        return _with_any_slot(self._task, self.policy.window)

    @cached_property
    def _search(self) -> Search:
        graph, where = self._task.goal.lowered(self.problem.graph, self.problem.where)
        check_scale(graph, where)  # messages may be larger than the volumes that have been checked
        lowered = dataclasses.replace(self.problem, graph=graph, where=where)
        return Search(lowered, self._task.objective, self._effort)

    def run(self, steps: Sequence) -> Result:
        task, window, problem = self._task, self.policy.window, self.problem
        solution = self._search.run(steps)
        pe, (misplaced, _, cost, _) = solution.pe, solution.key
        if window is not None:
            pes = window[problem.pes[pe[: task.graph.n]]]
            problem = task.formulated(dataclasses.replace(self.policy.request, slots=np.sort(pes)))
            pe = np.searchsorted(problem.pes, pes).astype(np.int32)
        if window is None and not misplaced and task.objective == "comm_cost":
            value: Value = int(cost), int(cost)  # the search compares by it
        else:
            value = task.value(problem, pe, self._effort.threads)
        self._best = value if self._best is None else min(self._best, value)
        return Result(problem, pe, solution.notices, self.policy.name, value)


def _beside_filled(task: Task, result: Result, steps: Sequence, effort: Effort) -> Result:
    """Add the value under filled nodes to a mapping with the counts of the job, so that users can compare."""
    filled = Trial(task, Policy("filled", task.request.using(pack=True)), effort).run(steps)
    if np.array_equal(filled.problem.pes, result.problem.pes):
        return result
    return dataclasses.replace(result, values={**result.values, "filled": filled.value})


def _with_any_slot(task: Task, pes: Int64) -> Problem:
    """Return the problem with a task without messages per free slot, so that any slot may be used."""
    graph, constraints, initial = task.graph, task.constraints, task.constraints.initial
    indptr = np.append(graph.indptr, np.full(len(pes) - graph.n, graph.indptr[-1]))
    if initial is not None:
        everywhere = np.concatenate([initial, np.setdiff1d(pes, initial)])
        constraints = dataclasses.replace(
            constraints, initial=np.searchsorted(pes, everywhere).astype(np.int32)
        )
    graph = dataclasses.replace(graph, indptr=indptr, loads=None)
    return formulate(graph, task.where.select(pes), task.request, constraints)


def _in_order(task: Task, trials: list[Trial]) -> list[Result]:
    """Return the mapping in order under every policy whose slots are known before the search."""
    results: list[Result] = []
    for trial in trials if task.in_order_counts and not task.constraints else ():
        if trial.policy.window is not None or trial.policy.request.mapper_chooses:
            continue
        problem = trial.problem
        one_each = problem.name == "processes" or task.graph.n < task.where.k
        if one_each and problem.bounds.count is not None:
            pe = np.repeat(np.arange(problem.where.k, dtype=np.int32), problem.bounds.count)
            results.append(Result(problem, pe, [], trial.policy.name, task.value(problem, pe)))
    return results


def _blocks_in_order(task: Task, result: Result, effort: Effort) -> list[Result]:
    """Return blocks of consecutive tasks if a partition was found that costs more than these."""
    problem = result.problem
    if not task.in_order_counts or task.constraints or problem.name != "partition":
        return []
    pe = fill_in_order(problem.graph, problem.bounds)
    value = task.value(problem, pe, effort.threads)
    if value >= result.value or not feasible(problem, pe):
        return []
    return [Result(problem, pe, [], result.slots, value)]


def _best(results: list[Result]) -> Result:
    """Return the best mapping, in case of ties the first, with the best value of every policy."""
    values: dict[str, Value] = {}
    for result in results:
        values[result.slots] = min(result.value, values.get(result.slots, result.value))
    return dataclasses.replace(min(results, key=lambda result: result.value), values=values)
