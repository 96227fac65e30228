"""SIGTERM and SIGHUP end the program as Ctrl-C does: unfinished files are removed first."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterator
from typing import Any

ENDING = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))


class Ended(BaseException):
    """A signal that ends the program has arrived; only cleaning up remains."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


@contextlib.contextmanager
def clean_end() -> Iterator[None]:
    """Raise an exception at a signal that ends the program, then end by that signal, as its sender expects.

    A signal that is ignored, as under ``nohup``, remains ignored. After the first signal all others are
    ignored, because cleaning up takes a moment.
    """

    def end(number: int, frame: Any) -> None:
        for other in ENDING:
            signal.signal(other, signal.SIG_IGN)
        raise Ended(number)

    for number in ENDING:
        if signal.getsignal(number) == signal.SIG_DFL:
            signal.signal(number, end)
    try:
        yield
    except Ended as ended:
        signal.signal(ended.number, signal.SIG_DFL)
        os.kill(os.getpid(), ended.number)
