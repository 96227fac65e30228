"""Opening, bounding and replacing files; no knowledge of any format."""

from __future__ import annotations

import bz2
import contextlib
import gzip
import io
import lzma
import os
import secrets
import stat
import sys
import zlib
from collections.abc import Iterable, Iterator
from collections.abc import Mapping as Dictionary
from typing import Any, BinaryIO, NamedTuple

from hopbytes.errors import FormatError, UnsupportedError
from hopbytes.formats.base import MARK, MAX_BYTES, Content, Source

BUFFER_BYTES = 1 << 20


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


def plain_name(name: str) -> str:
    """Return a file name without the suffix of a compression."""
    return next((name[: -len(c.suffix)] for c in COMPRESSIONS if name.lower().endswith(c.suffix)), name)


@contextlib.contextmanager
def open_source(
    path: str | os.PathLike[str], *, max_bytes: int = MAX_BYTES, options: Dictionary[str, Any] | None = None
) -> Iterator[Source]:
    """Open a file for reading: ``-`` is standard input, gzip, xz and bzip2 are recognised by content.

    Parameters
    ----------
    path : path or ``"-"``
    max_bytes : int
        The stream raises FormatError after this many bytes of decompressed content.
    options : mapping, optional
        Handed to the format.

    Raises
    ------
    FormatError
        Missing, unreadable or empty; a directory; named like a compressed file without being one.
        Damaged or endless compressed data raises it on reading.

    Examples
    --------
    >>> with open_source("examples/lammps_lj_64.csv") as source:   # doctest: +SKIP
    ...     source.head(2)
    b'0,'
    """
    path = os.fspath(path)
    name = "standard input" if path == "-" else path
    with contextlib.ExitStack() as stack:
        if path == "-" and sys.stdin is None:  # started with standard input closed
            raise FormatError(name, None, "closed, expected a file or a pipe")
        raw: Any = sys.stdin.buffer if path == "-" else stack.enter_context(_open(path))
        stored = io.BufferedReader(_Bounded(raw, name, max_bytes, "stored"), BUFFER_BYTES)
        start = stored.peek(6)
        if not start:
            raise FormatError(name, None, "an empty file, expected some content")
        kind = next((c for c in COMPRESSIONS if start.startswith(c.magic)), None)
        promised = next((c for c in COMPRESSIONS if name.lower().endswith(c.suffix)), None)
        if kind is None and promised is not None:
            raise FormatError(name, None, f"does not start like a {promised.name} file, as its name promises")
        size = None
        if kind is None:
            stream = stored
            status = os.stat(raw.fileno()) if path != "-" else None
            size = status.st_size if status is not None and stat.S_ISREG(status.st_mode) else None
        else:
            inner = stack.enter_context(kind.opener(stored, "rb"))
            stream = io.BufferedReader(_Bounded(inner, name, max_bytes, "decompressed"), BUFFER_BYTES)
            if not stream.peek(1):
                raise FormatError(name, None, "nothing inside the compressed file, expected some content")
        yield Source(name, stream, None if path == "-" else path, dict(options or {}), size, max_bytes)


def _open(path: str) -> io.FileIO:
    try:
        # Unbuffered: the caller's buffer is the only one.
        return open(path, "rb", buffering=0)
    except IsADirectoryError:
        raise FormatError(path, None, "a directory, expected a file") from None
    except OSError as error:
        raise FormatError(path, None, f"cannot be read: {error.strerror}") from None
    except ValueError:  # a NUL inside the name
        raise FormatError(repr(path), None, "not a file name") from None


class _Bounded(io.RawIOBase):
    """A stream that ends in a FormatError instead of going on for ever or failing in its own words."""

    def __init__(self, inner: BinaryIO, name: str, limit: int, what: str) -> None:
        self._inner, self._name, self._limit, self._what = inner, name, limit, what
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
            raise FormatError(self._name, None, f"{found}, expected no more (--max-bytes raises this)")
        return data


def is_ours(path: str) -> bool:
    """Tell whether a file carries our mark in its first 4 KiB (after decompression), or is empty."""
    if os.path.getsize(path) == 0:
        return True
    try:
        with open_source(path) as source:
            return MARK.encode() in source.head()
    except FormatError:
        return False


def may_write(path: str, force: bool = False) -> None:
    """Raise UnsupportedError when a file is there that we did not write, unless `force`."""
    if force or not os.path.lexists(path) or not os.path.isfile(path) or is_ours(path):
        return
    raise UnsupportedError(f"{path}: exists and was not written by hopbytes (force, --force overwrite it)")


def atomic_write(files: Dictionary[str, Content], executable: Iterable[str] = ()) -> None:
    """Write several files so that each is either complete or untouched.

    Everything is first written beside its target; only when all of it is there do the new files take
    their places. Names ending in .gz, .xz or .bz2 are compressed; ``-`` is standard output.
    Files that are no regular files (pipes, devices) are written directly.

    Parameters
    ----------
    files : mapping of path → content
    executable : paths among them that are scripts

    Raises
    ------
    UnsupportedError
        A folder that is missing or may not be written, a full disk.
    """
    finished: list[tuple[str, str]] = []
    scripts = set(executable)
    path = ""
    try:
        for path, content in files.items():
            if path == "-":
                sys.stdout.buffer.writelines(_pieces(content))
                sys.stdout.buffer.flush()
                continue
            target = os.path.realpath(path)
            if os.path.exists(target) and not stat.S_ISREG(os.stat(target).st_mode):
                with open(target, "wb") as device:
                    device.writelines(_pieces(content))
                continue
            finished.append((_write_beside(target, content, 0o777 if path in scripts else 0o666), target))
        while finished:
            os.replace(*finished[0])
            finished.pop(0)
    except BrokenPipeError:
        raise
    except OSError as error:
        name = "standard output" if path == "-" else path
        raise UnsupportedError(f"{name}: cannot be written: {error.strerror}") from None
    finally:
        for unfinished, _ in finished:
            os.unlink(unfinished)


def _pieces(content: Content) -> Iterable[bytes]:
    if isinstance(content, str):
        return (content.encode(),)
    return (content,) if isinstance(content, bytes) else content


def _write_beside(target: str, content: Content, mode: int) -> str:
    # mkstemp would give mode 0600 to a file that is meant to be shared; this one follows the umask.
    folder, name = os.path.split(target)
    path = os.path.join(folder, f".{name[:100]}.{secrets.token_hex(8)}.part")
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    try:
        with os.fdopen(descriptor, "wb") as stored, _compressing(target, stored) as stream:
            stream.writelines(_pieces(content))
    except BaseException:
        os.unlink(path)
        raise
    return path


@contextlib.contextmanager
def _compressing(target: str, stored: BinaryIO) -> Iterator[BinaryIO]:
    kind = next((c for c in COMPRESSIONS if target.lower().endswith(c.suffix)), None)
    if kind is None:
        yield stored
    elif kind.name == "gzip":
        # Neither time nor name inside: the same content gives the same file.
        with gzip.GzipFile("", "wb", 6, stored, mtime=0) as stream:
            yield stream  # type: ignore[misc]
    else:
        with kind.opener(stored, "wb") as stream:
            yield stream
