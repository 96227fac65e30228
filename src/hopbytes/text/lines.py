"""Whole text files as numbered lines, bounded and decompressed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from io import BufferedReader

from hopbytes.errors import FormatError, ScaleError

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


class Lines:
    """The lines of a recording, with the number of the last one; :data:`LONGEST_RECORD` is their bound."""

    def __init__(self, stream: BufferedReader, name: str) -> None:
        self.stream, self.name, self.number = stream, name, 0

    def __iter__(self) -> Iterator[bytes]:
        while line := self.stream.readline(LONGEST_RECORD):
            self.number += 1
            if len(line) == LONGEST_RECORD and not line.endswith(b"\n"):
                raise self.error(f"the line has more than {LONGEST_RECORD} bytes")
            yield line

    def __str__(self) -> str:
        return f"{self.name}:{self.number}"

    def error(self, what: str) -> FormatError:
        """Return the error for what was found in the last line, and what was expected."""
        return FormatError(self.name, self.number or None, what)

    def whole(self, token: bytes, what: str = "a whole number") -> int:
        """Return a number >= 0 in the last line."""
        return whole_number(self.name, self.number, token, what)

    def rank(self, token: bytes) -> int:
        """Return the number of a rank in the last line."""
        value = self.whole(token, "a rank")
        if value >= 2**31 - 2:
            raise self.error(f"rank {value}, expected less than 2^31 - 2")
        return value


def whole_number(name: str, line: int, token: bytes, what: str) -> int:
    """Return a number >= 0; FormatError for another text, ScaleError above 2^63 - 1."""
    if not token.isdigit():
        raise FormatError(name, line, f"{shown(token)}, expected {what}")
    if len(token) > 19 or int(token) >= 2**63:
        number = token[:40].decode()
        raise ScaleError(f"{name}:{line}: {number} is more than 2^63 - 1: divide all values until they fit")
    return int(token)


def integer_in(text: str, least: int, most: int) -> int | None:
    """Return an integer from `least` >= 0 to `most`; None for any other text."""
    whole = text.isascii() and text.isdigit() and len(text) < 20
    return int(text) if whole and least <= int(text) <= most else None


def shown(token: bytes) -> str:
    """Return a token as printable text: quoted, escaped and shortened."""
    return repr(token[:40])[1:] + ("..." if len(token) > 40 else "")


def some_of(names: Sequence[str], most: int = 3) -> str:
    """Return names with commas, of many the first ones and how many more there are."""
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def natural_key(name: str) -> tuple[tuple[int, int, str], ...]:
    """Return a key that sorts ``n2`` before ``n10``: runs of digits count as numbers."""
    # Very long runs of digits are compared as text: no name needs them as numbers.
    return tuple(
        (0, int(piece), piece) if piece[0] in "0123456789" and len(piece) < 19 else (1, 0, piece)
        for piece in re.findall("[0-9]+|[^0-9]+", name)
    )
