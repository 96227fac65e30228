"""Partitions from elsewhere for the cuts of multisection, from pools that belong to one thread each."""

from __future__ import annotations

import threading
import time

from hopbytes.backends import BACKENDS
from hopbytes.candidates import CandidateSettings, candidates
from hopbytes.engine import stop_asked
from hopbytes.mappers.base import Effort, Int32
from hopbytes.mappers.sections import Problem
from hopbytes.workers import START_WORK, WorkerPool


class Outside:
    """Whom to ask for partitions, and how often.

    Parameters
    ----------
    backend, setting : str
        See :data:`hopbytes.backends.BACKENDS`.
    tries, inner_tries : int
        Partitions of the outermost cut and of every other one.
    smallest : int
        Vertices a group needs to be asked about.

    Notes
    -----
    No process starts before there is work for it; leaving the context ends all of them.
    """

    def __init__(self, backend: str, setting: str, tries: int, inner_tries: int, smallest: int) -> None:
        self._backend, self._setting = backend, setting
        self._tries, self._inner_tries, self._smallest = tries, inner_tries, smallest
        self._mine = threading.local()
        self._pools: list[WorkerPool] = []

    def __enter__(self) -> Outside:
        return self

    def __exit__(self, *_: object) -> None:
        for pool in self._pools:
            pool.close()

    def stop(self) -> None:
        """Make all threads that wait for partitions go on without them."""
        for pool in list(self._pools):
            pool.stop()

    def candidates(self, problem: Problem, depth: int, effort: Effort) -> Int32 | None:
        """Return partitions of all groups of one level; the arguments of :func:`partition_many` before."""
        # Half of the time that is left, so that the built-in partitioner has its share.
        now = time.monotonic()
        deadline = None if effort.deadline is None else now + (effort.deadline - now) / 2
        tries = self._tries if depth == 0 else self._inner_tries
        settings = CandidateSettings(
            tries, self._setting, self._smallest, self._backend, effort.threads if self._alone else 1
        )
        found = candidates(*problem, settings, self._pool(effort.threads), deadline)
        effort.count(**{f"{self._backend}_used": found.used, f"{self._backend}_failed": found.failed})
        if found.work:
            late = stop_asked() or (deadline is not None and time.monotonic() >= deadline)
            effort.spend(found.work, not late)
        return found.rows

    @property
    def _alone(self) -> bool:
        return BACKENDS[self._backend].many_threads

    def _pool(self, threads: int) -> WorkerPool:
        """Return the pool of this thread. Libraries with threads of their own never run in this process."""
        if not hasattr(self._mine, "pool"):
            self._mine.pool = WorkerPool(
                1 if self._alone else threads, start_work=0 if self._alone else START_WORK
            )
            self._pools.append(self._mine.pool)
        pool: WorkerPool = self._mine.pool
        return pool
