"""Graphs on disk in blocks: METIS and ParHIP files, and edge lists, which are sorted into files first."""

from __future__ import annotations

import contextlib
import os
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from collections.abc import Mapping as Dictionary
from dataclasses import field
from typing import Any

import numpy as np

from hopbytes import kernels
from hopbytes._arrays import Array, Int32, Int64, UInt8
from hopbytes._frozen import frozen
from hopbytes.errors import FormatError, ScaleError, UnsupportedError
from hopbytes.formats.base import Source, formats
from hopbytes.formats.files import open_source
from hopbytes.formats.parsing import check_tasks, filled, parsed, raise_fault
from hopbytes.formats.patterns.metis import Header, MetisRows, ignored, read_header
from hopbytes.formats.patterns.parhip import read_layout
from hopbytes.formats.patterns.tables import fields_of, first_arc
from hopbytes.formats.recognition import check_generator, format_named, recognise
from hopbytes.kernels.records import Slot, Status
from hopbytes.kernels.streaming import Block
from hopbytes.text.leftovers import name_of_process, remove_left
from hopbytes.text.open_input import MAX_BYTES, path_text
from hopbytes.util.integers import MAX_SUM, MAX_TASKS

#: Arcs of a block, unless a single vertex has more.
BLOCK_ARCS = 1 << 19
#: Vertices of a block, where they have few arcs.
BLOCK_ROWS = 1 << 18


@frozen
class GraphStream(ABC):
    """An undirected graph in a file; every pass reads it again."""

    name: str  # the file, for messages
    n: int  # number of vertices, and of stored arcs: two for every edge
    arcs: int
    weighted: bool = False  # whether there are weights of arcs, and of vertices
    loaded: bool = False
    #: the file holds single arcs, of which each became an edge: J counts half of the arcs
    doubled: bool = False
    notices: tuple[str, ...] = ()  # sentences for the user

    @abstractmethod
    def blocks(self) -> Iterator[Block]:
        """Yield the vertices in order; a block is valid until the next one is asked for."""
        # Raises FormatError where the file is malformed, or is no longer the one that was opened.

    def loads(self) -> Int64 | None:
        """Return int64[n], the loads of all vertices, by a pass through the file; None if all are 1."""
        if not self.loaded:
            return None
        loads = np.empty(self.n, np.int64)
        for block in self.blocks():
            if block.loads is not None:
                loads[block.first : block.first + block.rows] = block.loads
        return loads

    def changed(self, what: str) -> FormatError:
        """Return the error for a file that another program writes at the same time."""
        return FormatError(self.name, None, f"{what}, expected the file to stay as it is")


@frozen
class CsrStream(GraphStream):
    """Row offsets, neighbours and, if present, vertex weights and edge weights, each in its section."""

    #: offsets are n + 1 positions of rows, in bytes from the start of the file, as ParHIP files have them
    sections: Dictionary[str, NumberSection] = field(default_factory=dict)
    first_target: int = 0  # value of the first offset, and bytes per target
    width: int = 4

    def loads(self) -> Int64 | None:
        if not self.loaded:
            return None
        with self.sections["vertex weights"].open() as take:
            return take(self.n)

    def blocks(self) -> Iterator[Block]:
        with contextlib.ExitStack() as stack:
            others = [(what, section) for what, section in self.sections.items() if what != "offsets"]
            take = {what: stack.enter_context(section.open()) for what, section in others}
            for first, indptr in self._row_pointers():
                rows, arcs = len(indptr) - 1, int(indptr[-1])
                yield Block(
                    first, indptr, self._narrow(take["neighbours"](arcs)),
                    take["edge weights"](arcs) if self.weighted else None,
                    take["vertex weights"](rows) if self.loaded else None,
                )

    @property
    def _end(self) -> int:
        return self.first_target + self.width * self.arcs

    def _row_pointers(self) -> Iterator[tuple[int, Int64]]:
        """Yield the first vertex of every block and its row pointers, from 0."""
        with self.sections["offsets"].open() as take:
            last, first = take(1), 0
            self._check_offset(0, int(last[0]), self.first_target)
            while first < self.n:
                rows = np.concatenate([last, take(min(BLOCK_ROWS, self.n - first))])
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

    def _narrow(self, targets: Array) -> Int32:
        if self.width == 8 and len(targets) and int(targets.max()) >= self.n:
            what = f"neighbour {targets.max()}, expected vertices from 0 to {self.n - 1}"
            raise FormatError(self.name, None, what)
        # Numbers of 32 bits are checked where they are used (stream_check).
        narrow: Int32 = targets.astype(np.int32) if self.width == 8 else targets.view(np.int32)
        return narrow


def _cuts(pointers: Int64, most: int = BLOCK_ARCS) -> Iterator[tuple[int, int]]:
    """Yield ranges of rows with at most so many arcs, or one row."""
    begin, rows = 0, len(pointers) - 1
    while begin < rows:
        end = int(np.searchsorted(pointers, pointers[begin] + most, "right")) - 1
        end = min(max(end, begin + 1), rows)
        yield begin, end
        begin = end


def open_parhip(path: str, max_bytes: int) -> CsrStream:
    """Return the graph in a file of the binary ParHIP layout, also compressed."""
    with open_source(path, max_bytes=max_bytes) as source:
        layout = read_layout(source)
    sections = {
        what: NumberSection(path, begin, dtype, max_bytes, what)
        for what, (dtype, _, begin) in layout.parts.items()
    }
    dtype, _, first = layout.parts["neighbours"]
    return CsrStream(
        path, layout.n, layout.arcs, "edge weights" in sections, "vertex weights" in sections,
        sections=sections, first_target=first, width=np.dtype(dtype).itemsize,
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
    def open(self) -> Iterator[Callable[[int], Array]]:
        """Open the file at the first number, and yield a function that returns so many of the next ones."""
        # What precedes them in a compressed file is read and dropped.
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
            yield lambda count: self._take(stream, count)

    def _take(self, stream: Any, count: int) -> Array:
        """Return the next numbers: neighbours as they are, others as int64, none of which may be below 0."""
        numbers: Array = np.empty(count, self.dtype)
        if not filled(numbers, stream):
            what = f"the file ends inside the {self.what}, expected {count} more numbers there"
            raise FormatError(self.path, None, what)
        if self.what == "neighbours":
            return numbers
        numbers = numbers.astype(np.int64, copy=False)
        if count and int(numbers.min()) < 0:
            what = f"{self.what}: {numbers.min()}, expected a number from 0 to 2^63 - 1"
            raise FormatError(self.path, None, what)
        return numbers


#: Arcs that are sorted in memory at once, 24 bytes each and as much for sorting.
RUN_ARCS = 1 << 21


def sort_edges(path: str, max_bytes: int, folder: str, run_arcs: int = RUN_ARCS) -> CsrStream:
    """Sort an edge list by vertex, both directions of every edge, into files in `folder`."""
    # Volumes of repeated arcs and of both directions are summed; arcs of tasks to themselves are left out.
    # Memory is O(n + `run_arcs`); the files take 32 bytes per arc for a while, then 24.
    runs: list[tuple[str, int]] = []
    n = 0
    for pairs, volumes, seen in _sorted_runs(path, max_bytes, run_arcs):
        n = seen
        name = os.path.join(folder, f"run{len(runs)}")
        np.stack([pairs, volumes]).tofile(name)
        runs += [(name, len(pairs))] if len(pairs) else []
    degrees = np.zeros(n, np.int64)
    targets_name, weights_name = (os.path.join(folder, part) for part in ("targets", "weights"))
    with open(targets_name, "wb") as targets, open(weights_name, "wb") as weights:
        for pairs, volumes in _merged(runs, n, run_arcs) if runs else ():
            degrees += np.bincount(pairs >> 32, minlength=n)
            (pairs & 0xFFFFFFFF).astype("<u4").tofile(targets)
            volumes.tofile(weights)
    for name, _ in runs:
        os.unlink(name)
    stored = int(degrees.sum())
    offsets_name = os.path.join(folder, "offsets")
    np.concatenate([[0], np.cumsum(4 * degrees)]).astype("<i8").tofile(offsets_name)
    files = (
        ("offsets", offsets_name, "<i8"), ("neighbours", targets_name, "<u4"),
        ("edge weights", weights_name, "<i8"),
    )  # fmt: skip
    sections = {  # an empty file cannot be opened, and nothing would be read of it
        what: NumberSection(name if os.path.getsize(name) else offsets_name, 0, kind, 2**62, what)
        for what, name, kind in files
    }
    notices = ["the edge list was sorted into temporary files"]
    if stored and not degrees[0]:
        notices.append("task 0 exchanges nothing: tasks count from 0; is the file numbered from 1?")
    return CsrStream(
        path, n, stored, True, False, True, tuple(notices), sections=sections, first_target=0, width=4
    )


def _sorted_runs(path: str, max_bytes: int, run_arcs: int) -> Iterator[tuple[Int64, Int64, int]]:
    """Yield sorted pairs with their volumes, and the number of tasks seen so far."""
    with open_source(path, max_bytes=max_bytes) as source:
        line, n, text = first_arc(source)
        columns = len(fields_of(text))
        if columns == 0:
            yield np.empty(0, np.int64), np.empty(0, np.int64), n or 0
            return
        limit = MAX_TASKS - 1 if n is None else n - 1
        seen, arcs, total = 0 if n is None else n, 0, 0
        for table in _tables(source, columns, line, text, limit, max(1, run_arcs // 2)):
            sources, targets = table[:, 0], table[:, 1]
            volumes = table[:, 2] if columns > 2 else np.ones(len(table), np.int64)
            total += int(volumes.astype(np.float64).sum())
            if 2 * total > MAX_SUM // 2:
                factor = 1 + total // 2**60
                raise ScaleError(f"{path}: volumes sum to more than 2^61: divide them by {factor} or more")
            arcs += len(table)
            if n is None:
                seen = max(seen, int(table[:, :2].max()) + 1)
                check_tasks(source, None, seen, arcs)
            other = sources != targets
            pairs = np.concatenate([sources << 32 | targets, targets << 32 | sources])
            yield *_summed(pairs[np.tile(other, 2)], np.tile(volumes, 2)[np.tile(other, 2)]), seen


def _tables(source: Source, columns: int, line: int, start: bytes, limit: int, rows: int) -> Iterator[Int64]:
    """Yield lines of numbers, int64[at most rows, columns]."""
    state = np.zeros(len(Slot), np.int64)
    state[Slot.LINE], state[Slot.COLUMNS] = line, columns
    state[Slot.TASK_COLUMNS], state[Slot.TASK_LIMIT] = 2, limit
    values = np.empty(rows * columns, np.int64)

    def parse(text: UInt8, final: bool, state: Int64) -> int:
        return kernels.parse_table(text, final, state, values)

    for status, token in parsed(source, parse, state, start):
        if status is not Status.ROOM:
            expected = f"0 to {limit}" if status is Status.OUT_OF_RANGE else f"{columns} in each line"
            raise_fault(source, state, status, token, expected)
        yield values.reshape(-1, columns)
        state[Slot.ARCS] = 0
    yield values[: int(state[Slot.ARCS])].reshape(-1, columns)


def _summed(pairs: Int64, volumes: Int64) -> tuple[Int64, Int64]:
    """Return ascending pairs without repetitions, and their sums of volumes."""
    order = np.argsort(pairs, kind="stable")
    pairs, volumes = pairs[order], volumes[order]
    if not len(pairs):
        return pairs, volumes
    starts = np.flatnonzero(np.concatenate([[True], pairs[1:] != pairs[:-1]]))
    return pairs[starts], np.add.reduceat(volumes, starts)


def _merged(runs: list[tuple[str, int]], n: int, run_arcs: int) -> Iterator[tuple[Int64, Int64]]:
    """Yield all arcs in ascending order, those of a vertex together; memory O(n + run_arcs)."""
    degrees = np.zeros(n, np.int64)
    for name, size in runs:
        degrees += np.bincount(np.fromfile(name, np.int64, size) >> 32, minlength=n)
    for begin, end in _cuts(np.concatenate([[0], np.cumsum(degrees)]), run_arcs):
        parts = []
        for name, size in runs:
            pairs = np.memmap(name, np.int64, "r", shape=size)  # of which a search reads some pages only
            first, last = np.searchsorted(pairs, [begin << 32, end << 32]).tolist()
            parts.append([
                np.fromfile(name, np.int64, last - first, offset=8 * (column * size + first))
                for column in (0, 1)
            ])  # fmt: skip
        yield _summed(*np.concatenate(parts, axis=1))


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
    """Open a graph that is read in blocks, as often as needed."""
    name = path_text(path)
    if name == "-":
        raise UnsupportedError("standard input cannot be read twice, expected a file to stream from")
    check_generator(name)
    with open_source(name, max_bytes=max_bytes) as source:
        chosen = recognise(source, "pattern") if format is None else format_named(format, "pattern")
    kind = next((key for key in STREAMED if formats[key] is chosen), None)
    if kind is None:
        known = formats.name_of(chosen) or "these"
        what = f"{name}: {known} files cannot be read in blocks, expected a METIS or ParHIP graph"
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


def _stamp(name: str) -> tuple[int, int, int]:
    """Return what tells whether a file was written meanwhile; named pipes have no content to compare."""
    status = os.stat(name)
    return status.st_ino, status.st_size, status.st_mtime_ns
