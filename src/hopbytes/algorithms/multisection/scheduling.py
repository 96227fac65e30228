"""The four schedules of shared-memory multisection: which piece is cut next, with how many threads.

After Schulz and Woydt (2025, "SharedMap"). A schedule decides who works when and never what comes out:
the threads given to a piece are tries of its cut side by side, and seeds derive from the piece's place.
Here one thread of control hands out orders as pieces are done, so a schedule is plain bookkeeping
without locks; theirs are loops of workers around shared counters.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from hopbytes.algorithms.multisection.hierarchy_levels import Subproblem


@dataclass(frozen=True, slots=True, eq=False)
class WorkItem:
    """Cut this piece now.

    Parameters
    ----------
    piece : Piece
    threads : int
    worker : int
        Lowest number that is free, for traces.
    """

    subproblem: Subproblem
    threads: int
    worker: int


class Schedule(Protocol):
    """What the four have in common."""

    def begin(self, root: Subproblem) -> list[WorkItem]:
        """Return what to start with."""

    def finished(self, order: WorkItem, children: list[Subproblem]) -> list[WorkItem]:
        """Return what to start now that an order is carried out; `children` are still to be cut."""


def divided(threads: int, subproblems: int) -> list[int]:
    """Threads of min(threads, pieces) workers: as even as can be, the first ones get one more.

    Examples
    --------
    >>> divided(8, 3), divided(2, 5)
    ([3, 3, 2], [1, 1])
    """
    workers = min(threads, subproblems)
    return [threads // workers + (worker < threads % workers) for worker in range(workers)]


class Naive:
    """All threads on one piece after another."""

    def __init__(self, threads: int) -> None:
        self._threads = threads
        self._waiting: deque[Subproblem] = deque()

    def begin(self, root: Subproblem) -> list[WorkItem]:
        """Return what to start with."""
        return [WorkItem(root, self._threads, 0)]

    def finished(self, order: WorkItem, children: list[Subproblem]) -> list[WorkItem]:
        """Return the piece that has waited longest."""
        self._waiting.extend(children)
        return [WorkItem(self._waiting.popleft(), self._threads, 0)] if self._waiting else []


class Layer:
    """Level by level, threads shared out over the pieces of a level; all wait for the last one."""

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
        """Give the worker the next piece of the level, or start the next level after the last one."""
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
    """The largest waiting piece first, with an even share of the threads that are free."""

    def __init__(self, threads: int) -> None:
        self._free = threads
        self._workers = list(range(threads))
        self._waiting: list[tuple[int, tuple[int, ...], Subproblem]] = []

    def begin(self, root: Subproblem) -> list[WorkItem]:
        """Return what to start with."""
        return self._add([root])

    def finished(self, order: WorkItem, children: list[Subproblem]) -> list[WorkItem]:
        """Take the threads back and hand out what is free."""
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
    """Workers that take pieces from one list."""

    subproblems: list[Subproblem]
    taken: int = 0


@dataclass(slots=True, eq=False)
class _Worker:
    number: int
    threads: int
    team: _Team
    found: list[Subproblem] = field(default_factory=list)


class NonBlockingLayer:
    """Teams go down the levels on their own; who has nothing left to do leaves its threads to others.

    A worker takes pieces of its team's list, each time with all threads that lie idle, and then, with
    the pieces it found, splits into a team of its own.
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
        """Let the worker go on; see the class."""
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
