"""A progress bar on stderr, for people who watch: never in a pipe, a file or a batch job."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from hopbytes.errors import printable

Report = Callable[[str, int, int], None]

#: Seconds before the bar appears; a run that is over sooner stays silent.
DELAY = 0.5


@contextmanager
def progress_bar(*, quiet: bool = False) -> Iterator[Report | None]:
    """Give a function ``report(stage, done, total)`` for the length of a ``with`` block.

    Parameters
    ----------
    quiet : bool
        Show nothing.

    Yields
    ------
    callable or None
        None when nobody watches (`quiet`, or stderr is no terminal), so that callers can skip the
        work of reporting. The bar is gone when the block ends, also after an exception.

    Examples
    --------
    >>> with progress_bar(quiet=True) as report:
    ...     report is None
    True
    """
    if quiet or not sys.stderr.isatty():
        yield None
        return
    bar = _Bar()
    try:
        yield bar.report
    finally:
        bar.close()


class _Bar:
    """One line of rich, made when it is first worth showing."""

    def __init__(self) -> None:
        self._latest: tuple[str, int, int] = ("", 0, 0)
        self._progress: Any = None
        self._task: Any = None
        self._lock = threading.Lock()
        self._closed = False
        # The stage that takes longest may report once, at its start; the bar must not wait for the next.
        self._timer = threading.Timer(DELAY, self._show)
        self._timer.daemon = True
        self._timer.start()

    def report(self, stage: str, done: int, total: int) -> None:
        self._latest = (stage, done, total)
        if self._progress is not None:
            self._update()

    def _show(self) -> None:
        with self._lock:
            if self._closed:
                return
            self._open()
            self._update()

    def _update(self) -> None:
        stage, done, total = self._latest
        self._progress.update(self._task, description=printable(stage), completed=done, total=total or None)

    def _open(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

        # The stage is data (it may hold brackets), so no markup.
        progress = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            console=Console(stderr=True),
            transient=True,
        )
        self._task = progress.add_task("", total=None)
        progress.start()
        self._progress = progress

    def close(self) -> None:
        self._timer.cancel()
        with self._lock:
            self._closed = True
            if self._progress is not None:
                self._progress.stop()
