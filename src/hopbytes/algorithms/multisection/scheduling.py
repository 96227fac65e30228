"""The four schedules of shared-memory multisection: order and number of threads of the subproblems.

The schedules follow Schulz and Woydt (2025, "SharedMap"). A schedule does not affect the result: the threads
of a subproblem compute repetitions of its cut in parallel, and seeds derive from the position of the
subproblem in the hierarchy. In this implementation one thread distributes work items as others are completed,
so schedules need no locks; in SharedMap the workers loop over shared counters.
"""

from __future__ import annotations

import heapq
import json
import time
from collections import deque
from collections.abc import Callable
from contextvars import copy_context
from dataclasses import dataclass, field, replace
from typing import IO, TYPE_CHECKING, Protocol

import numpy as np

from hopbytes._arrays import Int32
from hopbytes._frozen import frozen
from hopbytes.algorithms.base import Effort
from hopbytes.algorithms.multisection.hierarchy import Level, Subproblem
from hopbytes.errors import FormatError, no_thread
from hopbytes.kernels.base import compiled

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor


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
    """Divide threads among min(threads, subproblems) workers evenly; the first workers get one more."""
    workers = min(threads, subproblems)
    return [threads // workers + (worker < threads % workers) for worker in range(workers)]


class Naive:
    """All threads work on one subproblem after another."""

    def __init__(self, threads: int) -> None:
        self._threads = threads
        self._waiting: deque[Subproblem] = deque()

    def begin(self, root: Subproblem) -> list[WorkItem]:
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
    children: list[Subproblem] = field(default_factory=list)


class NonBlockingLayer:
    """Teams proceed through the levels independently; workers that are done pass their threads to others."""

    def __init__(self, threads: int) -> None:
        self._threads = threads
        self._idle = 0
        self._numbers = list(range(threads))
        self._workers: dict[int, _Worker] = {}

    def begin(self, root: Subproblem) -> list[WorkItem]:
        return self._split(self._threads, [root])

    def finished(self, order: WorkItem, children: list[Subproblem]) -> list[WorkItem]:
        worker = self._workers[order.worker]
        worker.children.extend(children)
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
            worker.threads, self._idle = worker.threads + self._idle, 0
            team.taken += 1
            return [WorkItem(team.subproblems[team.taken - 1], worker.threads, worker.number)]
        heapq.heappush(self._numbers, worker.number)
        del self._workers[worker.number]
        if worker.children:
            return self._split(worker.threads, worker.children)
        self._idle += worker.threads
        return []


SCHEDULES: dict[str, Callable[[int], Schedule]] = {
    "naive": Naive,
    "layer": Layer,
    "queue": Queue,
    "nb_layer": NonBlockingLayer,
}


#: A subproblem with fewer tasks and arcs is divided down to single PEs in one work item, because
#: distributing its parts among threads would take longer than dividing them.
WHOLE_BELOW = 20_000
#: Every trace file begins with these bytes.
_BEGINNING = b'{"start": '

#: Divides a subproblem down to a level (exclusive) and returns the group of each task there.
Cut = Callable[[Subproblem, int, Effort], Int32]


@frozen(eq=False)
class _Done:
    """The result of a work item."""

    order: WorkItem
    groups: Int32 | None
    children: list[Subproblem]
    work: dict[str, int]
    start: float
    end: float


def run_schedule(
    root: Subproblem, levels: list[Level], cut: Cut, schedule: Schedule, effort: Effort, trace: str,
    stop: Callable[[], None] | None = None,
) -> Int32:
    """Divide `root` down to single PEs."""
    last = len(levels)
    result = np.empty(root.n, np.int32)
    began = time.monotonic()
    cancel = np.zeros(2, np.int32)
    # The work limit is checked once, because inside the threads the result would depend on their timing.
    limit = 0 if effort.used_up else None

    def solve(order: WorkItem) -> _Done:
        start, subproblem = time.monotonic(), order.subproblem
        own = replace(
            effort, threads=order.threads, progress=None, work={}, work_limit=limit, cancel=cancel
        )
        finish = subproblem.size < WHOLE_BELOW or subproblem.depth + 1 == last
        groups = cut(subproblem, last if finish else subproblem.depth + 1, own)
        children = [] if finish else list(
            subproblem.parts(groups, int(levels[subproblem.depth].start[subproblem.group]))
        )
        end = time.monotonic()
        return _Done(order, groups if finish else None, children, own.work, start - began, end - began)

    cuts = 0

    def record(done: _Done, file: IO[bytes], pending: int) -> None:
        nonlocal cuts
        effort.count(**done.work)
        cuts += 1
        if effort.progress is not None:
            effort.progress("subproblems divided", cuts, cuts + pending)
        _write(file, trace, done)
        if done.groups is not None:
            members = done.order.subproblem.members
            result[slice(None) if members is None else members] = done.groups

    with _open(trace) as file:
        if root.size < WHOLE_BELOW:  # a single work item, for which loading thread pools would take longer
            for order in schedule.begin(root):
                record(solve(order), file, 0)
            return result
        from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait

        pending: set[Future[_Done]] = set()
        with ThreadPoolExecutor(effort.threads) as threads:
            try:
                orders = schedule.begin(root)
                while orders or pending:
                    # Every item runs in a copy of this context, so that stop requests reach it.
                    pending |= {_submitted(threads, solve, order) for order in orders}
                    ready, pending = wait(pending, return_when=FIRST_COMPLETED)
                    orders = []
                    for done in sorted((future.result() for future in ready), key=lambda item: item.end):
                        record(done, file, len(pending))
                        orders += schedule.finished(done.order, done.children)
            except BaseException:
                compiled.request_stop(cancel)
                if stop is not None:
                    stop()
                raise
    return result


def _submitted(
    threads: ThreadPoolExecutor, solve: Callable[[WorkItem], _Done], order: WorkItem
) -> Future[_Done]:
    try:
        return threads.submit(copy_context().run, solve, order)
    except RuntimeError:
        raise no_thread() from None


def _open(trace: str) -> IO[bytes]:
    """Open a trace for writing, line by line; a file with other content is not overwritten."""
    import os

    try:
        if os.path.isfile(trace) and os.path.getsize(trace):
            with open(trace, "rb") as known:
                if not known.read(len(_BEGINNING)).startswith(_BEGINNING):
                    raise FormatError(trace, None, "exists and is not a trace, expected another name")
        # Without a buffer every line is written at once, and closing cannot fail.
        return open(trace or os.devnull, "wb", buffering=0)
    except FormatError:
        raise
    except (OSError, ValueError) as error:
        raise _not_written(trace, error) from None


def _not_written(trace: str, error: Exception) -> FormatError:
    return FormatError(trace, None, f"cannot be written: {getattr(error, 'strerror', None) or error}")


def _write(file: IO[bytes], trace: str, done: _Done) -> None:
    subproblem = done.order.subproblem
    line = {
        "start": round(done.start, 6), "end": round(done.end, 6), "worker": done.order.worker,
        "threads": done.order.threads, "path": "/" + "/".join(map(str, subproblem.path)),
        "vertices": subproblem.n,
        "cuts": done.work.get("cuts", 0), "arcs": done.work.get("arcs", 0),
    }  # fmt: skip
    try:
        file.write(json.dumps(line).encode() + b"\n")
    except OSError as error:
        raise _not_written(trace, error) from None
