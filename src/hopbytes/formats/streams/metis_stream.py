"""METIS graph files in blocks."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from hopbytes import kernels
from hopbytes._arrays import Int64, UInt8
from hopbytes._frozen import frozen
from hopbytes.errors import FormatError
from hopbytes.formats.base import Source
from hopbytes.formats.files import open_source
from hopbytes.formats.parsing import raise_fault
from hopbytes.formats.patterns.graph_metis import Header, read_header
from hopbytes.formats.streams.graph_stream import BLOCK_ARCS, BLOCK_ROWS, GraphStream, parsed
from hopbytes.kernels.records import Slot, Status
from hopbytes.kernels.streaming import Block

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
        notices: tuple[str, ...] = ("vertex sizes are ignored",) if header.sizes else ()
        if header.loads > 1:
            notices += (f"of {header.loads} weights per vertex only the first is used, as the load",)
        return cls(
            path, header.n, 2 * header.edges, header.edge_weights, header.loads > 0, notices=notices,
            header=header, max_bytes=max_bytes,
        )

    def blocks(self) -> Iterator[Block]:
        """Yield the vertices in order; see :meth:`GraphStream.blocks`."""
        with open_source(self.name, max_bytes=self.max_bytes) as source:
            if read_header(source) != self.header:
                raise self.changed("the first line changed between two passes")
            yield from _Rows(source, self.header).blocks()


class _Rows:
    """The arrays of one block, which the parser fills."""

    def __init__(self, source: Source, header: Header) -> None:
        self.source, self.header = source, header
        self.indptr = np.zeros(header.n + 1, np.int64)
        self.targets = np.empty(BLOCK_ARCS, np.int32)
        self.weights = np.empty(BLOCK_ARCS if header.edge_weights else 0, np.int64)
        self.loads = np.empty(header.n if header.loads else 0, np.int64)
        self.first = self.arcs = 0
        self.state = np.zeros(len(Slot), np.int64)
        self.state[Slot.LINE] = header.line + 1
        self.state[Slot.VERTICES] = header.n
        self.state[Slot.SIZES] = header.sizes
        self.state[Slot.LOADS] = header.loads
        self.state[Slot.EDGE_WEIGHTS] = header.edge_weights

    def blocks(self) -> Iterator[Block]:
        """Yield a block whenever the array of arcs is full, and the rest."""

        def parse(text: UInt8, final: bool, state: Int64) -> int:
            return kernels.parse_metis(
                text, final, state, self.indptr, self.targets, self.weights, self.loads
            )

        for status, token in parsed(self.source, parse, self.state):
            if status is not Status.ROOM:
                raise_fault(
                    self.source, self.state, status, token, f"a neighbour from 1 to {self.header.n}"
                )
            if int(self.state[Slot.ROW]) == self.first:
                self._enlarge()
            else:
                yield from self._finished()
                self._restart()
        yield from self._finished()
        self._check_end()

    def _finished(self) -> Iterator[Block]:
        """Yield the complete rows, in blocks of not too many vertices."""
        last, first = int(self.state[Slot.ROW]), self.first
        self.arcs += int(self.indptr[last])
        while first < last:
            end = min(first + BLOCK_ROWS, last)
            begin, stop = int(self.indptr[first]), int(self.indptr[end])
            yield Block(
                first, self.indptr[first : end + 1] - begin, self.targets[begin:stop],
                self.weights[begin:stop] if self.header.edge_weights else None,
                self.loads[first:end] if self.header.loads else None,
            )
            first = end

    def _restart(self) -> None:
        """Move the arcs of the unfinished row to the start of the arrays."""
        row = int(self.state[Slot.ROW])
        begin, end = int(self.indptr[row]), int(self.state[Slot.ARCS])
        self.targets[: end - begin] = self.targets[begin:end].copy()
        if self.header.edge_weights:
            self.weights[: end - begin] = self.weights[begin:end].copy()
        self.first, self.indptr[row] = row, 0
        self.state[Slot.ARCS], self.state[Slot.ROW_BEGIN] = end - begin, 0

    def _enlarge(self) -> None:
        """Make room for a vertex with more arcs than a block holds."""
        if len(self.targets) >= 2 * self.header.edges:
            what = f"more neighbours than expected, 2 for each of the header's {self.header.edges} edges"
            raise FormatError(self.source.name, int(self.state[Slot.LINE]), what)
        self.targets.resize(2 * len(self.targets), refcheck=False)
        if self.header.edge_weights:
            self.weights.resize(len(self.targets), refcheck=False)

    def _check_end(self) -> None:
        name, rows, header = self.source.name, int(self.state[Slot.ROW]), self.header
        if rows < header.n:
            what = f"the file ends after {rows} vertices, expected {header.n}"
            raise FormatError(name, int(self.state[Slot.LINE]), what)
        if self.arcs != 2 * header.edges:
            odd = f"{self.arcs} neighbours, an odd number"
            found = odd if self.arcs % 2 else f"{self.arcs // 2} edges"
            what = f"{found}, expected {header.edges} edges as in the header (is the file complete?)"
            raise FormatError(name, header.line, what)
