"""Ending a search early: the first signal asks for what there is, the second one gives up."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

SIGNALS = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def early_stop(wanted: bool) -> Iterator[Callable[[], bool] | None]:
    """Give a function that says whether Ctrl-C or SIGTERM has asked for the best so far.

    Parameters
    ----------
    wanted : bool
        Otherwise signals keep their meaning, and nothing is given.

    Yields
    ------
    callable or None
        The `stop` of :func:`hopbytes.map_tasks`. The second signal raises KeyboardInterrupt. What the
        process did with signals before is restored at the end.

    Examples
    --------
    >>> with early_stop(True) as stop:
    ...     signal.raise_signal(signal.SIGINT)
    ...     stop()
    True
    """
    # Python lets only the main thread set handlers.
    if not wanted or threading.current_thread() is not threading.main_thread():
        yield None
        return
    came = threading.Event()

    def note(number: int, frame: object) -> None:
        if came.is_set():
            raise KeyboardInterrupt
        came.set()

    before = {number: signal.signal(number, note) for number in SIGNALS}
    try:
        yield came.is_set
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
