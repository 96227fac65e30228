"""Runs a program with this process's input and output, and forwards signals and the exit code."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Mapping as Dictionary
from collections.abc import Sequence

from hopbytes.errors import UnsupportedError

#: Signals that are forwarded if they were sent to this process only.
PASSED = tuple(
    getattr(signal, name)
    for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2", "SIGCONT", "SIGWINCH")
    if hasattr(signal, name)
)
#: Signals whose default action ends a process, and the seconds to wait for that.
_ENDING = PASSED[:6]
_PAUSE = 0.3
#: si_code of a signal that the terminal sent to the whole process group, so the program received it too.
_FROM_KERNEL = 128


class _SignalDetector:
    """A second child process that tells whether a signal was sent to all processes of a job.

    A batch system that stops a job signals every process in it. A launcher that received this signal must not
    receive it from this process again: the second signal makes it kill its processes at once. The child waits
    for input; if a signal ends it, the signal was sent to all. The child ends with this process, since its
    input is then closed.
    """

    def __init__(self, before: set[int | signal.Signals]) -> None:
        self._before = before
        self._start()

    def _start(self) -> None:
        quiet = subprocess.DEVNULL
        self._waiting: subprocess.Popen[bytes] | None = None
        with contextlib.suppress(OSError):  # without this child, every signal is forwarded
            self._waiting = subprocess.Popen(
                ["cat"], stdin=subprocess.PIPE, stdout=quiet, stderr=quiet,
                preexec_fn=lambda: signal.pthread_sigmask(signal.SIG_SETMASK, self._before) and None,
            )  # fmt: skip

    def received(self, number: int) -> bool:
        """Return whether the signal was sent to all processes."""
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
        """End the child process."""
        if self._waiting is not None:
            self._waiting.communicate()


def run_through(words: Sequence[str], environment: Dictionary[str, str] | None = None) -> int:
    """Run a program with the streams of this process, forward signals, and return its exit code."""
    sys.stdout.flush()
    sys.stderr.flush()
    wanted = set(PASSED) | {signal.SIGCHLD}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, wanted)
    detector = _SignalDetector(before)
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
            info = signal.sigwaitinfo(wanted)
            if info.si_signo == signal.SIGCHLD or info.si_code == _FROM_KERNEL:
                continue
            if not detector.received(info.si_signo):
                child.send_signal(info.si_signo)
        code = child.returncode
    finally:
        detector.end()
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    return code if code >= 0 else 128 - code
