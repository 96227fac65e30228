"""SIGTERM and SIGHUP end the program as Ctrl-C does: what was begun is taken away first."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterator
from typing import Any

ENDING = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))


class Ended(BaseException):
    """A signal that ends the program has come; cleaning up is all that is left to do."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


@contextlib.contextmanager
def clean_end() -> Iterator[None]:
    """Let signals that end the program unwind it, then die of the signal as whoever sent it expects.

    A signal that is ignored, as under ``nohup``, stays so. After the first one others are ignored: cleaning
    up takes a moment.
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
