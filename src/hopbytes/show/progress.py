"""Progress on a terminal: one bar for all stages. There is none in a pipe, a file or a batch job."""

from __future__ import annotations

import os
import re
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from hopbytes.errors import printable

#: Scanned edges per task and arc, by preset: of partitions; of processes, few and many. Measured on lattices
#: of 64 to 65,536 tasks and 64 to 4,096 PEs; other patterns differ by a factor of two or three.
PARTITION = {"fast": 100, "eco": 220, "strong": 1_400, "best": 4_000, "routed": 1_500}
FEW_PROCESSES = {"fast": 170, "eco": 7_500, "strong": 32_000, "best": 100_000, "routed": 35_000}
MANY_PROCESSES = {"fast": 300, "eco": 800, "strong": 5_000, "best": 20_000, "routed": 6_000}
#: Up to this number of processes presets search much longer.
FEW = 500


def expected_edges(tasks: int, arcs: int, preset: str | None, *, partition: bool) -> float:
    """Return an estimate of the edges that mapping a pattern scans, good enough for a progress bar."""
    per = PARTITION if partition else FEW_PROCESSES if tasks <= FEW else MANY_PROCESSES
    return per.get(preset or "eco", per["eco"]) * (tasks + arcs)


Report = Callable[[str, int, int], None]

#: Seconds before the bar appears (a shorter run prints nothing), and between two updates.
DELAY, INTERVAL = 0.5, 0.1
#: Columns of the bar itself.
BAR = 24
#: Scanned edges that take as long as reading one task or arc.
READING = 30
#: From this share on the bar slows down, since the estimate may be too low and the bar must not be full.
SURE = 0.9


@contextmanager
def progress_bar(*, quiet: bool = False) -> Iterator[Progress]:
    """Show progress for the length of a ``with`` block."""
    watched = not quiet and sys.stderr.isatty()
    progress = Progress(watched)
    if not watched:
        yield progress
        return
    from hopbytes.engine.control import WorkMeter, metered_by

    progress.meter = WorkMeter()
    progress.begin()
    try:
        with metered_by(progress.meter):
            yield progress
    finally:
        progress.close()


@dataclass(slots=True)
class State:
    """The contents of a bar: the stage, J, and the share of the work that is done."""

    stage: str = ""
    cost: str = "-"
    done: float = 0.0
    expected: float = 0.0
    time_limit: float | None = None
    stopping: bool = False
    began: float = field(default_factory=time.monotonic)
    mapping_began: float | None = None

    def share(self, now: float) -> float | None:
        """Return the share of the work that is done, None while it is unknown."""
        if self.time_limit is not None and self.mapping_began is not None:
            return min(1.0, (now - self.mapping_began) / max(self.time_limit, 1e-9))
        if not self.expected:
            return None
        share = self.done / self.expected
        return share if share < SURE else 1 - (1 - SURE) ** 2 / (1 - SURE + share - SURE)

    def line(self, now: float, columns: int, signs: str = "━─") -> str:
        """Return the line for a terminal with this number of columns.

        >>> State("level 1 of 3", "-", 30, 100, began=0.0).line(12.0, 70, "#.")
        'level 1 of 3, J -  #######.................  30 %  0:00:12'
        """
        share = self.share(now)
        filled = 0 if share is None else int(share * BAR)
        part = "    " if share is None else f"{share:3.0%}".replace("%", " %")
        seconds = int(now - self.began)
        clock = f"{seconds // 3600}:{seconds // 60 % 60:02}:{seconds % 60:02}"
        bar = signs[0] * filled + signs[1] * (BAR - filled)
        tail = f"  {bar}  {part}  {clock}"
        head = "stopping …" if self.stopping else f"{self.stage}, J {self.cost}"
        room = max(0, columns - 1 - len(tail))
        return printable(head)[:room] + (tail if columns > len(tail) else tail[: columns - 1])


class Progress:
    """One line on a terminal, which a thread of its own draws several times a second."""

    def __init__(self, watched: bool) -> None:
        self.report: Report | None = self._report if watched else None
        self.meter: Any = None
        self.state = State()
        self._end = threading.Event()
        self._shown = False
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._draw_often, name="hopbytes-progress", daemon=True)

    def begin(self) -> None:
        """Show the bar after a moment; there is none if no thread can be started."""
        with suppress(RuntimeError):
            self._thread.start()

    def reading(self, name: str) -> None:
        self.state.stage = f"reading {name}"

    def mapping(self, size: int, edges: float, *, time_limit: float | None, work_limit: int | None) -> None:
        state = self.state
        state.stage, state.mapping_began, state.time_limit = "mapping", time.monotonic(), time_limit
        state.done = READING * size
        state.expected = state.done + (edges if work_limit is None else max(work_limit, 1))
        self._read = READING * size

    def stop(self) -> None:
        """Show that the user requested the end."""
        self.state.stopping = True
        if self._shown:
            self._draw()

    def _report(self, stage: str, done: int, total: int) -> None:
        name, _, cost = stage.partition(", J ")
        digits = re.match(r"\d+(,\d+)*", cost)
        if digits and digits[0] != "0":
            self.state.cost = digits[0]
        self.state.stage = name + (f", {cost.partition(', ')[2]}" if ", " in cost else "")

    def _draw_often(self) -> None:
        if self._end.wait(DELAY):
            return
        while not self._end.wait(INTERVAL):
            self._draw()

    def _draw(self) -> None:
        state = self.state
        if state.mapping_began is not None:
            state.done = max(state.done, self._read + self.meter.total())
        columns = _columns()
        with self._lock:
            if self._end.is_set():
                return
            self._shown = True
            self._write(state.line(time.monotonic(), columns, _signs()))

    def close(self) -> None:
        self._end.set()
        with self._lock:
            if self._shown:
                self._write("")

    def _write(self, text: str) -> None:
        try:
            sys.stderr.write("\r\x1b[K" + text)
            sys.stderr.flush()
        except (OSError, ValueError):  # the terminal is gone
            self._end.set()


def _columns() -> int:
    try:
        return os.get_terminal_size(sys.stderr.fileno()).columns or 80
    except (OSError, ValueError):
        return 80


def _signs() -> str:
    try:
        "━─…".encode(sys.stderr.encoding or "ascii")
    except (UnicodeError, LookupError):
        return "#."
    return "━─"
