"""Graphs in binary sections (row offsets, targets, weights) in blocks: ParHIP files, sorted edge lists."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from hopbytes._arrays import Array, Int32, Int64
from hopbytes._frozen import frozen
from hopbytes.errors import FormatError
from hopbytes.formats.files import open_source
from hopbytes.formats.parsing import filled
from hopbytes.formats.patterns.parhip import read_layout
from hopbytes.formats.streams.graph_stream import BLOCK_ARCS, BLOCK_ROWS, GraphStream
from hopbytes.kernels.streaming import Block


@frozen
class CsrStream(GraphStream):
    """Row offsets, targets and, if present, loads and weights, each in its section."""

    #: n + 1 positions of rows, in bytes from the start of the file, as ParHIP files have them
    offsets: NumberSection | None = None
    targets: NumberSection | None = None
    load_section: NumberSection | None = None
    weight_section: NumberSection | None = None
    first_target: int = 0  # value of the first offset, and bytes per target
    width: int = 4

    def loads(self) -> Int64 | None:
        """Return int64[n], read from their own section."""
        if self.load_section is None:
            return None
        with self.load_section.open() as reader:
            return reader.take_int64(self.n)

    def blocks(self) -> Iterator[Block]:
        """Yield the vertices in order; see :meth:`GraphStream.blocks`."""
        with contextlib.ExitStack() as stack:

            def reader(section: NumberSection | None) -> SectionReader | None:
                return None if section is None else stack.enter_context(section.open())

            targets, loads, weights = map(reader, (self.targets, self.load_section, self.weight_section))
            assert targets is not None
            for first, indptr in self._row_pointers():
                arcs = int(indptr[-1])
                yield Block(
                    first, indptr, self._take_targets(targets, arcs),
                    None if weights is None else weights.take_int64(arcs),
                    None if loads is None else loads.take_int64(len(indptr) - 1),
                )

    @property
    def _end(self) -> int:
        return self.first_target + self.width * self.arcs

    def _row_pointers(self) -> Iterator[tuple[int, Int64]]:
        """Yield the first vertex of every block and its row pointers, from 0."""
        assert self.offsets is not None
        with self.offsets.open() as reader:
            last, first = reader.take_int64(1), 0
            self._check_offset(0, int(last[0]), self.first_target)
            while first < self.n:
                rows = np.concatenate([last, reader.take_int64(min(BLOCK_ROWS, self.n - first))])
                if int(np.diff(rows).min()) < 0 or np.any((rows - self.first_target) % self.width):
                    wrong = (np.diff(rows) < 0) | ((rows[1:] - self.first_target) % self.width > 0)
                    row = first + 1 + int(np.argmax(wrong))
                    what = f"the offset of vertex {row} is {rows[row - first]}, expected ascending multiples"
                    raise FormatError(self.name, None, f"{what} of {self.width} bytes")
                last = rows[-1:]
                if int(last[0]) > self._end:
                    self._check_offset(first + len(rows) - 1, int(last[0]), self._end)
                pointers = (rows - rows[0]) // self.width
                for begin, end in _cuts(pointers):
                    yield first + begin, pointers[begin : end + 1] - pointers[begin]
                first += len(rows) - 1
            self._check_offset(self.n, int(last[0]), self._end)

    def _check_offset(self, row: int, found: int, expected: int) -> None:
        if found != expected:
            what = f"the offset of vertex {row} is {found}, expected {expected}"
            raise FormatError(self.name, None, f"{what} with {self.n} vertices and {self.arcs} arcs")

    def _take_targets(self, reader: SectionReader, arcs: int) -> Int32:
        targets = reader.take(arcs)
        if self.width == 8 and arcs and int(targets.max()) >= self.n:
            what = f"neighbour {targets.max()}, expected vertices from 0 to {self.n - 1}"
            raise FormatError(self.name, None, what)
        # Numbers of 32 bits are checked where they are used (stream_check).
        narrow: Int32 = targets.astype(np.int32) if self.width == 8 else targets.view(np.int32)
        return narrow


def _cuts(pointers: Int64) -> Iterator[tuple[int, int]]:
    """Yield ranges of rows with at most BLOCK_ARCS arcs, or one row."""
    begin, rows = 0, len(pointers) - 1
    while begin < rows:
        end = int(np.searchsorted(pointers, pointers[begin] + BLOCK_ARCS, "right")) - 1
        end = min(max(end, begin + 1), rows)
        yield begin, end
        begin = end


def open_parhip(path: str, max_bytes: int) -> CsrStream:
    """Return the graph in a file of the binary ParHIP layout, also compressed."""
    with open_source(path, max_bytes=max_bytes) as source:
        layout = read_layout(source)

    def section(what: str) -> NumberSection | None:
        if what not in layout.parts:
            return None
        dtype, _, begin = layout.parts[what]
        return NumberSection(path, begin, dtype, max_bytes, what)

    loads, weights = section("vertex weights"), section("edge weights")
    dtype, _, first = layout.parts["neighbours"]
    return CsrStream(
        path, layout.n, layout.arcs, weights is not None, loads is not None, offsets=section("offsets"),
        targets=section("neighbours"), load_section=loads, weight_section=weights, first_target=first,
        width=np.dtype(dtype).itemsize,
    )


SKIPPED_AT_ONCE = 1 << 24


@frozen
class NumberSection:
    """Consecutive numbers in a file."""

    path: str
    begin: int  # bytes before the first number, after decompression
    dtype: str  # type of the numbers, such as ``"<u4"``
    max_bytes: int
    what: str  # what the numbers are, for messages

    @contextlib.contextmanager
    def open(self) -> Iterator[SectionReader]:
        """Open the file at the first number; what precedes it in a compressed file is read and dropped."""
        with contextlib.ExitStack() as stack:
            source = stack.enter_context(open_source(self.path, max_bytes=self.max_bytes))
            stream: Any = source.stream
            if source.size is not None:
                stream = stack.enter_context(open(self.path, "rb", buffering=0))
                stream.seek(self.begin)
            else:
                left = self.begin
                while left and (got := len(stream.read(min(left, SKIPPED_AT_ONCE)))):
                    left -= got
            yield SectionReader(self, stream)


class SectionReader:
    """Reads the numbers of a section in order."""

    def __init__(self, section: NumberSection, stream: Any) -> None:
        self._section, self._stream = section, stream

    def take(self, count: int) -> Array:
        """Return the next numbers; FormatError where the file ends before."""
        section = self._section
        numbers = np.empty(count, section.dtype)
        if not filled(numbers, self._stream):
            what = f"the file ends inside the {section.what}, expected {count} more numbers there"
            raise FormatError(section.path, None, what)
        return numbers

    def take_int64(self, count: int) -> Int64:
        """Return the next numbers as int64; FormatError for one below 0 or of 2^63 and more."""
        numbers = self.take(count).astype(np.int64, copy=False)
        if count and int(numbers.min()) < 0:
            at = int(np.argmin(numbers))
            what = f"{self._section.what}: {numbers[at]}, expected a number from 0 to 2^63 - 1"
            raise FormatError(self._section.path, None, what)
        return numbers
