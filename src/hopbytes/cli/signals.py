"""Signals: each ends the program with an exception that cannot get lost, or ends a search early.

Unfinished files are removed. Ctrl-C during a search is answered at once, also while compiled code runs.
"""

from __future__ import annotations

import atexit
import os
import signal
import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any

from hopbytes.cli import INTERRUPTED, end_at_once

ENDING = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))
#: Signals that request the best result so far.
STOPPING = (signal.SIGINT, signal.SIGTERM)
#: Seconds that the program has to end by itself after Ctrl-C, where nothing is half-written.
GRACE = 0.4
#: Seconds until an exception that got lost is raised again.
AGAIN = 0.01


class Ended(BaseException):
    """A signal that ends the program has arrived; only cleaning up remains."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


class Interrupted(KeyboardInterrupt):
    """Ctrl-C came."""


def behind(error: BaseException | None, kind: type[BaseException]) -> BaseException | None:
    """Return an error, or what it was made of, if that is of a kind; else None.

    Python turns an exception into another one in some places, as when it arrives while a class is made.
    """
    while error is not None and not isinstance(error, kind):
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return error


class _Signals:
    """Raises exceptions for signals, and raises them again if they get lost.

    A handler runs anywhere, also below code that drops every exception, as some of Python's own does while
    modules are imported, and as weak references and finalizers do. The process would then run on as if the
    signal had never come. An exception was lost if it is freed before the program has ended.
    """

    def __init__(self) -> None:
        self._over = False
        self._watched: list[weakref.ref[BaseException]] = []

    def end(self, number: int, frame: Any) -> None:
        """Handle a signal that ends the program. Others are ignored then: cleaning up takes a moment."""
        for other in ENDING:
            signal.signal(other, signal.SIG_IGN)
        raise self._watched_one(partial(Ended, number))

    def interrupt(self, number: int, frame: Any) -> None:
        raise self._watched_one(Interrupted)

    def _watched_one(self, make: Callable[[], BaseException]) -> BaseException:
        # The frame of a handler must not refer to the exception: it would keep itself alive by its traceback.
        error = make()
        self._watched.append(weakref.ref(error, lambda _: self._lost(make)))
        return error

    def stop(self) -> None:
        """Raise nothing more: the program ends, by another signal at once."""
        self._over = True
        if hasattr(signal, "setitimer"):
            signal.setitimer(signal.ITIMER_REAL, 0)
        with suppress(ValueError):  # Python lets only the main thread set handlers
            for number in ENDING:
                if signal.getsignal(number) == self.end:
                    signal.signal(number, signal.SIG_DFL)

    def _lost(self, make: Callable[[], BaseException]) -> None:
        def again(number: int, frame: Any) -> None:
            if not self._over:
                raise self._watched_one(make)

        if not self._over and hasattr(signal, "setitimer"):
            # Python lets only the main thread set handlers.
            with suppress(ValueError):
                signal.signal(signal.SIGALRM, again)
                signal.setitimer(signal.ITIMER_REAL, AGAIN)


#: What watches for signals now, if anything does.
_watching: list[_Signals] = []


def handled() -> None:
    """Raise no exception again: what a signal raised has arrived where it becomes a line and an exit code.

    The exception is freed after that, which would otherwise look as if it had got lost.
    """
    for signals in _watching:
        signals.stop()
        with suppress(ValueError):  # not in the main thread
            if signal.getsignal(signal.SIGINT) == signals.interrupt:  # another Ctrl-C says nothing more
                signal.signal(signal.SIGINT, signal.SIG_IGN)


def _at_last(kind: type[BaseException], error: BaseException, trace: Any) -> None:
    """End as a signal asks whose exception came while another one was handled, without a traceback."""
    ended = behind(error, Ended)
    if isinstance(ended, Ended):
        _end_by(ended.number)
    if behind(error, KeyboardInterrupt):
        end_at_once(signal.SIGINT, None)
    sys.__excepthook__(kind, error, trace)


def _end_by(number: int) -> None:
    """End by a signal, as its sender expects."""
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)


def _quietly(lost: Any) -> None:
    """Print nothing about an exception of a signal that no code could catch; it is raised again."""
    if not issubclass(lost.exc_type, (Ended, Interrupted)):
        sys.__unraisablehook__(lost)


@contextmanager
def clean_end() -> Iterator[None]:
    """Raise an exception at a signal that ends the program, then end by that signal, as its sender expects.

    A signal that is ignored, as under ``nohup``, remains ignored. Ctrl-C raises a KeyboardInterrupt, as
    everywhere in Python, but one that does not get lost.
    """
    signals = _Signals()
    for number in ENDING:
        if signal.getsignal(number) == signal.SIG_DFL:
            signal.signal(number, signals.end)
    before = signal.getsignal(signal.SIGINT)
    if before in (signal.default_int_handler, end_at_once):
        signal.signal(signal.SIGINT, signals.interrupt)
    sys.unraisablehook, sys.excepthook = _quietly, _at_last
    _watching.append(signals)
    try:
        yield
    except SystemExit:
        raise
    except BaseException as error:
        signals.stop()
        ended = behind(error, Ended)
        if not isinstance(ended, Ended):
            raise
        _end_by(ended.number)
    finally:
        signals.stop()
        _watching.remove(signals)
        if before is signal.default_int_handler:  # a process that goes on hears Ctrl-C again
            signal.signal(signal.SIGINT, before)
        elif before is end_at_once:  # Python's own end would let Ctrl-C kill the process
            atexit.register(signal.signal, signal.SIGINT, signal.SIG_IGN)


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

    before = {number: signal.signal(number, note) for number in STOPPING}
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
