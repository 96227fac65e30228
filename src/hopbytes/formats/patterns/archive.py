"""Archives of NumPy arrays (``.npz``), whose sizes and types are checked before memory is allocated."""

from __future__ import annotations

import io
import tokenize
import zipfile
import zlib
from typing import Any

import numpy as np
from numpy.lib import format as npy

from hopbytes._arrays import Array
from hopbytes.errors import FormatError
from hopbytes.formats.base import Source
from hopbytes.text.open_input import check_expansion

#: Exceptions that zipfile and NumPy raise on damaged or malicious content.
FAULTS = (
    zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError, TypeError, SyntaxError, KeyError,
    RuntimeError, NotImplementedError, OverflowError, RecursionError, tokenize.TokenError,
)


def load_members(source: Source) -> dict[str, Array | bytes]:
    """Return the arrays (``NAME.npy`` as NAME) and other files of an archive.

    Pickled objects are refused, shapes must match the number of bytes in the archive, and the decompressed
    size must not exceed the limit of the source.
    """
    limit = source.max_bytes
    data = io.BytesIO(source.stream.read())
    try:
        with zipfile.ZipFile(data) as archive:
            total = sum(info.file_size for info in archive.infolist())
            if total > limit:
                what = f"{total} bytes after decompression, expected at most {limit}"
                raise FormatError(source.name, None, what)
            check_expansion(source.name, data.getbuffer().nbytes, total, limit)
            return {
                info.filename.removesuffix(".npy"): _member(source.name, archive, info)
                for info in archive.infolist()
            }
    except FAULTS as error:
        what = f"a damaged archive ({str(error)[:200]}), expected arrays of NumPy"
        raise FormatError(source.name, None, " ".join(what.split())) from None


def _member(name: str, archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> Array | bytes:
    with archive.open(info) as stream:
        if not info.filename.endswith(".npy"):
            return stream.read()
        version = npy.read_magic(stream)
        if version == (1, 0):
            shape, fortran, dtype = npy.read_array_header_1_0(stream)
        elif version == (2, 0):
            shape, fortran, dtype = npy.read_array_header_2_0(stream)
        else:
            raise ValueError(f"array version {version}")
        if dtype.hasobject or dtype.names is not None:
            raise FormatError(name, None, f"{info.filename} holds {dtype}, expected plain numbers")
        content = stream.read()
    count = int(np.prod([int(size) for size in shape], dtype=object)) if shape else 1
    if count < 0 or count * dtype.itemsize != len(content):
        what = f"{len(content)} bytes, expected {count} numbers of {dtype.itemsize} bytes"
        raise FormatError(name, None, f"{info.filename}: {what}")
    array = np.frombuffer(content, dtype) if len(content) else np.empty(0, dtype)
    return array.reshape(shape, order="F" if fortran else "C")


def pack(members: dict[str, Array | bytes]) -> bytes:
    """Return an archive of arrays and files; the same content always gives the same bytes."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", allowZip64=True) as archive:
        for name, content in members.items():
            # ZipInfo's default date is constant. Text is not compressed, so that the mark is readable.
            info = zipfile.ZipInfo(name if isinstance(content, bytes) else name + ".npy")
            if isinstance(content, bytes):
                archive.writestr(info, content)
                continue
            info.compress_type = zipfile.ZIP_DEFLATED
            with archive.open(info, "w", force_zip64=True) as stream:
                npy.write_array(stream, np.ascontiguousarray(content), allow_pickle=False)
    return out.getvalue()


def integers(source: Source, name: str, value: Array | bytes | None, dtype: Any) -> Array | None:
    """Return a 1-d array as another integer type, None for None; FormatError if numbers do not fit."""
    if value is None:
        return None
    if isinstance(value, bytes) or value.ndim != 1 or (value.size and value.dtype.kind not in "iub"):
        raise FormatError(source.name, None, f"{name} has another type, expected a 1-d array of integers")
    info = np.iinfo(dtype)
    if value.size and (int(value.min()) < 0 or int(value.max()) > info.max):
        what = f"{name} has values from {value.min()} to {value.max()}, expected 0..{info.max}"
        raise FormatError(source.name, None, what)
    return np.array(value, dtype=dtype)
