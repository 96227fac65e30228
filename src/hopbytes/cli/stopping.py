"""Early end of a search: a signal is answered at once, and the program ends within a second."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from hopbytes.cli.beginning import INTERRUPTED

SIGNALS = (signal.SIGINT, signal.SIGTERM)

#: Seconds that the program has to end by itself after Ctrl-C, where nothing is half-written.
GRACE = 0.4


@contextmanager
def early_stop(wanted: bool) -> Iterator[Callable[[], bool] | None]:
    """Yield a function that tells whether Ctrl-C or SIGTERM has requested the best result so far.

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


@contextmanager
def prompt_end(
    on_interrupt: Callable[[], None], patient: Callable[[], bool] = lambda: False
) -> Iterator[None]:
    """Answer Ctrl-C at once, also while compiled code keeps the main thread busy, and end soon after.

    Python runs handlers of signals in the main thread, between two steps of Python: in the middle of a
    coarsening of millions of vertices that takes seconds. A thread that waits on the wake-up pipe
    receives the signal at once, and ends the process if it has not ended after :data:`GRACE`. The block must
    not write files. If no thread can be started, signals keep their meaning.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    read_end, write_end = os.pipe()
    os.set_blocking(write_end, False)
    over = threading.Event()

    def listen() -> None:
        first = True
        while not over.is_set():
            numbers = os.read(read_end, 64)
            if not numbers or over.is_set():
                return
            if signal.SIGINT in numbers:
                with suppress(Exception):  # an error here must not prevent the end
                    on_interrupt()
                if not (first and patient()):
                    if not over.wait(GRACE):
                        _end_now()
                    return
                first = False

    listener = threading.Thread(target=listen, name="hopbytes-signals", daemon=True)
    before = signal.set_wakeup_fd(write_end, warn_on_full_buffer=False)
    try:
        listener.start()
        started = True
    except RuntimeError:  # too many processes: the search reports that if it needs threads
        signal.set_wakeup_fd(before)
        started = False
    try:
        yield
    finally:
        if started:
            signal.set_wakeup_fd(before)
        over.set()
        os.close(write_end)
        if started:
            # Ctrl-C inside an import may leave Python's lock of imports taken, for which the thread waits.
            listener.join(GRACE)
        if not listener.is_alive():
            os.close(read_end)


def _end_now() -> None:
    """End the process as Ctrl-C does; workers of partitioners end with it."""
    with suppress(OSError, ValueError):
        clear = "\r\x1b[K" if sys.stderr.isatty() else ""
        os.write(2, f"{clear}hopbytes: interrupted\n".encode())
    os._exit(INTERRUPTED)
