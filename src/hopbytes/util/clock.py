"""The deadline of a call with a time limit."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from numbers import Real
from typing import Any

from hopbytes.errors import UnsupportedError


class Clock:
    """Time since the call began, and the time at which searches must stop to leave time for verification.

    `began` and `deadline` are times of :func:`time.monotonic`; `deadline` is None without a limit.
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
        """Subtract three times the duration of one evaluation from the deadline.

        This time is needed for the final evaluation, the translation of the result and its verification.
        """
        before = time.monotonic()
        evaluation()
        if self.deadline is not None:
            self.deadline -= 3 * (time.monotonic() - before)
