"""Start programs, collect their output, and stop them on a timeout or an interruption."""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from hopbytes.errors import HopbytesError, UnsupportedError

#: Seconds within which a program must have started on all nodes.
START_TIMEOUT = 300.0
#: Seconds between SIGTERM and SIGKILL.
TERMINATE_TIMEOUT = 10.0
#: Limit of the output of a program, to bound memory.
MAX_OUTPUT_BYTES = 2**31
_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def run_program(
    words: Sequence[str], *, environment: Mapping[str, str] | None = None, timeout: float = START_TIMEOUT,
    marker: str = "", hint: str = "", expected: str = "a launcher", max_bytes: int = MAX_OUTPUT_BYTES
) -> tuple[str, int]:
    """Run a program without input and return its output and its exit code."""
    with _started(words, environment, expected) as child:
        stream = child.stdout
        assert stream is not None
        pieces, last, size = [], "", 0
        limit: float | None = time.monotonic() + timeout
        with selectors.DefaultSelector() as ready:
            ready.register(stream, selectors.EVENT_READ)
            while True:
                left = None if limit is None else limit - time.monotonic()
                if (left is not None and left <= 0) or not ready.select(left):
                    what = "did not start all of its processes" if marker else "did not end"
                    message = f"{words[0]} {what} within {timeout:g} seconds and was stopped"
                    raise HopbytesError(f"{message}: {hint}" if hint else message)
                piece = os.read(stream.fileno(), 1 << 16).decode(errors="replace")
                if not piece:
                    break
                pieces.append(piece)
                size += len(piece)
                if size > max_bytes:
                    what = f"printed more than {max_bytes} bytes and was stopped"
                    raise HopbytesError(f"{words[0]} {what}, expected less output")
                last = last[-len(marker) :] + piece
                if marker and marker in last:
                    limit = None
        return "".join(pieces), child.wait()


def lines_of_program(words: Sequence[str], **options: Any) -> list[str]:
    """Return the lines that a program printed; UnsupportedError unless it ends with code 0."""
    printed, code = run_program(words, **options)
    if code:
        raise UnsupportedError(f"{words[0]}: failed with exit code {code}, expected 0")
    return printed.splitlines()


@contextlib.contextmanager
def _started(
    words: Sequence[str], environment: Mapping[str, str] | None, expected: str
) -> Iterator[subprocess.Popen[bytes]]:
    """Start a program and yield it; it is stopped when the context ends, also on an exception.

    Signals are blocked until the process is registered for this, so that none can leave it running.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _ENDING)
    try:
        try:
            child = subprocess.Popen(
                words, env=environment, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, bufsize=0,
                preexec_fn=lambda: signal.pthread_sigmask(signal.SIG_SETMASK, before) and None,
            )  # fmt: skip
        except OSError as error:
            raise UnsupportedError(f"{words[0]}: {error.strerror}, expected {expected}") from None
        try:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
            yield child
        finally:
            stop(child)
            if child.stdout is not None:
                child.stdout.close()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def stop(child: subprocess.Popen[Any]) -> None:
    """Stop a program that may still run, first by SIGTERM, on which a launcher ends its processes."""
    if child.poll() is not None:
        return
    child.terminate()
    try:
        child.wait(TERMINATE_TIMEOUT)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()
