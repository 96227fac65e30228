"""Opening files to read: bounded, decompressed when needed, with errors of this package."""

from __future__ import annotations

import bz2
import codecs
import contextlib
import gzip
import io
import lzma
import os
import stat
import sys
import time
import zlib
from collections.abc import Iterator
from contextvars import ContextVar
from typing import Any, BinaryIO, NamedTuple, cast

from hopbytes.errors import FormatError, HopbytesError, UnsupportedError

BUFFER_BYTES = 1 << 20
#: Content that compressed files may have for each of their bytes, beyond what is never refused. Texts of
#: numbers shrink to a fifth or a tenth; files made to fill a memory expand a thousandfold. A stated
#: `max_bytes` alone limits.
EXPANSION, NEVER_REFUSED = 100, 2**26
#: Seconds to wait for somebody who writes into a pipe that has a name, and between two looks.
PIPE_SECONDS, BETWEEN_LOOKS = 10.0, 0.02
#: Largest input after decompression unless the caller says otherwise. A text of this size holds about
#: two thousand million arcs, the most the package counts, while a decompression bomb, which can expand a
#: thousandfold and more, is stopped within a minute.
MAX_BYTES = 16 * 2**30


class Compression(NamedTuple):
    """How one kind of compressed file is recognised, opened and written."""

    name: str
    suffix: str
    magic: bytes
    opener: Any


COMPRESSIONS = (
    Compression("gzip", ".gz", b"\x1f\x8b", gzip.open),
    Compression("xz", ".xz", b"\xfd7zXZ\x00", lzma.open),
    Compression("bzip2", ".bz2", b"BZh", bz2.open),
)
#: Beginnings of files that Python cannot decompress, and the programs that can.
UNREAD_COMPRESSIONS = {
    b"\x28\xb5\x2f\xfd": "zstd -d", b"\x04\x22\x4d\x18": "lz4 -d", b"\x1f\x9d": "uncompress",
}  # fmt: skip


def check_expansion(name: str, stored: int, made: int, max_bytes: int) -> None:
    """Raise FormatError where `stored` compressed bytes become more than files of numbers ever do."""
    if max_bytes == MAX_BYTES and made > max(NEVER_REFUSED, EXPANSION * stored):
        what = f"{stored} compressed bytes become {made} and more, expected at most {EXPANSION} times as many"
        raise FormatError(name, None, f"{what} (a stated `max_bytes` is the limit then)")


class Opened(NamedTuple):
    """A stream of decompressed bytes that raises FormatError where its size exceeds a bound."""

    name: str  # for messages
    stream: io.BufferedReader
    size: int | None  # bytes of content, when a regular file says so


def plain_name(name: str) -> str:
    """Return a file name without the suffix of a compression."""
    return next((name[: -len(c.suffix)] for c in COMPRESSIONS if name.lower().endswith(c.suffix)), name)


def path_text(path: object) -> str:
    """Return a path as text; UnsupportedError if it is not one, FormatError if no file can have it."""
    text = os.fspath(path) if isinstance(path, (str, os.PathLike)) else None
    if not isinstance(text, str):
        raise UnsupportedError(f"a file name of type {type(path).__name__}, expected text or a path")
    if "\0" in text:
        raise FormatError(repr(text), None, "not a file name, expected a name without null characters")
    return text


@contextlib.contextmanager
def open_stream(path: str | os.PathLike[str], *, max_bytes: int = MAX_BYTES) -> Iterator[Opened]:
    """Open a file for reading: ``-`` is standard input, gzip, xz and bzip2 are recognised by content."""
    path = path_text(path)
    if not path:
        raise FormatError("''", None, "an empty file name, expected a name, or - (standard input)")
    name = "standard input" if path == "-" else path
    with contextlib.ExitStack() as stack:
        if path == "-" and sys.stdin is None:  # started with standard input closed
            raise FormatError(name, None, "closed, expected a file or a pipe")
        raw: Any = sys.stdin.buffer if path == "-" else stack.enter_context(_open(path))
        counted = _Bounded(raw, name, max_bytes, "stored")
        stored = io.BufferedReader(counted, BUFFER_BYTES)
        start = stored.peek(6)
        if not start:
            raise FormatError(name, None, "an empty file, expected some content")
        kind = next((c for c in COMPRESSIONS if start.startswith(c.magic)), None)
        promised = next((c for c in COMPRESSIONS if name.lower().endswith(c.suffix)), None)
        if kind is None and promised is not None:
            what = f"does not start like a {promised.name} file, although its name says so"
            raise FormatError(name, None, what)
        program = next((p for magic, p in UNREAD_COMPRESSIONS.items() if start.startswith(magic)), None)
        if program is not None:
            known = ", ".join(c.name for c in COMPRESSIONS)
            raise FormatError(name, None, f"compressed, expected {known} or none ('{program}' unpacks it)")
        size, stream = None, cast("io.BufferedReader", stored)
        if kind is None:
            status = os.stat(raw.fileno()) if path != "-" else None
            size = status.st_size if status is not None and stat.S_ISREG(status.st_mode) else None
        else:
            inner = stack.enter_context(kind.opener(stored, "rb"))
            content = _Bounded(inner, name, max_bytes, "decompressed", counted)
            stream = cast("io.BufferedReader", io.BufferedReader(content, BUFFER_BYTES))
            if not stream.peek(1):
                raise FormatError(name, None, "an empty compressed file, expected some content")
        _check_encoding(name, stream.peek(4)[:4])
        if stream.peek(len(codecs.BOM_UTF8)).startswith(codecs.BOM_UTF8):  # editors of Windows write it
            stream.read(len(codecs.BOM_UTF8))
            if not stream.peek(1):
                raise FormatError(name, None, "only a byte order mark of UTF-8, expected some content")
        yield Opened(name, stream, size)


@contextlib.contextmanager
def open_text(path: str, newline: str | None = None) -> Iterator[io.TextIOWrapper]:
    """Open a text file as :func:`open_stream` does; bytes that are not UTF-8 become U+FFFD."""
    with open_stream(path) as source:
        yield io.TextIOWrapper(source.stream, encoding="utf-8", errors="replace", newline=newline)


def _check_encoding(name: str, start: bytes) -> None:
    """Refuse text in UTF-16, as shells of Windows write it; XML says its encoding itself."""
    for mark, encoding in ((codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be")):
        if start.startswith(mark) and start[2:] != "<".encode(encoding):
            what = "text in UTF-16, expected UTF-8 (iconv -f UTF-16 -t UTF-8 translates it)"
            raise FormatError(name, None, what)


class _UnopenedError(FormatError):
    """A file that was not opened, so that the message has nothing of its content."""


class _Holder(NamedTuple):
    """The folder of a file that names others, and those of them that were opened."""

    folder: str
    opened: list[str]


#: The files whose references are being read, the outermost first.
_holders: ContextVar[tuple[_Holder, ...]] = ContextVar("holders", default=())


@contextlib.contextmanager
def named_in(path: str | None) -> Iterator[None]:
    """Treat every file that is opened inside the block as one that the file `path` names."""
    # Who made that file need not be the user, so such a name is obeyed only where it is a regular file in the
    # same folder or below it, no such file names another one, and no message shows anything of the content.
    # `path` None is standard input, which stands for the current folder.
    holder = _Holder(os.path.realpath(os.path.dirname(path or "")), [])
    token = _holders.set((*_holders.get(), holder))
    try:
        yield
    except _UnopenedError:
        raise
    except HopbytesError as error:
        if not holder.opened or getattr(error, "where", None) == path:
            raise
        what = f"names {holder.opened[-1]}, which cannot be read (give that file itself to see why)"
        raise _UnopenedError(path or "standard input", None, what) from None
    finally:
        _holders.reset(token)


def check_reference(path: str, *, folder: bool = False) -> None:
    """Raise FormatError where a file is named in another one and :func:`named_in` forbids to open it."""
    # With `folder` the name is one of a folder, whose files are opened one by one later.
    holders = _holders.get()
    if not holders:
        return
    if len(holders) > 1:
        what = "is named in a file that a file names, expected files that name no others"
        raise _UnopenedError(path, None, what)
    real = os.path.realpath(path)
    if os.path.commonpath([real, holders[0].folder]) != holders[0].folder:
        what = f"is named in a file of the folder {holders[0].folder}, expected one inside it"
        raise _UnopenedError(path, None, f"{what} (other files are read only where a user names them)")
    if not os.path.exists(real):
        raise _UnopenedError(path, None, "no such file, expected the one that is named in a file")
    if not folder and not stat.S_ISREG(os.stat(real).st_mode):
        raise _UnopenedError(path, None, "is named in a file, expected a regular file")
    holders[0].opened.append(path)


def check_file(path: str) -> None:
    """Raise FormatError where a name is not one of a regular file, or may not be opened from another file."""
    check_reference(path)
    if os.path.exists(path) and not os.path.isfile(path):
        kind = "a directory" if os.path.isdir(path) else "a pipe or a device"
        raise _UnopenedError(path, None, f"{kind}, expected a file")


class _Pipe(io.RawIOBase):
    """A pipe of which the first bytes have been read."""

    def __init__(self, file: io.FileIO, first: bytes) -> None:
        self._file, self._first = file, first

    def fileno(self) -> int:
        return self._file.fileno()

    def readinto(self, buffer: Any) -> int:
        if not self._first:
            return self._file.readinto(buffer) or 0
        size = min(len(buffer), len(self._first))
        buffer[:size], self._first = self._first[:size], self._first[size:]
        return size

    def close(self) -> None:
        self._file.close()
        super().close()


def _pipe(path: str) -> io.RawIOBase:
    """Open a pipe that has a name, without waiting for ever for somebody who writes into it."""
    file = io.FileIO(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb")
    until = time.monotonic() + PIPE_SECONDS
    first: bytes | None = b""
    while first == b"":
        first = file.read(BUFFER_BYTES)  # None: there is a writer, but nothing to read yet
        if first == b"":
            if time.monotonic() > until:
                file.close()
                raise _UnopenedError(path, None, "a pipe into which no process writes, expected a file")
            time.sleep(BETWEEN_LOOKS)
    os.set_blocking(file.fileno(), True)
    return _Pipe(file, first or b"")


def _open(path: str) -> io.RawIOBase:
    try:
        check_reference(path)
        mode = os.stat(path).st_mode
        if stat.S_ISFIFO(mode):
            return _pipe(path)
        if stat.S_ISCHR(mode) or stat.S_ISBLK(mode):
            raise _UnopenedError(path, None, "a device, expected a file")
        # Unbuffered: the caller's buffer is the only one.
        return open(path, "rb", buffering=0)
    except IsADirectoryError:
        raise _UnopenedError(path, None, "a directory, expected a file") from None
    except OSError as error:
        raise _UnopenedError(path, None, f"cannot be read: {error.strerror}") from None


class _Bounded(io.RawIOBase):
    """A stream that raises FormatError where its size exceeds a bound or its data are damaged."""

    def __init__(
        self, inner: BinaryIO, name: str, limit: int, what: str, stored: _Bounded | None = None
    ) -> None:
        self._inner, self._name, self._limit, self._what, self._stored = inner, name, limit, what, stored
        self._count = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        # A pipe gives what is there; filling the buffer makes peeking reliable.
        view, filled = memoryview(buffer), 0
        while filled < len(view) and (data := self._next(len(view) - filled)):
            view[filled : filled + len(data)] = data
            filled += len(data)
        return filled

    def _next(self, size: int) -> bytes:
        try:
            data = self._inner.read(size) or b""
        except (EOFError, zlib.error, lzma.LZMAError, OSError) as error:
            found = getattr(error, "strerror", None) or error
            raise FormatError(self._name, None, f"damaged or truncated: {found}") from None
        self._count += len(data)
        if self._count > self._limit:
            found = f"more than {self._limit} bytes {self._what}"
            raise FormatError(self._name, None, f"{found}, expected no more (`max_bytes` raises this)")
        if self._stored is not None:
            check_expansion(self._name, self._stored._count, self._count, self._limit)
        return data
