"""How many threads a call may use."""

from __future__ import annotations

import os

from hopbytes._util.checks import whole


def thread_count(threads: int | None, name: str = "threads") -> int:
    """Return the number of threads that the caller gave under this `name`, by default one for each CPU.

    Raises
    ------
    WrongTypeError, UnsupportedError
        See :func:`hopbytes._util.checks.whole`.

    Examples
    --------
    >>> thread_count(3), thread_count(None) == cpus_allowed()
    (3, True)
    """
    return cpus_allowed() if threads is None else whole(name, threads, 1)


def cpus_allowed() -> int:
    """Return the number of CPUs that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
