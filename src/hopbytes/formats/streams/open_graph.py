"""Opening a graph on disk in blocks: the format is found as everywhere."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator

from hopbytes._frozen import frozen
from hopbytes.errors import FormatError, UnsupportedError
from hopbytes.formats.base import Format, formats
from hopbytes.formats.files import open_source
from hopbytes.formats.patterns.metis import Header, MetisRows, ignored, read_header
from hopbytes.formats.recognition import check_generator, format_named, recognise
from hopbytes.formats.streams.csr_stream import open_parhip
from hopbytes.formats.streams.graph_stream import BLOCK_ARCS, BLOCK_ROWS, GraphStream
from hopbytes.formats.streams.sorted_edges import sort_edges
from hopbytes.kernels.records import Slot
from hopbytes.kernels.streaming import Block
from hopbytes.text.open_input import MAX_BYTES, path_text
from hopbytes.util.leftovers import name_of_process, remove_left

NO_HEADER = Header(0, 0, 0, False, 0, False)


@frozen
class MetisStream(GraphStream):
    """A METIS file, also compressed; memory O(n) words for row pointers and loads, and a block of arcs."""

    header: Header = NO_HEADER
    max_bytes: int = 0

    @classmethod
    def open(cls, path: str, max_bytes: int) -> MetisStream:
        """Read the first line of a file."""
        with open_source(path, max_bytes=max_bytes) as source:
            header = read_header(source)
        return cls(
            path, header.n, 2 * header.edges, header.edge_weights, header.loads > 0,
            notices=tuple(ignored(header)), header=header, max_bytes=max_bytes,
        )

    def blocks(self) -> Iterator[Block]:
        """Yield the vertices in order; see :meth:`GraphStream.blocks`."""
        with open_source(self.name, max_bytes=self.max_bytes) as source:
            if read_header(source) != self.header:
                raise self.changed("the first line changed between two passes")
            rows = MetisRows(source, self.header, self.n, BLOCK_ARCS)
            first = arcs = 0
            for _ in rows.fill():
                row = int(rows.state[Slot.ROW])
                if row == first:  # a vertex with more arcs than a block holds
                    rows.resize(*rows.more())
                    continue
                yield from _blocks(rows, first)
                first, arcs = row, arcs + int(rows.indptr[row])
                _restart(rows)
            yield from _blocks(rows, first)
            rows.check_end(arcs + int(rows.indptr[int(rows.state[Slot.ROW])]))


def _blocks(rows: MetisRows, first: int) -> Iterator[Block]:
    """Yield the complete rows from `first` on, in blocks of not too many vertices."""
    last = int(rows.state[Slot.ROW])
    for begin in range(first, last, BLOCK_ROWS):
        end = min(begin + BLOCK_ROWS, last)
        arcs = slice(int(rows.indptr[begin]), int(rows.indptr[end]))
        yield Block(
            begin, rows.indptr[begin : end + 1] - arcs.start, rows.targets[arcs],
            rows.weights[arcs] if rows.header.edge_weights else None,
            rows.loads[begin:end] if rows.header.loads else None,
        )


def _restart(rows: MetisRows) -> None:
    """Move the arcs of the unfinished row to the start of the arrays."""
    row = int(rows.state[Slot.ROW])
    begin, end = int(rows.indptr[row]), int(rows.state[Slot.ARCS])
    rows.targets[: end - begin] = rows.targets[begin:end].copy()
    if rows.header.edge_weights:
        rows.weights[: end - begin] = rows.weights[begin:end].copy()
    rows.indptr[row] = rows.state[Slot.ROW_BEGIN] = 0
    rows.state[Slot.ARCS] = end - begin


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
        chosen = recognise(source, "pattern") if format is None else format_named(format, "pattern")
    kind = next((key for key in STREAMED if formats[key] is chosen), None)
    if kind is None:
        what = f"{name}: {_name_of(chosen)} files cannot be read in blocks, expected a METIS or ParHIP graph"
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


def _name_of(format: Format) -> str:
    return next((key for key, known in formats.items() if known is format), "these")


def _stamp(name: str) -> tuple[int, int, int]:
    """Return what tells whether a file was written meanwhile; named pipes have no content to compare."""
    status = os.stat(name)
    return status.st_ino, status.st_size, status.st_mtime_ns
