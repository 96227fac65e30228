"""A meter of the work of compiled searches, including running ones, for the display of progress."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from hopbytes._arrays import Int64


class WorkMeter:
    """The sum of scanned edges over all compiled calls inside :func:`metered_by`.

    Calls of several threads may begin and end at any time. The counter of a call is also read while it runs,
    and the sum never decreases.
    """

    def __init__(self) -> None:
        self._ended = 0
        self._running: dict[int, Int64] = {}
        self._lock = threading.Lock()

    def total(self) -> int:
        """Return the number of scanned edges so far; O(running calls)."""
        with self._lock:
            return self._ended + sum(int(spent[0]) for spent in self._running.values())

    def begin(self, spent: Int64) -> None:
        """Follow a call that adds to ``spent[0]``."""
        with self._lock:
            self._running[id(spent)] = spent

    def end(self, spent: Int64) -> None:
        """Add the final count of a call to the sum."""
        with self._lock:
            if self._running.pop(id(spent), None) is not None:
                self._ended += int(spent[0])


# This is a context variable, because otherwise every search would have to pass the meter on.
_meter: ContextVar[WorkMeter | None] = ContextVar("meter", default=None)


@contextmanager
def metered_by(meter: WorkMeter | None) -> Iterator[None]:
    """Let `meter` follow the compiled calls inside the block."""
    before = _meter.set(meter)
    try:
        yield
    finally:
        _meter.reset(before)


@contextmanager
def followed(spent: Int64 | None) -> Iterator[None]:
    """Let the meter of this context follow the counter ``spent[0]`` of one compiled call."""
    meter = _meter.get()
    if meter is None or spent is None:
        yield
        return
    meter.begin(spent)
    try:
        yield
    finally:
        meter.end(spent)
