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

from hopbytes.algorithms.multisection.hierarchy_levels import Piece


@dataclass(frozen=True, slots=True, eq=False)
class Order:
    """Cut this piece now.

    Parameters
    ----------
    piece : Piece
    threads : int
    worker : int
        Lowest number that is free, for traces.
    """

    piece: Piece
    threads: int
    worker: int


class Schedule(Protocol):
    """What the four have in common."""

    def begin(self, root: Piece) -> list[Order]:
        """Return what to start with."""

    def finished(self, order: Order, children: list[Piece]) -> list[Order]:
        """Return what to start now that an order is carried out; `children` are still to be cut."""


def shared_out(threads: int, pieces: int) -> list[int]:
    """Threads of min(threads, pieces) workers: as even as can be, the first ones get one more.

    Examples
    --------
    >>> shared_out(8, 3), shared_out(2, 5)
    ([3, 3, 2], [1, 1])
    """
    workers = min(threads, pieces)
    return [threads // workers + (worker < threads % workers) for worker in range(workers)]


class Naive:
    """All threads on one piece after another."""

    def __init__(self, threads: int) -> None:
        self._threads = threads
        self._waiting: deque[Piece] = deque()

    def begin(self, root: Piece) -> list[Order]:
        """Return what to start with."""
        return [Order(root, self._threads, 0)]

    def finished(self, order: Order, children: list[Piece]) -> list[Order]:
        """Return the piece that has waited longest."""
        self._waiting.extend(children)
        return [Order(self._waiting.popleft(), self._threads, 0)] if self._waiting else []


class Layer:
    """Level by level, threads shared out over the pieces of a level; all wait for the last one."""

    def __init__(self, threads: int) -> None:
        self._threads = threads
        self._waiting: deque[Piece] = deque()
        self._next: list[Piece] = []
        self._running = 0

    def begin(self, root: Piece) -> list[Order]:
        """Return what to start with."""
        self._next = [root]
        return self._start_layer()

    def finished(self, order: Order, children: list[Piece]) -> list[Order]:
        """Give the worker the next piece of the level, or start the next level after the last one."""
        self._next.extend(children)
        if self._waiting:
            return [Order(self._waiting.popleft(), order.threads, order.worker)]
        self._running -= 1
        return self._start_layer() if self._running == 0 and self._next else []

    def _start_layer(self) -> list[Order]:
        self._waiting, self._next = deque(self._next), []
        threads = shared_out(self._threads, len(self._waiting))
        self._running = len(threads)
        return [Order(self._waiting.popleft(), share, worker) for worker, share in enumerate(threads)]


class Queue:
    """The largest waiting piece first, with an even share of the threads that are free."""

    def __init__(self, threads: int) -> None:
        self._free = threads
        self._workers = list(range(threads))
        self._waiting: list[tuple[int, tuple[int, ...], Piece]] = []

    def begin(self, root: Piece) -> list[Order]:
        """Return what to start with."""
        return self._add([root])

    def finished(self, order: Order, children: list[Piece]) -> list[Order]:
        """Take the threads back and hand out what is free."""
        self._free += order.threads
        heapq.heappush(self._workers, order.worker)
        return self._add(children)

    def _add(self, pieces: list[Piece]) -> list[Order]:
        for piece in pieces:
            heapq.heappush(self._waiting, (-piece.n, piece.path, piece))
        orders = []
        while self._free and self._waiting:
            threads = -(-self._free // len(self._waiting))
            self._free -= threads
            orders.append(Order(heapq.heappop(self._waiting)[2], threads, heapq.heappop(self._workers)))
        return orders


@dataclass(slots=True, eq=False)
class _Team:
    """Workers that take pieces from one list."""

    pieces: list[Piece]
    taken: int = 0


@dataclass(slots=True, eq=False)
class _Worker:
    number: int
    threads: int
    team: _Team
    found: list[Piece] = field(default_factory=list)


class NonBlockingLayer:
    """Teams go down the levels on their own; who has nothing left to do leaves its threads to others.

    A worker takes pieces of its team's list, each time with all threads that lie idle, and then, with
    the pieces it found, splits into a team of its own.
    """

    def __init__(self, threads: int) -> None:
        self._threads = threads
        self._idle = 0
        self._numbers = list(range(threads))
        self._workers: dict[int, _Worker] = {}

    def begin(self, root: Piece) -> list[Order]:
        """Return what to start with."""
        return self._split(self._threads, [root])

    def finished(self, order: Order, children: list[Piece]) -> list[Order]:
        """Let the worker go on; see the class."""
        worker = self._workers[order.worker]
        worker.found.extend(children)
        return self._go_on(worker)

    def _split(self, threads: int, pieces: list[Piece]) -> list[Order]:
        team = _Team(pieces)
        orders = []
        for share in shared_out(threads, len(pieces)):
            number = heapq.heappop(self._numbers)
            self._workers[number] = _Worker(number, share, team)
            orders += self._go_on(self._workers[number])
        return orders

    def _go_on(self, worker: _Worker) -> list[Order]:
        team = worker.team
        if team.taken < len(team.pieces):
            worker.threads, self._idle = worker.threads + self._idle, 0
            team.taken += 1
            return [Order(team.pieces[team.taken - 1], worker.threads, worker.number)]
        heapq.heappush(self._numbers, worker.number)
        del self._workers[worker.number]
        if worker.found:
            return self._split(worker.threads, worker.found)
        self._idle += worker.threads
        return []


SCHEDULES: dict[str, Callable[[int], Schedule]] = {
    "naive": Naive,
    "layer": Layer,
    "queue": Queue,
    "nb_layer": NonBlockingLayer,
}
