"""The command line: each verb reads its options, makes one library call and prints the answer.

Importing this package imports no verb: NumPy, the compiled core, the verbs and the reports
are imported when a verb needs them, so that ``hopbytes --help`` answers at once.
"""

from __future__ import annotations

# The part of `signal` that needs no `enum`, whose import takes a third as long as the start of Python.
import _signal  # type: ignore[import-not-found]
import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["main"]

#: Exit code after Ctrl-C.
INTERRUPTED = 130


def main() -> None:
    """Run the program with the process's arguments; never returns."""
    # What is imported before the handler is set can end in a traceback. Ctrl-C may be ignored on purpose.
    if _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler:
        _signal.signal(_signal.SIGINT, end_at_once)
    from hopbytes.cli.app import main as run

    run()


def end_at_once(number: int, frame: Any) -> None:
    """Handle Ctrl-C while nothing has been opened yet that would have to be closed."""
    try:  # noqa: SIM105 (contextlib would have to be imported)
        os.write(2, b"hopbytes: interrupted\n")
    except OSError:  # standard error is closed
        pass
    os._exit(INTERRUPTED)
