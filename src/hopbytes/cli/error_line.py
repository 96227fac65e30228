"""Errors as people read them: one line on standard error."""

from __future__ import annotations

import contextlib
import errno
import os
import sys

from hopbytes.cli.colour import painted
from hopbytes.errors import HopbytesError, printable

#: Errors that prevent writing to a stream.
NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF)


def sentence(error: BaseException) -> str:
    """Return one line for people about an error."""
    if isinstance(error, HopbytesError):
        from hopbytes.cli.option_names import for_terminal

        return for_terminal(" ".join(str(error).splitlines()))
    if isinstance(error, MemoryError):
        return "not enough memory for this problem"
    assert isinstance(error, OSError)
    reason = error.strerror or str(error)
    if error.filename is not None:
        return f"{error.filename}: {reason}"
    if reason == os.strerror(errno.ENOENT):  # the error about a missing file has its name
        return "the current folder is gone, expected one that exists"
    # Errors about files have their names, so an error without a name concerns standard output.
    return f"standard output: {reason}" if error.errno in NO_ROOM else reason


def complain(text: str) -> None:
    """Print on standard error why the program stops; if it is closed, nothing happens."""
    with contextlib.suppress(OSError):
        print(painted("hopbytes:", "error", sys.stderr), printable(text), file=sys.stderr, flush=True)
