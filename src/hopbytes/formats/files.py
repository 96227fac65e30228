"""Inputs of formats, and replacing files; no knowledge of any format."""

from __future__ import annotations

import contextlib
import gzip
import os
import secrets
import stat
import sys
from collections.abc import Iterable, Iterator
from collections.abc import Mapping as Dictionary
from typing import Any, BinaryIO

from hopbytes.errors import FormatError, UnsupportedError
from hopbytes.formats.base import MARK, Content, Source
from hopbytes.opening import COMPRESSIONS, MAX_BYTES, open_stream, path_text, plain_name

__all__ = ["atomic_write", "is_ours", "may_write", "open_source", "plain_name"]


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
    UnsupportedError
        `path` is no text and no path, `max_bytes` no integer >= 1.

    Examples
    --------
    >>> with open_source("examples/lammps_lj_64.csv") as source:   # doctest: +SKIP
    ...     source.head(2)
    b'0,'
    """
    path = path_text(path)
    with open_stream(path, max_bytes=max_bytes) as (name, stream, size):
        yield Source(name, stream, None if path == "-" else path, dict(options or {}), size, max_bytes)


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
