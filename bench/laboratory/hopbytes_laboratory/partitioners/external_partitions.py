"""Partitions by external partitioners for the cuts of multisection; every thread has its own worker pool."""

from __future__ import annotations

import threading
import time

from hopbytes._arrays import Int32
from hopbytes.algorithms.base import Effort
from hopbytes.engine.control import stop_asked
from hopbytes.engine.problem import SearchProblem, VertexGroups
from hopbytes_laboratory.partitioners.backends import BACKENDS
from hopbytes_laboratory.partitioners.group_partitions import PartitionerSettings, partition_groups
from hopbytes_laboratory.partitioners.pool import START_WORK, WorkerPool


class ExternalPartitions:
    """External partitioners for multisection, with the number of partitions to request from them.

    A worker process starts when there is work for it. All processes end when the context is left.
    """

    def __init__(
        self, backends: list[tuple[str, str]], repetitions: int, inner_repetitions: int, smallest: int
    ) -> None:
        self._backends = backends
        self._repetitions, self._inner_repetitions, self._smallest = repetitions, inner_repetitions, smallest
        self._mine = threading.local()
        self._pools: list[WorkerPool] = []

    def __enter__(self) -> ExternalPartitions:
        return self

    def __exit__(self, *_: object) -> None:
        for pool in self._pools:
            pool.close()

    def stop(self) -> None:
        """Let all threads that wait for partitions continue without them."""
        for pool in list(self._pools):
            pool.stop()

    def candidates(
        self, problem: SearchProblem, groups: VertexGroups, depth: int, effort: Effort
    ) -> Int32 | None:
        """Return partitions of all groups of one level.

        The problem and the groups are those that :func:`hopbytes.engine.partition.partition_many` receives.
        """
        # Partitioners get half of the remaining time, so that time remains for the built-in partitioner.
        now = time.monotonic()
        deadline = None if effort.deadline is None else now + (effort.deadline - now) / 2
        repetitions = self._repetitions if depth == 0 else self._inner_repetitions
        backend, setting = self._backends[-1 if effort.threads > 1 else 0]
        alone = BACKENDS[backend].many_threads
        threads = effort.threads if alone else 1
        settings = PartitionerSettings(repetitions, setting, self._smallest, backend, threads)
        found = partition_groups(
            problem, groups, settings, self._pool(effort.threads, alone=alone), deadline
        )
        effort.count(**{f"{backend}_used": found.used, f"{backend}_failed": found.failed})
        if found.work:
            late = stop_asked() or (deadline is not None and time.monotonic() >= deadline)
            effort.spend(found.work, not late)
        return found.rows

    def _pool(self, threads: int, *, alone: bool) -> WorkerPool:
        """Return the pool of this thread. Libraries with their own threads never run in this process."""
        name = "alone" if alone else "shared"
        if not hasattr(self._mine, name):
            made = WorkerPool(1 if alone else threads, start_work=0 if alone else START_WORK)
            self._pools.append(made)
            setattr(self._mine, name, made)
        pool: WorkerPool = getattr(self._mine, name)
        return pool
