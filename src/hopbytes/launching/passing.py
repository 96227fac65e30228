"""Running a program as if it had been typed: its input, output, signals and exit code are its own."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Mapping as Dictionary
from collections.abc import Sequence

from hopbytes.errors import UnsupportedError

#: Signals that are passed on when somebody sends them to us alone.
PASSED = tuple(
    getattr(signal, name)
    for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2", "SIGCONT", "SIGWINCH")
    if hasattr(signal, name)
)
#: Those that end a program which does not care, and the seconds that this may take.
_ENDING = PASSED[:6]
_PAUSE = 0.3
#: si_code of a signal that the terminal sent to the whole group, so that the program has it already.
_FROM_KERNEL = 128


class _Bystander:
    """A program that only waits beside ours: a signal that ends it was sent to all of us.

    Who stops a job signals every process of it. A launcher that got a signal from there must not get it from
    us as well: the second one makes it kill its processes at once. The bystander ends with us, since it waits
    for input that never comes.
    """

    def __init__(self, before: set[int | signal.Signals]) -> None:
        self._before = before
        self._start()

    def _start(self) -> None:
        quiet = subprocess.DEVNULL
        self._waiting: subprocess.Popen[bytes] | None = None
        with contextlib.suppress(OSError):  # without one, signals are passed on
            self._waiting = subprocess.Popen(
                ["cat"], stdin=subprocess.PIPE, stdout=quiet, stderr=quiet,
                preexec_fn=lambda: signal.pthread_sigmask(signal.SIG_SETMASK, self._before) and None,
            )  # fmt: skip

    def heard(self, number: int) -> bool:
        """Tell whether a signal was sent to all."""
        if self._waiting is None or number not in _ENDING:
            return False
        try:
            code = self._waiting.wait(_PAUSE)
        except subprocess.TimeoutExpired:
            return False
        self.end()
        self._start()
        return code == -number

    def end(self) -> None:
        """Let it go."""
        if self._waiting is not None:
            self._waiting.communicate()


def run_through(words: Sequence[str], environment: Dictionary[str, str] | None = None) -> int:
    """Run a program with our streams and pass signals on; return its exit code.

    Parameters
    ----------
    words : sequence of str
    environment : mapping, optional
        Variables set in addition.

    Returns
    -------
    int
        Its own exit code, or 128 + the signal that ended it, as shells say it.

    Raises
    ------
    UnsupportedError
        It cannot be started.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    wanted = set(PASSED) | {signal.SIGCHLD}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, wanted)
    bystander = _Bystander(before)
    try:
        try:
            child = subprocess.Popen(
                words,
                env={**os.environ, **(environment or {})},
                preexec_fn=lambda: signal.pthread_sigmask(signal.SIG_SETMASK, before) and None,
            )
        except OSError as error:
            raise UnsupportedError(f"{words[0]}: {error.strerror}, expected a program") from None
        while child.poll() is None:
            told = signal.sigwaitinfo(wanted)
            if told.si_signo == signal.SIGCHLD or told.si_code == _FROM_KERNEL:
                continue
            if not bystander.heard(told.si_signo):
                child.send_signal(told.si_signo)
        code = child.returncode
    finally:
        bystander.end()
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    return code if code >= 0 else 128 - code
