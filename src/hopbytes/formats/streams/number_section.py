"""Parts of binary files that hold numbers of one type, read piece by piece, also from compressed files."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from hopbytes._arrays import Array, Int64
from hopbytes._frozen import frozen
from hopbytes.errors import FormatError
from hopbytes.formats.files import open_source

SKIPPED_AT_ONCE = 1 << 24


@frozen
class NumberSection:
    """Consecutive numbers in a file."""

    path: str
    begin: int  # bytes before the first number, after decompression
    dtype: str  # type of the numbers, such as ``"<u4"``
    max_bytes: int
    what: str  # what the numbers are, for messages

    @contextlib.contextmanager
    def open(self) -> Iterator[SectionReader]:
        """Open the file at the first number; what precedes it in a compressed file is read and dropped."""
        with contextlib.ExitStack() as stack:
            source = stack.enter_context(open_source(self.path, max_bytes=self.max_bytes))
            stream: Any = source.stream
            if source.size is not None:
                stream = stack.enter_context(open(self.path, "rb", buffering=0))
                stream.seek(self.begin)
            else:
                left = self.begin
                while left and (got := len(stream.read(min(left, SKIPPED_AT_ONCE)))):
                    left -= got
            yield SectionReader(self, stream)


class SectionReader:
    """Reads the numbers of a section in order."""

    def __init__(self, section: NumberSection, stream: Any) -> None:
        self._section, self._stream = section, stream

    def take(self, count: int) -> Array:
        """Return the next numbers; FormatError where the file ends before."""
        section = self._section
        found = np.empty(count, section.dtype)
        view, filled = found.view(np.uint8), 0
        while filled < len(view) and (got := self._stream.readinto(view[filled:])):
            filled += got
        if filled < len(view):
            what = f"the file ends inside the {section.what}, expected {count} more numbers there"
            raise FormatError(section.path, None, what)
        return found

    def take_int64(self, count: int) -> Int64:
        """Return the next numbers as int64; FormatError for one below 0 or of 2^63 and more."""
        found = self.take(count).astype(np.int64, copy=False)
        if count and int(found.min()) < 0:
            at = int(np.argmin(found))
            what = f"{self._section.what}: {found[at]}, expected a number from 0 to 2^63 - 1"
            raise FormatError(self._section.path, None, what)
        return found

