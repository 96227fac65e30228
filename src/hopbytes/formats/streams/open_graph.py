"""Opening a graph on disk in blocks: the format is found as everywhere."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator

from hopbytes.errors import FormatError, UnsupportedError
from hopbytes.formats.base import Format, formats
from hopbytes.formats.files import open_source
from hopbytes.formats.recognition import check_generator, format_named, recognise
from hopbytes.formats.streams.csr_stream import open_parhip
from hopbytes.formats.streams.graph_stream import GraphStream
from hopbytes.formats.streams.metis_stream import MetisStream
from hopbytes.formats.streams.sorted_edges import sort_edges
from hopbytes.text.open_input import MAX_BYTES, path_text
from hopbytes.util.leftovers import name_of_process, remove_left

STREAMED = ("metis", "parhip", "edges")


@contextlib.contextmanager
def open_graph(
    path: str | os.PathLike[str], format: str | None = None, *, max_bytes: int = MAX_BYTES
) -> Iterator[GraphStream]:
    """Open a graph that is read in blocks, as often as needed.

    >>> with open_graph("mesh.graph") as stream:   # doctest: +SKIP
    ...     sum(block.rows for block in stream.blocks())
    """
    name = path_text(path)
    if name == "-":
        raise UnsupportedError("standard input cannot be read twice, expected a file to stream from")
    check_generator(name)
    with open_source(name, max_bytes=max_bytes) as source:
        found = recognise(source, "pattern") if format is None else format_named(format, "pattern")
    kind = next((key for key in STREAMED if formats[key] is found), None)
    if kind is None:
        what = f"{name}: {_name_of(found)} files cannot be read in blocks, expected a METIS or ParHIP graph"
        raise UnsupportedError(f"{what} or an edge list; `hopbytes write` with `symmetrize` makes one")
    before = _stamp(name)
    if kind == "metis":
        yield MetisStream.open(name, max_bytes)
    elif kind == "parhip":
        yield open_parhip(name, max_bytes)
    else:
        remove_left(tempfile.gettempdir(), "hopbytes-edges-")
        with tempfile.TemporaryDirectory(prefix=name_of_process("hopbytes-edges-")) as folder:
            yield sort_edges(name, max_bytes, folder)
        return
    if _stamp(name) != before:
        raise FormatError(name, None, "the file changed while it was read, expected it to stay as it is")


def _name_of(found: Format) -> str:
    return next((key for key, each in formats.items() if each is found), "these")


def _stamp(name: str) -> tuple[int, int, int]:
    """Return what tells whether a file was written meanwhile; named pipes have no content to compare."""
    status = os.stat(name)
    return status.st_ino, status.st_size, status.st_mtime_ns
