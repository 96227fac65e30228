"""Ctrl-C before the program is loaded ends it with one line, without a traceback.

This module imports next to nothing: what is imported before the handler is set can end in a traceback.
"""

from __future__ import annotations

# The part of `signal` that needs no `enum`, whose import takes a third as long as the start of Python.
import _signal  # type: ignore[import-not-found]
import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

#: Exit code after Ctrl-C.
INTERRUPTED = 130


def end_at_once(number: int, frame: Any) -> None:
    """Handle Ctrl-C while nothing has been opened yet that would have to be closed."""
    try:  # noqa: SIM105 (contextlib would have to be imported)
        os.write(2, b"hopbytes: interrupted\n")
    except OSError:  # standard error is closed
        pass
    os._exit(INTERRUPTED)


def watch_for_interrupts() -> None:
    """Set the handler, unless Ctrl-C is ignored or somebody else handles it."""
    if _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler:
        _signal.signal(_signal.SIGINT, end_at_once)
