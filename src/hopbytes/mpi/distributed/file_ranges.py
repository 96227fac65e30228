"""Parts of files that a process reads or writes, without the rest."""

from __future__ import annotations

import os
from collections.abc import Callable
from types import TracebackType

import numpy as np

from hopbytes._arrays import Array
from hopbytes.errors import FormatError, HopbytesError
from hopbytes.formats.files import check_writable
from hopbytes.mpi.distributed.member import Member
from hopbytes.text.open_input import COMPRESSIONS
from hopbytes.util.leftovers import name_of_process, remove_left

#: Bytes that one call of the operating system reads or writes.
AT_ONCE = 1 << 26


class RangeFile:
    """A file that is read by ranges."""

    def __init__(self, path: str) -> None:
        self.path = path
        try:
            self._descriptor = os.open(path, os.O_RDONLY)
            self.size = os.fstat(self._descriptor).st_size
            head = self.bytes(0, min(self.size, 8))
        except OSError as error:
            raise FormatError(path, None, str(error.strerror)) from None
        if any(head.startswith(kind.magic) for kind in COMPRESSIONS):
            self.close()
            raise FormatError(path, None, "a compressed file, expected a plain one that is read by ranges")

    def __enter__(self) -> RangeFile:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        os.close(self._descriptor)

    def bytes(self, begin: int, count: int) -> bytes:
        """Return bytes from a place on; FormatError if the file ends before."""
        pieces, at = [], begin
        while at < begin + count:
            piece = os.pread(self._descriptor, min(AT_ONCE, begin + count - at), at)
            if not piece:
                what = f"the file ends after {at} bytes, expected {begin + count}"
                raise FormatError(self.path, None, f"{what} (is the file complete?)")
            pieces.append(piece)
            at += len(piece)
        return b"".join(pieces)

    def numbers(self, dtype: str, begin: int, first: int, count: int) -> Array:
        """Return numbers `first` to `first + count` - 1 of a section that begins at a byte."""
        width = np.dtype(dtype).itemsize
        found: Array = np.frombuffer(self.bytes(begin + width * first, width * count), dtype)
        return found

    def line_start(self, place: int, first: int) -> int:
        """Return the first place from `place` on at which a line begins; lines begin at `first`."""
        if place <= first:
            return first
        at = place - 1
        while at < self.size:
            piece = os.pread(self._descriptor, min(1 << 16, self.size - at), at)
            end = piece.find(b"\n")
            if end >= 0:
                return at + end + 1
            at += max(len(piece), 1)
        return self.size


def write_ranges(
    member: Member, path: str, parts: Callable[[], list[bytes]], head: bytes, *, force: bool
) -> None:
    """Write a file of which every process has the part that follows those of lower rank; collective.

    All processes have to see the same file system.
    """
    fault: BaseException | None = None
    temporary = ""
    try:
        if member.rank == 0:
            check_writable(path, force, "distributed")
            folder, name = os.path.split(os.path.realpath(path))
            remove_left(folder, f".{name[:100]}.", ".part")
            temporary = os.path.join(folder, name_of_process(f".{name[:100]}.", ".part"))
            os.close(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666))
    except (HopbytesError, OSError) as error:
        fault = error
    member.agree(fault)
    temporary = member.all(temporary)[0]
    pieces: list[bytes] = [head] if member.rank == 0 else []
    try:
        try:
            pieces += parts()
            sizes = sum(len(each) for each in pieces)
        except MemoryError as error:
            fault, sizes = error, 0
        at = sum(member.all(sizes)[: member.rank])
        try:
            _write_at(temporary, at, pieces)
        except OSError as error:
            fault = error
        member.agree(fault)
        if member.rank == 0:
            os.replace(temporary, path)
    except BaseException:
        if member.rank == 0 and os.path.exists(temporary):
            os.unlink(temporary)
        raise
    member.agree(None)  # nobody goes on before the file is there


def _write_at(path: str, at: int, pieces: list[bytes]) -> None:
    descriptor = os.open(path, os.O_WRONLY)
    try:
        for piece in pieces:
            rest = memoryview(piece)
            while rest:
                done = os.pwrite(descriptor, rest[:AT_ONCE], at)
                rest, at = rest[done:], at + done
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
