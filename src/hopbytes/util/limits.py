"""Limits of a run, and the clock that keeps the limit of time."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from numbers import Real
from typing import Any

from hopbytes._frozen import frozen
from hopbytes.errors import UnsupportedError
from hopbytes.util.checks import check_functions, whole


@frozen
class Limits:
    """What ends a search before its own end; the best mapping found by then is the result.

    Parameters
    ----------
    time : float, optional
        Seconds for the whole call, including verification; with 0 the first mapping is returned. With this
        limit the result may depend on the speed of the computer.
    work : int, optional
        Scanned edges (``info["work"]["arcs"]``) after which no further search begins. It gives the same
        mapping on every computer: searches that have begun are completed, and there is always a first
        mapping.
    stop : callable, optional
        Called without arguments a few times per second. Once it returns True, the call ends soon, as at a
        limit of time.

    Raises
    ------
    UnsupportedError
        If a value is out of range.
    WrongTypeError
        If a value has a wrong type.

    Examples
    --------
    >>> import hopbytes as hb
    >>> hb.map_tasks("stencil:4x4", "node:4 core:4", limits=hb.Limits(work=1000)).comm_cost
    12582912
    """

    time: float | None = None
    work: int | None = None
    stop: Callable[[], bool] | None = None

    def __post_init__(self) -> None:
        limit = self.time
        if limit is not None and (
            isinstance(limit, bool) or not isinstance(limit, Real) or not 0 <= limit <= sys.float_info.max
        ):
            raise UnsupportedError(f"`Limits(time={limit!r})`, expected seconds >= 0")
        if self.work is not None:
            whole("limit of work", self.work, 0)
        check_functions(stop=self.stop)

    @property
    def limited(self) -> bool:
        """Whether there is a limit of time or work."""
        return self.time is not None or self.work is not None


class Clock:
    """Time since the call began, and the time at which searches must stop to leave time for verification.

    `began` and `deadline` are times of :func:`time.monotonic`; `deadline` is None without a limit.
    """

    def __init__(self, limit: float | None = None) -> None:
        self.began = time.monotonic()
        self.deadline = None if limit is None else self.began + float(limit)

    def seconds(self) -> float:
        """Return the seconds since the call began."""
        return time.monotonic() - self.began

    def reserve(self, evaluation: Callable[[], Any]) -> None:
        """Subtract three times the duration of one evaluation from the deadline.

        This time is needed for the final evaluation, the translation of the result and its verification.
        """
        before = time.monotonic()
        evaluation()
        if self.deadline is not None:
            self.deadline -= 3 * (time.monotonic() - before)
