"""Whole text files as numbered lines, bounded and decompressed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from io import BufferedReader

from hopbytes.errors import FormatError

#: Largest description of a network after decompression: the tables of 2000 switches and 20 000 adapters.
MAX_BYTES = 4 * 2**30
#: Lines of discovery tools are short; regular expressions that backtrack must not meet very long ones.
LONGEST_LINE = 2**12
#: Longest line of a recording or of a log.
LONGEST_RECORD = 2**20


def read_bytes(path: str, max_bytes: int = MAX_BYTES) -> bytes:
    """Return the decompressed content of a file."""
    from hopbytes.text.open_input import open_stream

    with open_stream(path, max_bytes=max_bytes) as source:
        content: bytes = source.stream.read()
    return content


def read_lines(path: str, max_bytes: int = MAX_BYTES, longest: int = LONGEST_LINE) -> list[str]:
    """Return the lines of a text file, without their ends; bytes that are not UTF-8 become U+FFFD."""
    return text_lines(read_bytes(path, max_bytes), path, longest)


def text_lines(data: bytes, path: str, longest: int = LONGEST_LINE) -> list[str]:
    """Return the lines of a text as :func:`read_lines` does; `path` is for messages."""
    if b"\0" in data:
        at = data[: data.index(b"\0")].count(b"\n") + 1
        raise FormatError(path, at, "a NUL byte, expected text")
    lines: list[str] = data.decode("utf-8", "replace").replace("\r\n", "\n").split("\n")
    for number, line in enumerate(lines, start=1):
        if len(line) > longest:
            raise FormatError(path, number, f"a line of {len(line)} characters, expected at most {longest}")
    return lines


def bounded_lines(stream: BufferedReader, where: str) -> Iterator[tuple[int, bytes]]:
    """Yield (number, line) of a text; FormatError for a line longer than :data:`LONGEST_RECORD`."""
    count = 0
    while line := stream.readline(LONGEST_RECORD):
        count += 1
        if len(line) == LONGEST_RECORD and not line.endswith(b"\n"):
            raise FormatError(where, count, f"the line has more than {LONGEST_RECORD} bytes")
        yield count, line


def natural_key(name: str) -> tuple[tuple[int, int, str], ...]:
    """Return a key that sorts ``n2`` before ``n10``: runs of digits count as numbers.

    >>> sorted(["n10", "n2", "m"], key=natural_key)
    ['m', 'n2', 'n10']
    """
    # Very long runs of digits are compared as text: no name needs them as numbers.
    return tuple(
        (0, int(piece), piece) if piece[0] in "0123456789" and len(piece) < 19 else (1, 0, piece)
        for piece in re.findall("[0-9]+|[^0-9]+", name)
    )
