"""Graphs and mappings on disk, of which every process reads or writes its own part only."""

from __future__ import annotations

import ast
import io
import itertools
import math
import os
import re
from collections.abc import Callable, Container, Iterator
from typing import Any

import numpy as np

from hopbytes._arrays import Array, Float64, Int32, Int64
from hopbytes.errors import FormatError, UnsupportedError, damaged
from hopbytes.formats.base import HEAD_BYTES, Source, formats
from hopbytes.formats.files import check_writable
from hopbytes.formats.patterns.metis import Header, MetisRows, read_header
from hopbytes.formats.patterns.parhip import read_layout
from hopbytes.formats.recognition import fits
from hopbytes.kernels.records import Slot
from hopbytes.mpi.distributed.rows import DistributedMapping, Member, Slab, first_row, row_pointers
from hopbytes.mpi.processes import Comm
from hopbytes.text.leftovers import name_of_process, remove_left
from hopbytes.text.open_input import COMPRESSIONS
from hopbytes.util.random_numbers import hashes_of

GENERATORS = ("grid", "geometric")
#: Points of a geometric graph per cell, whose side is the radius, and so a third of the mean degree.
POINTS_PER_CELL = 3
#: FILE.h5, or FILE.h5:GROUP.
NAME = re.compile(r"(?P<path>.*\.(?:h5|hdf5|hdf|h5ad))(?::(?P<group>.*))?", re.IGNORECASE | re.DOTALL)
#: Names of datasets: those of METIS, of SciPy's compressed rows, and plain words.
NAMES = {
    "rows": ("xadj", "indptr", "rowptr", "offsets"),
    "neighbours": ("adjncy", "indices", "targets", "colidx"),
    "weights": ("adjwgt", "weights", "data", "volumes"),
    "loads": ("vwgt", "loads", "vertex_weights"),
}
#: Names of sections of ParHIP files.
SECTIONS = {
    "rows": "offsets", "neighbours": "neighbours", "weights": "edge weights", "loads": "vertex weights"
}  # fmt: skip
#: Bytes of text that are counted at once.
TEXT_AT_ONCE = 1 << 23
COMMENT = re.compile(rb"^[ \t\r]*%", re.MULTILINE)
#: Length of the header of a binary file, and lines that are made at once.
HEADER, LINES_AT_ONCE = 128, 1 << 18
MAGIC = b"\x93NUMPY\x01\x00"


def read_slab(comm: Comm, graph: str) -> Slab:
    """Return the rows of this process of a graph on disk, or of a generated one; collective.

    `graph` is a METIS or a ParHIP file, not compressed, an HDF5 file (``mesh.h5``, ``mesh.h5:GROUP``), or a
    generator: ``grid:512x512``, ``grid:64x64x64`` or ``geometric:100000``. Rows of ParHIP and HDF5 files are
    divided by vertices and arcs, those of METIS files by bytes. O((n + m) / P). HopbytesError is raised on
    all processes if the file is malformed, cut short or compressed.
    """
    member = Member(comm)
    if graph.partition(":")[0] in GENERATORS:
        return generated_slab(graph, member.rank, member.size)  # an error is one on all processes
    kind = member.agreed(lambda: _kind(graph))
    member.same("format of the graph", kind)
    if kind == "metis":
        return _metis_rows(member, graph)
    read = hdf5_rows if kind == "hdf5" else _parhip_rows
    return member.agreed(lambda: read(graph, member.rank, member.size))


def _kind(path: str) -> str:
    if NAME.fullmatch(path):
        return "hdf5"
    with RangeFile(path) as file:
        head = file.bytes(0, min(file.size, HEAD_BYTES))
    suffix = os.path.splitext(path)[1].lower()
    for kind in ("parhip", "metis"):
        if suffix in formats[kind].suffixes or fits(formats[kind], path, head):
            return kind
    what = "expected a METIS or ParHIP graph; `hopbytes write` makes them (HDF5 files end with .h5)"
    raise UnsupportedError(f"{path}: {what}")


def _divided_rows(
    path: str, n: int, arcs: int, present: Container[str], numbers: Callable[[str, int, int], Int64],
    rank: int, size: int,
) -> Slab:
    """Return the rows of one of `size` processes, of which every one has about as many vertices and arcs."""
    # `numbers` reads a range of "rows" (the first arc of each, and the number of all), "neighbours" …
    first, end = (
        first_row(n, arcs, lambda vertex: int(numbers("rows", vertex, vertex + 1)[0]), part, size)
        for part in (rank, rank + 1)
    )
    begins = numbers("rows", first, end + 1)
    low, high, degrees = int(begins[0]), int(begins[-1]), np.diff(begins)
    if np.any(degrees < 0):
        row = first + int(np.argmin(degrees))
        raise FormatError(path, None, f"the offset of vertex {row + 1} is below that of vertex {row}")
    if not 0 <= low <= high <= arcs:
        raise FormatError(path, None, f"offsets of the rows {first} to {end} are outside of the file")
    targets = numbers("neighbours", low, high)
    if len(targets) and not 0 <= int(targets.min()) <= int(targets.max()) < n:
        wrong = targets[(targets < 0) | (targets >= n)][0]
        raise FormatError(path, None, f"neighbour {wrong}, expected numbers from 0 to {n - 1}")
    weights = numbers("weights", low, high) if "weights" in present else None
    return Slab(begins - low, targets, weights, numbers("loads", first, end) if "loads" in present else None)


def _parhip_rows(path: str, rank: int, size: int) -> Slab:
    with RangeFile(path) as file:
        file.seek(0)
        layout = read_layout(Source(path, file, path, {}, file.size))
        parts = {name: layout.parts[word] for name, word in SECTIONS.items() if word in layout.parts}
        kind, _, origin = parts["neighbours"]
        width = np.dtype(kind).itemsize

        def numbers(what: str, first: int, end: int) -> Int64:
            dtype, _, start = parts[what]
            values: Int64 = file.numbers(dtype, start, first, end - first).astype(np.int64)
            if what != "rows":
                return values
            rest = (values - origin) % width  # rows begin at bytes of the file
            if np.any(rest):
                vertex = first + int(np.argmax(rest > 0))
                what = f"the offset of vertex {vertex} is not a multiple of {width} bytes"
                raise FormatError(path, None, f"{what} behind the first neighbour")
            return (values - origin) // width

        return _divided_rows(path, layout.n, layout.arcs, parts, numbers, rank, size)


def _metis_rows(member: Member, path: str) -> Slab:
    """Return the rows whose lines begin in the own range of bytes of a METIS file; collective."""
    header, begin, end, lines, own = member.agreed(lambda: _own_lines(path, member.rank, member.size))
    counts = member.all((lines, own))
    lines_before, first = (sum(column) for column in zip(*counts[: member.rank], (0, 0), strict=True))
    first, last = min(first, header.n), min(first + own, header.n)
    if (rows := sum(own for _, own in counts)) < header.n:
        what = f"the file ends after {rows} vertices, expected {header.n} (is the file complete?)"
        raise FormatError(path, None, what)

    def parsed() -> MetisRows:
        with RangeFile(path) as file:
            file.seek(begin)
            file.end = end
            source = Source(path, file, path, {}, end - begin)
            # Rows before the own ones are zeros that are never touched and so take no memory.
            rows = MetisRows(source, header, last, min(2 * header.edges, (end - begin) // 2 + 1))
            rows.state[Slot.ROW], rows.state[Slot.LINE] = first, header.line + 1 + lines_before
            for _ in rows.fill():
                if rows.state[Slot.ROW] == last:
                    break
                rows.more()  # raises an error: there are more neighbours than the header says
            return rows

    rows = member.agreed(parsed)
    indptr, arcs = rows.indptr[first:].copy(), int(rows.indptr[last])
    weights = rows.weights[:arcs] if header.edge_weights else None
    fault = None
    if weights is not None and len(weights) and weights.min() < 1:
        vertex = first + int(np.searchsorted(indptr, np.argmin(weights), "right"))
        fault = FormatError(path, None, f"vertex {vertex}: {weights.min()}, expected weights above 0")
    member.agree(fault)
    rows.state[Slot.ROW] = header.n
    rows.check_end(member.total(arcs))
    loads = rows.loads[first:] if header.loads else None
    return Slab(indptr, rows.targets[:arcs].astype(np.int64), weights, loads)


def _own_lines(path: str, rank: int, size: int) -> tuple[Header, int, int, int, int]:
    """Return the header, the range of bytes of one of `size` processes, and its numbers of lines and rows."""
    with RangeFile(path) as file:
        file.seek(0)
        header = read_header(Source(path, file, path, {}, file.size))
        data = file.tell()
        bounds = (data + (file.size - data) * part // size for part in (rank, rank + 1))
        begin, end = (file.line_start(bound, data) for bound in bounds)
        lines = comments = 0
        at = begin
        while at < end:
            stop = min(file.line_start(min(at + TEXT_AT_ONCE, end), data), end)
            text = file.bytes(at, stop - at)
            lines += text.count(b"\n") + (not text.endswith(b"\n"))
            comments += len(COMMENT.findall(text)) if b"%" in text else 0
            at = stop
    return header, begin, end, lines, lines - comments


def hdf5_rows(graph: str, rank: int, size: int) -> Slab:
    """Return the rows of one of `size` processes."""
    try:
        import h5py
    except ImportError:
        raise UnsupportedError(f"{graph}: HDF5 needs h5py (pip install h5py)") from None
    match = NAME.fullmatch(graph)
    assert match is not None
    path, group = match["path"], match["group"]
    try:
        # Every process opens the file to read it, so that HDF5 with MPI is not needed.
        with damaged(path, "a whole HDF5 file with a graph"), h5py.File(path, "r") as file:
            return _hdf5_read(path, _hdf5_group(path, file, group), rank, size)
    except OSError as error:
        if getattr(error, "errno", None):  # h5py puts its own words around those of the system
            raise
        raise FormatError(path, None, " ".join(str(error).split())) from None


def _hdf5_read(path: str, group: Any, rank: int, size: int) -> Slab:
    data = {what: dataset for what in NAMES if (dataset := _dataset(group, what)) is not None}
    for what in ("rows", "neighbours"):
        if what not in data:
            expected = f"a dataset with one of the names {', '.join(NAMES[what])}"
            raise FormatError(path, None, f"{group.name} has {_some_names(group)}, expected {expected}")
    for dataset in data.values():
        if len(dataset.shape) != 1 or dataset.dtype.kind not in "iuf":
            what = f"{dataset.name}: {dataset.dtype} of shape {dataset.shape}"
            raise FormatError(path, None, f"{what}, expected a list of integers")
    n, m = len(data["rows"]) - 1, len(data["neighbours"])
    for what, count in (("weights", m), ("loads", n)):
        if what in data and len(data[what]) != count:
            length = f"{data[what].name} has {len(data[what])} numbers"
            raise FormatError(path, None, f"{length}, expected {count}")

    def numbers(what: str, first: int, end: int) -> Int64:
        values = data[what][first:end]
        whole: Int64 = values.astype(np.int64)  # floating-point numbers have to be whole
        if data[what].dtype.kind != "i" and not np.array_equal(whole, values):
            raise FormatError(path, None, f"{data[what].name}: expected whole numbers below 2^63")
        return whole

    if n < 0 or numbers("rows", 0, 1)[0] != 0 or numbers("rows", n, n + 1)[0] != m:
        what = f"{data['rows'].name}: expected numbers from 0 to {m}"
        raise FormatError(path, None, f"{what}, the number of neighbours")
    return _divided_rows(path, n, m, data, numbers, rank, size)


def _hdf5_group(path: str, file: Any, name: str | None) -> Any:
    if name:
        if name not in file or not hasattr(file[name], "keys"):
            raise FormatError(path, None, f"no group {name!r}, expected one of {_some_names(file)}")
        return file[name]
    inner = [item for item in file.values() if hasattr(item, "keys")]
    if _dataset(file, "rows") is None and len(inner) == 1:
        return inner[0]
    return file


def _dataset(group: Any, what: str) -> Any:
    for name in NAMES[what]:
        if name in group and hasattr(group[name], "shape"):
            return group[name]
    return None


def _some_names(group: Any) -> str:
    names = sorted(group)
    return ", ".join(names[:6]) + (", …" if len(names) > 6 else "") if names else "nothing"


def generated_slab(spec: str, rank: int, size: int) -> Slab:
    """Return the rows of one of `size` processes."""
    name, _, text = spec.partition(":")
    words = text.split("x")
    if all(word.isdigit() and 0 < len(word) < 12 for word in words):
        sizes = [int(word) for word in words]
        if name == "geometric" and len(sizes) == 1 and sizes[0] >= 1:
            return _geometric(sizes[0], rank, size)
        if name == "grid" and len(sizes) in (2, 3) and min(sizes) >= 1 and math.prod(sizes) < 2**62:
            return _grid(sizes, rank, size)
    raise UnsupportedError(f"{spec[:40]}, expected grid:AxB, grid:AxBxC or geometric:N")


def _grid(sizes: list[int], rank: int, size: int) -> Slab:
    total = math.prod(sizes)
    own = np.arange(total * rank // size, total * (rank + 1) // size, dtype=np.int64)
    steps = [math.prod(sizes[axis + 1 :]) for axis in range(len(sizes))]
    columns = []
    for sign, order in ((-1, range(len(sizes))), (1, reversed(range(len(sizes))))):  # ascending neighbours
        for axis in order:
            at = own // steps[axis] % sizes[axis]
            there = at > 0 if sign < 0 else at < sizes[axis] - 1
            columns.append(np.where(there, own + sign * steps[axis], -1))
    table = np.stack(columns, axis=1)
    exists = table >= 0
    indptr = row_pointers(exists.sum(axis=1))
    return Slab(indptr, table[exists])


def _geometric(points: int, rank: int, size: int) -> Slab:
    side = max(1, round(math.sqrt(points / POINTS_PER_CELL)))
    cells = np.arange(side * side * rank // size, side * side * (rank + 1) // size, dtype=np.int64)
    x, y = _points(cells, side)
    own = (cells[:, None] * POINTS_PER_CELL + np.arange(POINTS_PER_CELL)).reshape(-1)
    tails, heads = [], []
    for dy, dx in itertools.product((-1, 0, 1), repeat=2):
        column, row = cells % side + dx, cells // side + dy
        inside = (column >= 0) & (column < side) & (row >= 0) & (row < side)
        near = (row * side + column)[inside]
        u, v = _points(near, side)
        there = np.repeat(inside, POINTS_PER_CELL)
        for shift in range(POINTS_PER_CELL):
            # Point i of a cell beside point (i + shift) of the other one.
            point = np.arange(len(u))
            point = point // POINTS_PER_CELL * POINTS_PER_CELL + (point + shift) % POINTS_PER_CELL
            other = near[point // POINTS_PER_CELL] * POINTS_PER_CELL + point % POINTS_PER_CELL
            close = (x[there] - u[point]) ** 2 + (y[there] - v[point]) ** 2 <= 1.0
            close &= other != own[there]
            tails.append(own[there][close])
            heads.append(other[close])
    tail, head = np.concatenate(tails), np.concatenate(heads)
    order = np.lexsort((head, tail))
    first = int(own[0]) if len(own) else 0
    degree = np.bincount(tail - first, minlength=len(own))
    return Slab(row_pointers(degree), head[order])


def _points(cells: Int64, side: int) -> tuple[Float64, Float64]:
    """Return the coordinates of all points of some cells, in units of cells."""
    number = (cells[:, None] * POINTS_PER_CELL + np.arange(POINTS_PER_CELL)).reshape(-1)
    word = hashes_of(number.view(np.uint64))
    x = (word >> np.uint64(32)).astype(np.float64) / 2**32
    y = (word & np.uint64(0xFFFFFFFF)).astype(np.float64) / 2**32
    cell = number // POINTS_PER_CELL
    return x + cell % side, y + cell // side


def write_distributed(comm: Comm, mapping: DistributedMapping, path: str, *, force: bool = False) -> None:
    """Write the PE of every task; every process writes its own part of the file; collective.

    A `path` that ends with ``.npy`` gets an array of int32, which ``numpy.load`` reads; any other one line
    per task, as the format ``plain``. With `force` an existing file is overwritten. HopbytesError is raised
    on all processes if one cannot write; the old file is still there then.
    """
    if path.endswith(".npy"):
        described = {"descr": "<i4", "fortran_order": False, "shape": (mapping.total,)}
        text = repr(described).ljust(HEADER - len(MAGIC) - 3) + "\n"
        head = MAGIC + len(text).to_bytes(2, "little") + text.encode()
        write_ranges(Member(comm), path, lambda: [mapping.pe.astype("<i4").tobytes()], head, force=force)
    else:
        write_ranges(Member(comm), path, lambda: list(_lines(mapping.pe)), b"", force=force)


def _lines(pe: Int32) -> Iterator[bytes]:
    for begin in range(0, len(pe), LINES_AT_ONCE):
        yield "".join(f"{number}\n" for number in pe[begin : begin + LINES_AT_ONCE].tolist()).encode()


def write_ranges(
    member: Member, path: str, parts: Callable[[], list[bytes]], head: bytes, *, force: bool
) -> None:
    """Write a file, on a disk that all processes see, to which each adds its part by rank; collective."""

    def begun() -> str:
        if member.rank:
            return ""
        check_writable(path, force, "distributed")
        folder, name = os.path.split(os.path.realpath(path))
        remove_left(folder, f".{name[:100]}.", ".part")
        temporary = os.path.join(folder, name_of_process(f".{name[:100]}.", ".part"))
        os.close(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666))
        return temporary

    temporary = member.all(member.agreed(begun))[0]
    fault: BaseException | None = None
    pieces: list[bytes] = [head] if member.rank == 0 else []
    try:
        try:
            pieces += parts()
        except MemoryError as error:
            fault, pieces = error, []
        at = sum(member.all(sum(map(len, pieces)))[: member.rank])
        try:
            _write_at(temporary, at, pieces)
        except OSError as error:
            fault = error
        member.agree(fault)
        if member.rank == 0:
            os.replace(temporary, path)
    except BaseException:
        if member.rank == 0 and os.path.exists(temporary):
            os.unlink(temporary)
        raise
    member.agree(None)  # no process goes on before the file is there


def _write_at(path: str, at: int, pieces: list[bytes]) -> None:
    with open(path, "r+b") as stream:
        stream.seek(at)
        stream.writelines(pieces)
        stream.flush()
        os.fsync(stream.fileno())


def read_distributed(comm: Comm, path: str, n: int) -> Int32:
    """Return the PEs of the n own tasks, those that follow the tasks of lower ranks; collective.

    The file is one that :func:`write_distributed` wrote, or has one line per task. HopbytesError is raised on
    all processes if it is malformed, or has not the PEs of all tasks.
    """
    member = Member(comm)
    tasks = member.all(n)
    first, total = sum(tasks[: member.rank]), sum(tasks)

    def own_part() -> tuple[Int64, bool]:
        with RangeFile(path) as file:
            binary = file.bytes(0, min(file.size, len(MAGIC))) == MAGIC
            return _binary(file, first, n, total) if binary else _text(file, member.rank, member.size), binary

    pe, binary = member.agreed(own_part)
    if not binary:
        pe = _to_owners(member, pe, tasks, path)
    fault = None
    if len(pe) and not 0 <= int(pe.min()) <= int(pe.max()) < 2**31:
        fault = FormatError(path, None, f"PE {pe.min()} or {pe.max()}, expected numbers from 0 to 2^31 - 1")
    member.agree(fault)
    return pe.astype(np.int32)


def _binary(file: RangeFile, first: int, n: int, total: int) -> Int64:
    text = file.bytes(len(MAGIC) + 2, HEADER - len(MAGIC) - 2)
    try:
        described = ast.literal_eval(text.decode("latin-1"))
    except (ValueError, SyntaxError):
        described = {}
    if not isinstance(described, dict) or described.get("descr") != "<i4" or described.get("fortran_order"):
        raise FormatError(file.path, None, "a header of another array, expected int32 numbers")
    if described.get("shape") != (total,) or file.size != HEADER + 4 * total:
        what = f"an array of shape {described.get('shape')} in {file.size} bytes, expected {total} numbers"
        raise FormatError(file.path, None, f"{what} (is the file complete?)")
    return file.numbers("<i4", HEADER, first, n).astype(np.int64)


def _text(file: RangeFile, rank: int, size: int) -> Int64:
    """Return the numbers of the lines whose first bytes are in the range of a process."""
    begin, end = (file.line_start(file.size * part // size, 0) for part in (rank, rank + 1))
    words = [line.strip() for line in file.bytes(begin, end - begin).split(b"\n")]
    words = [word for word in words if word and not word.startswith((b"#", b"%"))]
    wrong = next((word for word in words if not word.isdigit() or len(word) > 10), None)
    if wrong is not None:
        shown = wrong[:40].decode("utf-8", "replace")
        raise FormatError(file.path, None, f"{shown!r}, expected the number of a PE")
    return np.array(words, "S10").astype(np.int64)


def _to_owners(member: Member, pe: Int64, tasks: list[int], path: str) -> Int64:
    lines = member.all(len(pe))
    if sum(lines) != sum(tasks):
        what = f"{sum(lines)} lines with a PE, expected {sum(tasks)}, one for each task"
        raise FormatError(path, None, what)
    first = sum(lines[: member.rank])
    begins = row_pointers(tasks)
    mine = np.diff(np.clip(begins - first, 0, len(pe))).astype(np.int64)
    (own,) = member.exchange(mine, member.counts(mine), pe)
    return own


class RangeFile(io.BufferedReader):
    """A file that is read by ranges; as a stream it ends at the byte `end`."""

    def __init__(self, path: str) -> None:
        try:
            super().__init__(io.FileIO(path))
        except OSError as error:
            raise FormatError(path, None, str(error.strerror)) from None
        self.path, self.size = path, os.fstat(self.fileno()).st_size
        self.end = self.size
        head = self.bytes(0, min(self.size, 8))
        if any(head.startswith(kind.magic) for kind in COMPRESSIONS):
            self.close()
            raise FormatError(path, None, "a compressed file, expected a plain one that is read by ranges")

    def readinto(self, buffer: Any) -> int:
        """Fill a buffer with what follows, up to the end of the range."""
        return super().readinto(memoryview(buffer)[: max(0, self.end - self.tell())])

    def bytes(self, begin: int, count: int) -> bytes:
        """Return bytes from one on; FormatError if the file ends before."""
        self.seek(begin)
        data = self.read(count)
        if len(data) < count:
            what = f"the file ends after {begin + len(data)} bytes, expected {begin + count}"
            raise FormatError(self.path, None, f"{what} (is the file complete?)")
        return data

    def numbers(self, dtype: str, begin: int, first: int, count: int) -> Array:
        """Return numbers `first` to `first + count` - 1 of a section that begins at a byte."""
        width = np.dtype(dtype).itemsize
        return np.frombuffer(self.bytes(begin + width * first, width * count), dtype)

    def line_start(self, byte: int, first: int) -> int:
        """Return the first byte from `byte` on at which a line begins; lines begin at `first`."""
        if byte <= first:
            return first
        self.seek(byte - 1)
        while (piece := self.readline(1 << 16)) and not piece.endswith(b"\n"):
            pass
        return self.tell()
