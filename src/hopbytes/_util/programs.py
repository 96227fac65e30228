"""Programs that are started, heard to their end, and stopped when nobody waits for them any more."""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence

from hopbytes.errors import HopbytesError, UnsupportedError

#: Seconds that a program may take to start everywhere.
PATIENCE = 300.0
#: Seconds between asking a program to stop and ending it.
MERCY = 10.0
#: More than any program that is asked here has to say.
MOST_BYTES = 2**31
_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def heard(
    words: Sequence[str],
    *,
    environment: Mapping[str, str] | None = None,
    within: float = PATIENCE,
    sign: str = "",
    hint: str = "",
    expected: str = "a launcher",
    most: int = MOST_BYTES,
) -> tuple[str, int]:
    """Run a program without input and return what it printed and its exit code.

    Parameters
    ----------
    words : sequence of str
    environment : mapping, optional
        All variables; by default ours.
    within : float
        Seconds in which it has to end, or to print `sign` where one is given.
    sign : str
        What it prints once it is under way; from then on it may take as long as it likes.
    hint : str
        What is probably the matter when it does not.
    expected : str
        What the first word should have been.
    most : int
        Bytes that are kept of what it prints.

    Raises
    ------
    UnsupportedError
        It cannot be started.
    HopbytesError
        It took too long, or printed too much, and was stopped.
    """
    with _started(words, environment, expected) as child:
        stream = child.stdout
        assert stream is not None
        pieces, last = [], ""
        limit: float | None = time.monotonic() + within
        with selectors.DefaultSelector() as ready:
            ready.register(stream, selectors.EVENT_READ)
            while True:
                left = None if limit is None else limit - time.monotonic()
                if (left is not None and left <= 0) or not ready.select(left):
                    what = "did not get under way" if sign else "did not come back"
                    said = f"{words[0]} {what} in {within:g} seconds and was stopped"
                    raise HopbytesError(f"{said}: {hint}" if hint else said)
                piece = os.read(stream.fileno(), 1 << 16).decode(errors="replace")
                if not piece:
                    break
                pieces.append(piece)
                most -= len(piece)
                if most < 0:
                    raise HopbytesError(f"{words[0]} printed without end and was stopped")
                last = last[-len(sign) :] + piece
                if sign and sign in last:
                    limit = None
        return "".join(pieces), child.wait()


@contextlib.contextmanager
def _started(
    words: Sequence[str], environment: Mapping[str, str] | None, expected: str
) -> Iterator[subprocess.Popen[bytes]]:
    """Give a started program; whatever happens, it has ended afterwards.

    Signals wait until it is known that it was started, and to whom it belongs.
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


def stop(child: subprocess.Popen[bytes]) -> None:
    """End a program that may still run: a launcher that is asked to takes its processes with it."""
    if child.poll() is not None:
        return
    child.terminate()
    try:
        child.wait(MERCY)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()
