"""The executor of a schedule: threads that divide subproblems, and a trace of these work items."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from contextvars import copy_context
from dataclasses import replace
from typing import IO, TYPE_CHECKING

import numpy as np

from hopbytes._arrays import Int32
from hopbytes._frozen import frozen
from hopbytes.algorithms.base import Effort
from hopbytes.algorithms.multisection.cut_level import Level
from hopbytes.algorithms.multisection.hierarchy_levels import Subproblem
from hopbytes.algorithms.multisection.scheduling import Schedule, WorkItem
from hopbytes.errors import FormatError, no_thread
from hopbytes.kernels.base import compiled

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

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
            result[_members(done.order.subproblem)] = done.groups

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
                    for done in sorted((future.result() for future in ready), key=lambda each: each.end):
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


def _members(subproblem: Subproblem) -> Int32 | slice:
    return slice(None) if subproblem.members is None else subproblem.members


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
