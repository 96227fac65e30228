"""When a call with a time limit has to stop."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from numbers import Real
from typing import Any

from hopbytes.errors import UnsupportedError


class Clock:
    """Time since the call began, and when to stop so that verification still fits.

    Parameters
    ----------
    limit : float or None
        Seconds that the call may take; None: as many as it likes.

    Raises
    ------
    UnsupportedError
        The limit is no finite number of seconds >= 0.

    Notes
    -----
    `began` and `deadline` are times of :func:`time.monotonic`; no `deadline` (None) without a limit.
    """

    def __init__(self, limit: float | None) -> None:
        self.began = time.monotonic()
        self.limited = limit is not None
        self.deadline: float | None = None
        if limit is None:
            return
        if isinstance(limit, bool) or not isinstance(limit, Real) or not 0 <= limit <= sys.float_info.max:
            raise UnsupportedError(f"time_limit {limit!r}, expected seconds >= 0")
        self.deadline = self.began + float(limit)

    def seconds(self) -> float:
        """Return the seconds since the call began."""
        return time.monotonic() - self.began

    def reserve(self, evaluation: Callable[[], Any]) -> None:
        """Keep back three times what one evaluation takes: the final one, translation and checks."""
        before = time.monotonic()
        evaluation()
        if self.deadline is not None:
            self.deadline -= 3 * (time.monotonic() - before)
