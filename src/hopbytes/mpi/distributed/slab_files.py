"""Graphs on disk, of which every process reads its rows only."""

from __future__ import annotations

import io
import os

import numpy as np

from hopbytes._arrays import Array, Int64
from hopbytes.errors import FormatError, HopbytesError, UnsupportedError
from hopbytes.formats.base import HEAD_BYTES, Source, formats
from hopbytes.formats.patterns.metis import Header, read_header
from hopbytes.formats.patterns.parhip import HEADER_BYTES, Layout, read_layout
from hopbytes.formats.recognition import fits
from hopbytes.mpi.distributed.file_ranges import RangeFile
from hopbytes.mpi.distributed.member import Comm, Member
from hopbytes.mpi.distributed.slab import Slab, first_row
from hopbytes.mpi.distributed.slab_generators import GENERATORS, generated_slab
from hopbytes.mpi.distributed.slab_hdf5 import hdf5_rows, is_hdf5

#: Bytes of text that are parsed at once.
TEXT_AT_ONCE = 1 << 23
_DIGITS = np.zeros(256, np.bool_)
_DIGITS[ord("0") : ord("9") + 1] = True
_ALLOWED = _DIGITS.copy()
_ALLOWED[[ord(each) for each in " \t\r\n"]] = True


def read_slab(comm: Comm, graph: str) -> Slab:
    """Return the rows of this process of a graph on disk, or of a generated one; collective.

    Parameters
    ----------
    comm : mpi4py.MPI.Intracomm
    graph : str
        A METIS or a ParHIP file, not compressed, an HDF5 file (``mesh.h5``, ``mesh.h5:GROUP``, see
        :func:`hopbytes.mpi.distributed.slab_hdf5.hdf5_rows`), or a generator: ``grid:512x512``,
        ``grid:64x64x64`` or ``geometric:100000``.

    Raises
    ------
    HopbytesError
        Raised on all processes: the file is malformed, cut short or compressed.

    Notes
    -----
    Rows of ParHIP and HDF5 files are divided by vertices and arcs, those of METIS files by bytes.
    O((n + m) / P).
    """
    member = Member(comm)
    if graph.partition(":")[0] in GENERATORS:
        return generated_slab(graph, member.rank, member.size)  # an error is one on all processes
    kind = ""
    fault: BaseException | None = None
    try:
        kind = "hdf5" if is_hdf5(graph) else _kind(graph)
        if kind == "hdf5":
            slab = hdf5_rows(graph, member.rank, member.size)
        elif kind == "parhip":
            slab = _parhip_rows(graph, member.rank, member.size)
        else:
            rows = _TextRows(graph, member.rank, member.size)
    except (HopbytesError, OSError, MemoryError) as error:
        fault = error
    member.agree(fault)
    member.same("format of the graph", kind)
    return rows.slab(member) if kind == "metis" else slab


def _kind(path: str) -> str:
    with RangeFile(path) as file:
        head = file.bytes(0, min(file.size, HEAD_BYTES))
    suffix = os.path.splitext(path)[1].lower()
    for kind in ("parhip", "metis"):
        if suffix in formats[kind].suffixes or fits(formats[kind], path, head):
            return kind
    what = "expected a METIS or ParHIP graph; `hopbytes convert` writes them (HDF5 files end with .h5)"
    raise UnsupportedError(f"{path}: {what}")


def _parhip_rows(path: str, rank: int, size: int) -> Slab:
    with RangeFile(path) as file:
        header = _buffered(file.bytes(0, min(HEADER_BYTES, file.size)))
        layout = read_layout(Source(path, header, path, {}, file.size))

        def arcs_before(vertex: int) -> int:
            return int(_row_offsets(file, layout, vertex, vertex + 1)[0])

        first, end = (first_row(layout.n, layout.arcs, arcs_before, part, size) for part in (rank, rank + 1))
        offsets = _row_offsets(file, layout, first, end + 1)
        indptr = offsets - offsets[0]
        if len(indptr) > 1 and int(np.diff(indptr).min()) < 0:
            row = first + int(np.argmin(np.diff(indptr)))
            raise FormatError(path, None, f"the offset of vertex {row + 1} is below that of vertex {row}")
        low, high = int(offsets[0]), int(offsets[-1])
        if not 0 <= low <= high <= layout.arcs:
            raise FormatError(path, None, f"offsets of the rows {first} to {end} are outside of the file")

        def section(what: str, begin: int, stop: int) -> Int64 | None:
            if what not in layout.parts:
                return None
            dtype, _, place = layout.parts[what]
            found: Array = file.numbers(dtype, place, begin, stop - begin).astype(np.int64)
            return found

        targets = section("neighbours", low, high)
        assert targets is not None
        weights = section("edge weights", low, high)
        return Slab(indptr, targets, weights, section("vertex weights", first, end))


def _row_offsets(file: RangeFile, layout: Layout, first: int, end: int) -> Int64:
    """Return the numbers of the first arcs of rows."""
    dtype, _, place = layout.parts["offsets"]
    kind, _, begin = layout.parts["neighbours"]
    width = np.dtype(kind).itemsize
    offsets = file.numbers(dtype, place, first, end - first).astype(np.int64) - begin
    if np.any(offsets % width):
        what = f"the offset of vertex {first + int(np.argmax(offsets % width > 0))} is no multiple of {width}"
        raise FormatError(file.path, None, f"{what} bytes behind the first neighbour")
    found: Int64 = offsets // width
    return found


class _TextRows:
    """The lines of a METIS file whose first bytes are in the range of a process."""

    def __init__(self, path: str, rank: int, size: int) -> None:
        with RangeFile(path) as file:
            self.path, self.header, data = path, *_text_header(file)
            span = file.size - data
            begin, end = (file.line_start(data + span * part // size, data) for part in (rank, rank + 1))
            degrees, numbers = [], []
            while begin < end:
                stop = min(file.line_start(min(begin + TEXT_AT_ONCE, end), data), end)
                counts, values = self._parsed(file.bytes(begin, stop - begin))
                degrees.append(counts)
                numbers.append(values)
                begin = stop
        self.counts = np.concatenate([np.empty(0, np.int64), *degrees])
        self.numbers = np.concatenate([np.empty(0, np.int64), *numbers])

    def _parsed(self, text: bytes) -> tuple[Int64, Int64]:
        """Return the number of words of every line, and all numbers."""
        if b"%" in text:
            text = b"".join(line for line in text.splitlines(keepends=True) if not line.startswith(b"%"))
        if text and not text.endswith(b"\n"):
            text += b"\n"
        letters = np.frombuffer(text, np.uint8)
        if not np.all(_ALLOWED[letters]):
            at = int(np.argmin(_ALLOWED[letters]))
            wrong = text[at : at + 20].split(None, 1)[0].decode("utf-8", "replace")
            raise FormatError(self.path, None, f"{wrong!r}, expected whole numbers >= 0")
        digit = _DIGITS[letters]
        starts = digit.copy()
        starts[1:] &= ~digit[:-1]
        ends = np.flatnonzero(letters == ord("\n"))
        if len(letters) > 18 and bool(np.any(np.diff(np.flatnonzero(~digit), prepend=-1) > 19)):
            raise FormatError(self.path, None, "a number of more than 18 digits")
        words = np.cumsum(starts)[ends] if len(ends) else np.empty(0, np.int64)
        if len(ends) == 0:
            return np.empty(0, np.int64), np.empty(0, np.int64)
        counts = np.diff(words, prepend=0).astype(np.int64)
        values = np.fromstring(text, np.int64, sep=" ") if words[-1] else np.empty(0, np.int64)
        return counts, values

    def slab(self, member: Member) -> Slab:
        """Return the rows, once all processes know how many lines precede theirs; collective."""
        header, lines = self.header, member.all(len(self.counts))
        first = sum(lines[: member.rank])
        keep = max(0, min(len(self.counts), header.n - first))
        fault: FormatError | None = None
        slab = Slab(np.zeros(1, np.int64), np.empty(0, np.int64))
        try:
            if sum(lines) < header.n:
                what = f"the file ends after {sum(lines)} vertices, expected {header.n}"
                raise FormatError(self.path, None, f"{what} (is the file complete?)")
            if int(self.counts[keep:].sum()):
                raise FormatError(self.path, None, f"more than {header.n} lines, expected one per vertex")
            slab = self._rows(first, keep)
        except FormatError as error:
            fault = error
        member.agree(fault)
        arcs = member.total(len(slab.targets))
        if arcs != 2 * header.edges:
            what = f"{arcs} neighbours, expected {2 * header.edges} for {header.edges} edges"
            raise FormatError(self.path, header.line, what)
        return slab

    def _rows(self, first: int, keep: int) -> Slab:
        header, counts = self.header, self.counts[:keep]
        before, each = header.sizes + header.loads, 1 + header.edge_weights
        bad = (counts < before) | ((counts - before) % each > 0)
        if np.any(bad):
            row = int(np.argmax(bad))
            what = f"vertex {first + row + 1} has {counts[row]} numbers, expected {before} and then"
            raise FormatError(self.path, None, f"{what} {'pairs' if each == 2 else 'neighbours'}")
        begins = np.cumsum(counts) - counts
        loads = self.numbers[begins + header.sizes] if header.loads else None
        arc = np.ones(len(self.numbers), np.bool_)
        for word in range(before):
            arc[begins + word] = False
        words = self.numbers[arc]
        targets, weights = (words[::2] - 1, words[1::2].copy()) if each == 2 else (words - 1, None)
        indptr = np.concatenate([[0], np.cumsum((counts - before) // each)]).astype(np.int64)
        outside = np.flatnonzero((targets < 0) | (targets >= header.n))
        empty = np.empty(0, np.int64) if weights is None else np.flatnonzero(weights < 1)
        for wrong, expected in ((outside, f"neighbours from 1 to {header.n}"), (empty, "weights above 0")):
            if len(wrong):
                vertex = first + int(np.searchsorted(indptr, wrong[0], "right"))
                found = targets[wrong[0]] + 1 if weights is None or wrong is outside else weights[wrong[0]]
                raise FormatError(self.path, None, f"vertex {vertex}: {found}, expected {expected}")
        return Slab(indptr, np.ascontiguousarray(targets), weights, loads)


def _text_header(file: RangeFile) -> tuple[Header, int]:
    """Return the header and the place behind its line."""
    at = 0
    while file.bytes(at, min(1, file.size - at)) == b"%":
        at = file.line_start(at + 1, 0)
    end = file.line_start(at + 1, 0)
    source = Source(file.path, _buffered(file.bytes(0, end)), file.path, {}, file.size)
    return read_header(source), end


def _buffered(data: bytes) -> io.BufferedReader:
    return io.BufferedReader(io.BytesIO(data))
