"""Which kind of machine a file holds, for people who name only the file."""

from __future__ import annotations

import os

from hopbytes.errors import FormatError
from hopbytes.opening import open_stream

HEAD = 4096


def kind_of_file(path: str) -> str | None:
    """Return the kind whose spec ``kind:path`` reads a file: ``hwloc`` or ``machine``; None for other files.

    Looks at the first 4 KiB, after decompression.
    """
    if path == "-" or not os.path.isfile(path):
        return None
    try:
        with open_stream(path) as opened:
            head = opened.stream.peek(HEAD)[:HEAD]
    except FormatError:
        return None
    if head.lstrip().startswith(b"<") and b"<topology" in head:
        return "hwloc"
    if head.lstrip().startswith(b"{") and b'"hopbytes machine"' in head:
        return "machine"
    return None
