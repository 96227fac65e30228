"""A matrix of numbered colours as a PNG image, written without other packages."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence

import numpy as np

from hopbytes._arrays import UInt8
from hopbytes.pictures.canvas.palette import rgb

#: Pixels of an image at least, so that viewers which smooth enlarged images still show sharp cells.
SIDE = 1024


def png_of(cells: UInt8, colours: Sequence[str], *, see_through: bool = False) -> bytes:
    """Return an image with a palette.

    Cells are enlarged to whole numbers of pixels. Source: PNG specification, third edition, W3C 2025.

    >>> png_of(np.zeros((2, 2), np.uint8), ["#ffffff"])[:4]
    b'\\x89PNG'
    """
    rows, columns = cells.shape
    enlarged = max(1, -(-SIDE // max(rows, columns)))
    pixels = np.repeat(cells, enlarged, axis=1)
    lines = np.zeros((rows, columns * enlarged + 1), np.uint8)  # the first byte of a line is its filter: none
    lines[:, 1:] = pixels
    data = np.repeat(lines, enlarged, axis=0).tobytes()
    header = struct.pack(">IIBBBBB", columns * enlarged, rows * enlarged, 8, 3, 0, 0, 0)
    palette = bytes(part for colour in colours for part in rgb(colour))
    clear = [(b"tRNS", b"\0")] if see_through else []
    pixels_stored = (b"IDAT", zlib.compress(data, 9))
    chunks = [(b"IHDR", header), (b"PLTE", palette), *clear, pixels_stored, (b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(name, content) for name, content in chunks)


def _chunk(name: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))
