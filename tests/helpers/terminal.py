"""Programs on a terminal of their own: what they show there."""

import os
import pty
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from helpers.paths import PROGRAM


class OnTerminal:
    """A running program and the other side of its terminal."""

    def __init__(self, process: subprocess.Popen[bytes], terminal: int) -> None:
        self.process, self.terminal = process, terminal

    def until(self, word: bytes, seconds: float = 60.0) -> bytes:
        """Return what the terminal shows up to a word."""
        shown, limit = b"", time.monotonic() + seconds
        while word not in shown:
            assert time.monotonic() < limit, shown
            shown += os.read(self.terminal, 4096)
        return shown

    def rest(self) -> bytes:
        """Return what the terminal shows until the program has ended."""
        pieces = []
        try:
            while piece := os.read(self.terminal, 1 << 16):
                pieces.append(piece)
        except OSError:  # the other side is closed
            pass
        self.process.wait(60)
        return b"".join(pieces)


@contextmanager
def on_terminal(
    *words: Any, folder: Path | None = None, stdout: Any = None, **variables: str
) -> Iterator[OnTerminal]:
    """Start the program; its standard error, and its output unless `stdout` is given, are a terminal.

    It hears Ctrl-C, which whoever runs the tests in the background may have made it ignore.
    """
    ours, theirs = pty.openpty()
    plain = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "TERM")}
    process = subprocess.Popen(
        [PROGRAM, *map(str, words)], stdin=subprocess.DEVNULL, stdout=theirs if stdout is None else stdout,
        stderr=theirs, cwd=folder, start_new_session=True, env={**plain, "TERM": "xterm", **variables},
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    os.close(theirs)
    try:
        yield OnTerminal(process, ours)
    finally:
        process.kill()
        process.wait()
        if process.stdout is not None:
            process.stdout.close()
        os.close(ours)
