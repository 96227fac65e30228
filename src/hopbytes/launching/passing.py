"""Running a program as if it had been typed: its input, output, signals and exit code are its own."""

from __future__ import annotations

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
#: si_code of a signal that the terminal sent to the whole group, so that the program has it already.
_FROM_KERNEL = 128


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
            if told.si_signo != signal.SIGCHLD and told.si_code != _FROM_KERNEL:
                child.send_signal(told.si_signo)
        code = child.returncode
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    return code if code >= 0 else 128 - code
