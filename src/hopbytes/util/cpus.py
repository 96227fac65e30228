"""How many threads a call may use."""

from __future__ import annotations

import os

from hopbytes.util.checks import whole

#: Largest number of threads that are started on request.
MOST_THREADS = 1024


def thread_count(threads: int | None, name: str = "threads") -> int:
    """Return the number of threads that the caller gave under this `name`, by default one for each CPU.

    More than :data:`MOST_THREADS` and than there are CPUs are of no use; answers do not depend on them.

    >>> thread_count(3), thread_count(None) == cpus_allowed()
    (3, True)
    """
    if threads is None:
        return cpus_allowed()
    return min(whole(name, threads, 1), max(MOST_THREADS, cpus_allowed()))


def cpus_allowed() -> int:
    """Return the number of CPUs that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
