"""The four schedules of shared-memory multisection: order and number of threads of the subproblems.

The schedules follow Schulz and Woydt (2025, "SharedMap"). A schedule does not affect the result: the threads
of a subproblem compute repetitions of its cut in parallel, and seeds derive from the position of the
subproblem in the hierarchy. In this implementation one thread distributes work items as others are completed,
so schedules need no locks; in SharedMap the workers loop over shared counters.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from hopbytes._frozen import frozen
from hopbytes.algorithms.multisection.hierarchy_levels import Subproblem


@frozen(eq=False)
class WorkItem:
    """The division of one subproblem, which is to start now."""

    subproblem: Subproblem
    threads: int  # number of threads for this item
    worker: int  # the lowest free worker number, for traces


class Schedule(Protocol):
    """The interface of the four schedules."""

    def begin(self, root: Subproblem) -> list[WorkItem]:
        """Return the first work items."""

    def finished(self, order: WorkItem, children: list[Subproblem]) -> list[WorkItem]:
        """Return the items to start after `order` was completed; `children` are not yet divided."""


def divided(threads: int, subproblems: int) -> list[int]:
    """Divide threads among min(threads, subproblems) workers evenly; the first workers get one more.

    >>> divided(8, 3), divided(2, 5)
    ([3, 3, 2], [1, 1])
    """
    workers = min(threads, subproblems)
    return [threads // workers + (worker < threads % workers) for worker in range(workers)]


class Naive:
    """All threads work on one subproblem after another."""

    def __init__(self, threads: int) -> None:
        self._threads = threads
        self._waiting: deque[Subproblem] = deque()

    def begin(self, root: Subproblem) -> list[WorkItem]:
        """Return what to start with."""
        return [WorkItem(root, self._threads, 0)]

    def finished(self, order: WorkItem, children: list[Subproblem]) -> list[WorkItem]:
        """Return the subproblem that has waited longest."""
        self._waiting.extend(children)
        return [WorkItem(self._waiting.popleft(), self._threads, 0)] if self._waiting else []


class Layer:
    """The threads are divided among the subproblems of a level; the next level begins when all are done."""

    def __init__(self, threads: int) -> None:
        self._threads = threads
        self._waiting: deque[Subproblem] = deque()
        self._next: list[Subproblem] = []
        self._running = 0

    def begin(self, root: Subproblem) -> list[WorkItem]:
        """Return what to start with."""
        self._next = [root]
        return self._start_layer()

    def finished(self, order: WorkItem, children: list[Subproblem]) -> list[WorkItem]:
        """Give the worker the next subproblem of the level, or start the next level after the last one."""
        self._next.extend(children)
        if self._waiting:
            return [WorkItem(self._waiting.popleft(), order.threads, order.worker)]
        self._running -= 1
        return self._start_layer() if self._running == 0 and self._next else []

    def _start_layer(self) -> list[WorkItem]:
        self._waiting, self._next = deque(self._next), []
        threads = divided(self._threads, len(self._waiting))
        self._running = len(threads)
        return [WorkItem(self._waiting.popleft(), share, worker) for worker, share in enumerate(threads)]


class Queue:
    """The largest waiting subproblem comes first and gets an even share of the free threads."""

    def __init__(self, threads: int) -> None:
        self._free = threads
        self._workers = list(range(threads))
        self._waiting: list[tuple[int, tuple[int, ...], Subproblem]] = []

    def begin(self, root: Subproblem) -> list[WorkItem]:
        """Return what to start with."""
        return self._add([root])

    def finished(self, order: WorkItem, children: list[Subproblem]) -> list[WorkItem]:
        """Take the threads back and assign all free threads."""
        self._free += order.threads
        heapq.heappush(self._workers, order.worker)
        return self._add(children)

    def _add(self, subproblems: list[Subproblem]) -> list[WorkItem]:
        for subproblem in subproblems:
            heapq.heappush(self._waiting, (-subproblem.n, subproblem.path, subproblem))
        orders = []
        while self._free and self._waiting:
            threads = -(-self._free // len(self._waiting))
            self._free -= threads
            orders.append(WorkItem(heapq.heappop(self._waiting)[2], threads, heapq.heappop(self._workers)))
        return orders


@dataclass(slots=True, eq=False)
class _Team:
    """Workers that take subproblems from the same list."""

    subproblems: list[Subproblem]
    taken: int = 0


@dataclass(slots=True, eq=False)
class _Worker:
    number: int
    threads: int
    team: _Team
    found: list[Subproblem] = field(default_factory=list)


class NonBlockingLayer:
    """Teams proceed through the levels independently; workers that are done pass their threads to others.

    A worker takes subproblems from the list of its team, each time together with all idle threads. When
    the list is empty, it splits into a new team for the subproblems that it created.
    """

    def __init__(self, threads: int) -> None:
        self._threads = threads
        self._zero_load = 0
        self._numbers = list(range(threads))
        self._workers: dict[int, _Worker] = {}

    def begin(self, root: Subproblem) -> list[WorkItem]:
        """Return what to start with."""
        return self._split(self._threads, [root])

    def finished(self, order: WorkItem, children: list[Subproblem]) -> list[WorkItem]:
        """Return the next item of the worker, as the class describes."""
        worker = self._workers[order.worker]
        worker.found.extend(children)
        return self._go_on(worker)

    def _split(self, threads: int, subproblems: list[Subproblem]) -> list[WorkItem]:
        team = _Team(subproblems)
        orders = []
        for share in divided(threads, len(subproblems)):
            number = heapq.heappop(self._numbers)
            self._workers[number] = _Worker(number, share, team)
            orders += self._go_on(self._workers[number])
        return orders

    def _go_on(self, worker: _Worker) -> list[WorkItem]:
        team = worker.team
        if team.taken < len(team.subproblems):
            worker.threads, self._zero_load = worker.threads + self._zero_load, 0
            team.taken += 1
            return [WorkItem(team.subproblems[team.taken - 1], worker.threads, worker.number)]
        heapq.heappush(self._numbers, worker.number)
        del self._workers[worker.number]
        if worker.found:
            return self._split(worker.threads, worker.found)
        self._zero_load += worker.threads
        return []


SCHEDULES: dict[str, Callable[[int], Schedule]] = {
    "naive": Naive,
    "layer": Layer,
    "queue": Queue,
    "nb_layer": NonBlockingLayer,
}
