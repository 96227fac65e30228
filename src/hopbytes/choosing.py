"""Which slots fewer processes than slots use: nodes filled, spread evenly, or chosen by the pattern."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from hopbytes.allocation import Allocation
from hopbytes.constraints import Constraints
from hopbytes.errors import InfeasibleError
from hopbytes.graph import CommGraph
from hopbytes.mappers.base import Effort, Int32, Int64
from hopbytes.objectives.base import Objective
from hopbytes.presets import Chain
from hopbytes.problem import Problem, Request, pose
from hopbytes.solve import solve
from hopbytes.spread import asked_by_job, spread

#: What placements are compared by: the objective asked for, then J with the costs of single tasks.
Value: TypeAlias = tuple[int | float, int]

#: A policy is pursued with the whole chain if the quick chain came as near to the best one as this.
WORTH_PURSUING = 1.05
#: The pattern chooses among so many times as many slots as there are tasks: a compact part of the machine,
#: and a larger one with room for other shapes. The limit keeps the work in proportion to the tasks.
FREE_SLOTS = (1, 4)


@dataclass(frozen=True, slots=True, eq=False)
class Policy:
    """One way to choose slots.

    Parameters
    ----------
    name : {"filled", "spread", "free", "asked", "job", "all"}
        "free": tasks go to any slots of `window`; "asked": the caller or the mapper says which; "job": the
        job says how many tasks each node gets; "all": there are no more slots than tasks.
    request : Request
    window : int64[w] or None
        PEs among which the search chooses; None: the request decides.
    """

    name: str
    request: Request
    window: Int64 | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Placed:
    """What :func:`place` found.

    Parameters
    ----------
    problem : Problem
        The problem with the slots that are used.
    pe : int32[n]
        PE of every task among those in play.
    notices : list of str
    slots : str
        Name of the policy that was taken.
    value : (value, J)
        What placements are compared by.
    values : dict of str to (value, J)
        The best found under every policy that was tried.
    """

    problem: Problem
    pe: Int32
    notices: list[str]
    slots: str
    value: Value
    values: dict[str, Value] = field(default_factory=dict)

    @property
    def placed(self) -> Int32:
        """int32[n]: PE of every task in the caller's allocation."""
        return self.problem.pes[self.pe].astype(np.int32)

    def report(self) -> dict[str, Any]:
        """Return what :func:`hopbytes.map_tasks` records of the choice; nothing where there was none."""
        if self.slots == "all":
            return {}
        values = {name: value[0] for name, value in self.values.items()}
        return {"slots": self.slots, **({"alternatives": values} if len(values) > 1 else {})}


@dataclass(frozen=True, slots=True, eq=False)
class Task:
    """What is to be mapped where, and what makes one placement better than another.

    Parameters
    ----------
    graph, where, request, said
        As for :func:`hopbytes.problem.pose`.
    objective : str
        Its name.
    goal : Objective
    in_order_counts : bool
        Tasks in the order of their numbers are a candidate wherever one process has one slot.
    """

    graph: CommGraph
    where: Allocation
    request: Request
    said: Constraints
    objective: str
    goal: Objective
    in_order_counts: bool = True

    def posed(self, request: Request | None = None) -> Problem:
        """Return the problem, by default as it was requested."""
        return pose(self.graph, self.where, request or self.request, self.said)

    def value(self, problem: Problem, pe: Int32) -> Value:
        """Return what placements are compared by; exact integers for J."""
        cost = problem.cost(pe)
        if self.objective == "comm_cost":
            return cost, cost
        return self.goal.value(self.graph, self.where, problem.pes[pe].astype(np.int32)), cost


def place(task: Task, steps: Chain, quick: Chain | None, effort: Effort, *, limited: bool) -> Placed:
    """Try every policy of choosing slots and return the best placement by the objective asked for.

    Parameters
    ----------
    task : Task
    steps : Chain
        What maps and refines.
    quick : Chain or None
        A cheaper chain that judges the policies first; `steps` then runs on those that came near the
        best one. None: `steps` runs on every policy.
    effort : Effort
    limited : bool
        Time or work is limited, so `steps` runs on the best policy alone.

    Raises
    ------
    InfeasibleError, ScaleError, UnsupportedError
        See :func:`hopbytes.problem.pose` and the mappers.

    Notes
    -----
    Up to three times the work of one chain where there are fewer tasks than slots; otherwise one chain.
    Ties go to tasks in order on filled nodes, which need no launch file.
    """
    tried = list(policies(task, silent=not steps.mapper.knows_tasks))
    if len(tried) == 1:
        return _best([*_in_order(task, tried), _run(task, tried[0], steps, effort)])
    found = _in_order(task, tried)
    judged: list[tuple[Value, Policy]] = []
    for policy in tried:
        found.append(_run(task, policy, steps if quick is None else quick, effort))
        judged.append((found[-1].value, policy))
        if effort.used_up:
            return _best(found)
    if quick is not None:
        judged.sort(key=lambda each: each[0])
        limit = judged[0][0][0] * WORTH_PURSUING
        near = [policy for value, policy in judged if value[0] <= limit]
        for policy in near[: 1 if limited else None]:
            if not effort.used_up:
                found.append(_run(task, policy, steps, effort))
    return _best(found)


def policies(task: Task, *, silent: bool = True) -> Iterator[Policy]:
    """Yield the ways to choose slots: one where somebody has said which or all are needed.

    With places or prices of single tasks the search cannot choose freely, nor without `silent` tasks, one for
    every other slot: nodes are filled or spread over.
    Where the job says how many tasks each node gets, that is what its user asked the scheduler for.
    """
    request, where, n = task.request, task.where, task.graph.n
    settled = request.chooses_slots or request.mapper_chooses or task.said.initial is not None
    if settled or asked_by_job(where, n) or not 0 < n < where.k or request.partition:
        yield Policy(_said(task), request)
        return
    if request.equal_nodes:
        yield from _on_equal_nodes(task)
        return
    yield Policy("filled", dataclasses.replace(request, pack=True))
    if silent and not task.said:
        windows = [window(where, min(times * n, where.k)) for times in FREE_SLOTS]
        yield from (Policy("free", request, pes) for pes in {len(pes): pes for pes in windows}.values())
    yield Policy("spread", dataclasses.replace(request, spread=True))


def _said(task: Task) -> str:
    """Name who chooses the slots where no policy has to be tried."""
    request = task.request
    if task.graph.n >= task.where.k:
        return "all"
    if request.counted or task.said.initial is not None or request.mapper_chooses:
        return "asked"
    if request.pack:
        return "filled"
    return "job" if asked_by_job(task.where, task.graph.n) and not request.spread else "spread"


def _on_equal_nodes(task: Task) -> Iterator[Policy]:
    """Yield the policies that give every node in use the same number of tasks."""
    ways = slot_choices(task.where, task.graph.n, equal_nodes=True)
    if not ways:
        yield Policy("spread", dataclasses.replace(task.request, spread=True))
    for name, way in ways.items():
        yield Policy(name, dataclasses.replace(task.request, slots=spread(task.where, task.graph.n, **way)))


def slot_choices(where: Allocation, n: int, *, equal_nodes: bool) -> dict[str, dict[str, Any]]:
    """Return keywords of :func:`hopbytes.map_tasks` for "filled" and "spread"; {} without a choice.

    Parameters
    ----------
    where : Allocation
    n : int
        Number of tasks.
    equal_nodes : bool
        Every node in use shall hold the same number of tasks: "filled" takes the fewest nodes that can,
        "spread" the most.

    Examples
    --------
    >>> import hopbytes as hb
    >>> slot_choices(hb.machine("node:4 core:6"), 12, equal_nodes=True)
    {'filled': {'tasks_per_node': 6}, 'spread': {'tasks_per_node': 3}}
    """
    if n >= where.k or n == 0 or asked_by_job(where, n):
        return {}
    if not equal_nodes:
        return {"filled": {"pack": True}, "spread": {"spread": True}}
    possible = []
    for used in range(1, min(n, len(np.unique(where.node_of_pe))) + 1):
        if n % used == 0:
            with contextlib.suppress(InfeasibleError):
                spread(where, n, tasks_per_node=n // used)
                possible.append({"tasks_per_node": n // used})
    return dict(zip(("filled", "spread"), possible[:1] + possible[1:][-1:], strict=False))


def window(where: Allocation, wanted: int) -> Int64:
    """Return PEs that lie close together, at least `wanted` of them where there are as many.

    Parameters
    ----------
    where : Allocation
        k PEs.
    wanted : int
        Number of PEs, at least 1.

    Returns
    -------
    int64[...]
        PE numbers, ascending.

    Notes
    -----
    The machine is cut along its natural seams (:meth:`Allocation.split`) as long as a part is large
    enough; of the last parts, which are too small by themselves, the largest are taken together.
    O(k x number of cuts).

    Examples
    --------
    >>> import hopbytes as hb
    >>> window(hb.machine("torus:4x4 / core:1"), 4).tolist()
    [0, 1, 4, 5]
    """
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


def _run(task: Task, policy: Policy, steps: Chain, effort: Effort) -> Placed:
    """Solve the problem of one policy."""
    if policy.window is None:
        problem = task.posed(policy.request)
        pe, notices = _solved(task, problem, steps, effort)
    else:
        pes, notices = _chosen(task, policy.window, steps, effort)
        problem = task.posed(dataclasses.replace(policy.request, slots=np.sort(pes)))
        pe = np.searchsorted(problem.pes, pes).astype(np.int32)
    return Placed(problem, pe, notices, policy.name, task.value(problem, pe))


def _solved(task: Task, problem: Problem, steps: Chain, effort: Effort) -> tuple[Int32, list[str]]:
    graph, where = task.goal.lowered(problem.graph, problem.where)
    return solve(dataclasses.replace(problem, graph=graph, where=where), steps, effort)


def _chosen(task: Task, pes: Int64, steps: Chain, effort: Effort) -> tuple[Int64, list[str]]:
    """Map the tasks together with silent ones, one for every other slot, so that all slots are candidates.

    An exchange with a silent task is a move to a free slot, so every mapper and every refiner has such moves.
    """
    n = task.graph.n
    problem = pose(_with_silent_tasks(task.graph, len(pes)), task.where.select(pes), task.request)
    pe, notices = _solved(task, problem, steps, effort)
    return pes[problem.pes[pe[:n]]], notices


def _with_silent_tasks(graph: CommGraph, n: int) -> CommGraph:
    indptr = np.append(graph.indptr, np.full(n - graph.n, graph.indptr[-1]))
    return dataclasses.replace(graph, indptr=indptr, loads=None)


def _in_order(task: Task, tried: list[Policy]) -> list[Placed]:
    """Return tasks in order of their numbers under every policy that names its slots beforehand."""
    if not task.in_order_counts or task.said:
        return []
    found = []
    for policy in tried:
        if policy.window is not None or policy.request.mapper_chooses:
            continue
        problem = task.posed(policy.request)
        if problem.name != "processes" or problem.bounds.count is None:
            continue
        pe = np.repeat(np.arange(problem.where.k, dtype=np.int32), problem.bounds.count)
        found.append(Placed(problem, pe, [], policy.name, task.value(problem, pe)))
    return found


def _best(found: list[Placed]) -> Placed:
    """Return the best placement, the first of equals, with the best value of every policy."""
    values: dict[str, Value] = {}
    for one in found:
        values[one.slots] = min(one.value, values.get(one.slots, one.value))
    return dataclasses.replace(min(found, key=lambda one: one.value), values=values)
