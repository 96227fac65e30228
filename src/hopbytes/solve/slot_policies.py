"""Policies of slot selection for fewer processes than slots."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterator
from typing import Any, TypeAlias

import numpy as np

from hopbytes._arrays import Int32, Int64
from hopbytes._frozen import frozen
from hopbytes.cost.objectives.base import Objective
from hopbytes.errors import InfeasibleError
from hopbytes.machines.allocate.slot_counts import asked_by_job, spread
from hopbytes.model.allocation import Allocation, SlotUse
from hopbytes.model.comm_graph import CommGraph
from hopbytes.solve.constraints import TaskConstraints
from hopbytes.solve.formulate import formulate
from hopbytes.solve.problem import Problem, Request

#: Key by which mappings are compared: the requested objective, then J plus the linear assignment cost.
Value: TypeAlias = tuple[int | float, int]

#: With a free choice the search uses this multiple of the number of tasks as slots: a compact part of the
#: machine, and a larger part with room for other shapes. The limit keeps the work proportional to the tasks.
FREE_SLOTS = (1, 4)


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

    def formulated(self, request: Request | None = None) -> Problem:
        """Return the formulated problem, by default for the original request."""
        return formulate(self.graph, self.where, request or self.request, self.constraints)

    def value(self, problem: Problem, pe: Int32, threads: int = 1) -> Value:
        """Return the key by which mappings are compared; exact integers for J."""
        cost = problem.cost(pe, threads)
        if self.objective == "comm_cost":
            return cost, cost
        return self.goal.value(self.graph, self.where, problem.pes[pe].astype(np.int32)), cost


def policies(task: Task, *, silent: bool = True) -> Iterator[Policy]:
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
    """Return arguments of :func:`hopbytes.allocate` for "filled" and "spread"; {} without a choice.

    >>> import hopbytes as hb
    >>> slot_choices(hb.allocate("node:4 core:6"), 12, equal_nodes=True)
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
                spread(where, n, SlotUse(tasks_per_node=n // used))
                possible.append({"tasks_per_node": n // used})
    return dict(zip(("filled", "spread"), possible[:1] + possible[1:][-1:], strict=False))


def window(where: Allocation, wanted: int) -> Int64:
    """Return at least `wanted` PEs that are close to each other, or all PEs if there are fewer.

    The machine is divided along its levels (:meth:`Allocation.split`) as long as a part is large enough. The
    last parts are too small individually, so the largest of them are combined. O(k x number of cuts).

    >>> import hopbytes as hb
    >>> window(hb.allocate("torus:4x4 / core:1"), 4).tolist()
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
