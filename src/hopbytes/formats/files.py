"""Opening input files and replacing output files, independently of any format."""

from __future__ import annotations

import contextlib
import gzip
import os
import sys
from collections.abc import Iterable, Iterator
from collections.abc import Mapping as Dictionary
from typing import Any, BinaryIO

from hopbytes.errors import FormatError, UnsupportedError
from hopbytes.formats.base import MARK, Content, Source
from hopbytes.text.open_input import COMPRESSIONS, MAX_BYTES, open_stream, path_text
from hopbytes.text.replace_file import Part, alone_in, gone_if_killed, says_written
from hopbytes.util.checks import whole


@contextlib.contextmanager
def open_source(
    path: str | os.PathLike[str], *, max_bytes: int = MAX_BYTES, options: Dictionary[str, Any] | None = None,
    workers: int = 1,
) -> Iterator[Source]:
    """Open a file for reading: ``-`` is standard input, gzip, xz and bzip2 are recognised by content."""
    path, max_bytes = path_text(path), whole("max_bytes", max_bytes, 1)
    with open_stream(path, max_bytes=max_bytes) as (name, stream, size):
        given = None if path == "-" else path
        yield Source(name, stream, given, dict(options or {}), size, max_bytes, workers)


def is_ours(path: str) -> bool:
    """Tell whether hopbytes wrote a file, or it is empty."""
    # Its first 4 KiB (after decompression) contain the mark, PDF has it in a comment at the end, and the file
    # system keeps it as an attribute of files of formats without comments.
    if os.path.getsize(path) == 0 or says_written(path):
        return True
    try:
        with open_source(path) as source:
            head = source.head()
    except FormatError:
        return False
    return MARK.encode() in head or (head.startswith(b"%PDF") and _ends_with_mark(path))


def _ends_with_mark(path: str) -> bool:
    with open(path, "rb") as file:
        file.seek(max(0, os.path.getsize(path) - 2 * len(MARK)))
        return MARK.encode() in file.read()


def may_write(path: str, force: bool = False, unmarked: str = "") -> None:
    """Raise UnsupportedError if a file exists that hopbytes did not recognisably write, unless `force`."""
    # `unmarked` is the name of a format whose files cannot contain the mark, else "".
    if force or not os.path.lexists(path) or not os.path.isfile(path) or is_ours(path):
        return
    why = f"{unmarked} files do not name their writer" if unmarked else f"it does not say {MARK!r}"
    raise UnsupportedError(f"{path} exists, and {why}: `force=True` overwrites")


def check_writable(path: str, force: bool = False, unmarked: str = "") -> None:
    """Raise UnsupportedError if a file cannot be written; arguments are those of :func:`may_write`."""
    if os.path.isdir(path):
        raise UnsupportedError(f"{path}: cannot be written: it is a folder, expected a file name")
    may_write(path, force, unmarked)
    folder = os.path.dirname(os.path.realpath(path))
    if not os.path.isdir(folder):
        raise UnsupportedError(f"{path}: cannot be written: the folder {folder} is missing")
    if not os.access(folder, os.W_OK) and os.statvfs(folder).f_flag & os.ST_RDONLY:
        raise UnsupportedError(f"{path}: cannot be written: {folder} lies on a read-only disk")
    if not os.access(folder, os.W_OK):
        raise UnsupportedError(f"{path}: cannot be written: no permission for the folder {folder}")


def atomic_write(files: Dictionary[str, Content], executable: Iterable[str] = ()) -> None:
    """Write several files so that each is either complete or untouched."""
    # The content goes into unnamed files, or into temporary ones beside the targets if the file system has no
    # unnamed ones. When all of it is written, the new files of one call replace the old ones together.
    parts: list[Part] = []
    scripts = set(executable)
    path = ""
    try:
        with gone_if_killed(parts):
            for path, content in files.items():
                if path == "-":
                    sys.stdout.buffer.writelines(_pieces(content))
                    sys.stdout.buffer.flush()
                    continue
                target = os.path.realpath(path)
                if os.path.exists(target) and not os.path.isfile(target):
                    with open(target, "wb") as device:
                        device.writelines(_pieces(content))
                    continue
                parts.append(Part(target, 0o777 if path in scripts else 0o666))
                with parts[-1].stream() as stored, _compressing(parts[-1].target, stored) as stream:
                    stream.writelines(_pieces(content))
            with alone_in([os.path.dirname(part.target) for part in parts]):
                for part in parts:
                    part.put_in_place()
    except BrokenPipeError:
        raise
    except OSError as error:
        name = "standard output" if path == "-" else path
        raise UnsupportedError(f"{name}: cannot be written: {error.strerror}") from None
    finally:
        for part in parts:
            part.discard()


def _pieces(content: Content) -> Iterable[bytes]:
    if isinstance(content, str):
        return (content.encode(),)
    return (content,) if isinstance(content, bytes) else content


@contextlib.contextmanager
def _compressing(target: str, stored: BinaryIO) -> Iterator[BinaryIO]:
    kind = next((c for c in COMPRESSIONS if target.lower().endswith(c.suffix)), None)
    if kind is None:
        yield stored
    elif kind.name == "gzip":
        # The header gets neither time nor name, so that the same content gives the same file.
        with gzip.GzipFile("", "wb", 6, stored, mtime=0) as stream:
            yield stream  # type: ignore[misc]
    else:
        with kind.opener(stored, "wb") as stream:
            yield stream
