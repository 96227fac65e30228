"""Edge lists: one directed arc per line, ``src dst [bytes [count]]``, tasks counted from 0."""

from __future__ import annotations

import dataclasses
import io
import os
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from hopbytes._arrays import Array, Int32
from hopbytes.errors import FormatError, UnsupportedError
from hopbytes.formats.base import HEAD_BYTES, MARK, Format, Source, Written, losses
from hopbytes.formats.files import open_source
from hopbytes.formats.parsing import check_tasks, first_line, read_table
from hopbytes.model.comm_graph import PROCESSES, CommGraph
from hopbytes.text.lines import shown
from hopbytes.text.open_input import plain_name
from hopbytes.text.replace_file import says_written
from hopbytes.util.integers import MAX_TASKS

ARCS_PER_PIECE = 1 << 16


class Edges(Format, form="edges"):
    """Fields are separated by blanks, tabs or commas; ``#`` and ``%`` start comments."""
    # The first line may hold the number of tasks alone, as in the ``.topo`` files of the analmap tools.

    suffixes = (".edges", ".el", ".topo")
    summary = "edge list: source target [bytes [messages]], tasks from 0, optional first line n"

    def sniff(self, name: str, head: bytes) -> bool:
        rows = [row for line in head.split(b"\n")[:-1] if (row := fields_of(line))]
        if rows and len(rows[0]) == 1:
            rows = rows[1:]
        if head.startswith(b"%%") or not rows or not 2 <= len(rows[0]) <= 4:
            return False
        if any(len(row) != len(rows[0]) for row in rows):
            return False
        return all(row[0].isdigit() and row[1].isdigit() for row in rows)

    def ambiguity(self, source: Source) -> str | None:
        head = source.head()
        rows = [row for line in head.split(b"\n")[: -1 if len(head) == HEAD_BYTES else None]
                if (row := fields_of(line))]  # fmt: skip
        if source.title.endswith(self.suffixes) or len(rows) < 3 or len(rows[0]) > 1 or len(rows[1]) < 3:
            return None
        elements, numbers = int(rows[0][0]), [field for row in rows[1:] for field in row]
        if (len(head) < HEAD_BYTES and len(rows) - 1 != elements) or not all(map(bytes.isdigit, numbers)):
            return None
        if not 1 <= min(map(int, numbers)) <= max(map(int, numbers)) <= len(rows[1]) * elements:
            return None
        return (
            "a METIS mesh (m2gmetis makes a graph of it) or an edge list of "
            f"{elements} tasks, expected `read(format='edges')` for the latter"
        )

    def read(self, source: Source) -> CommGraph:
        line, n, text = first_arc(source)
        fields, meta = fields_of(text), {"name": source.title, "format": "edges"}
        if not fields:
            none = np.empty(0, np.int32)
            return CommGraph.from_edges(none, none, n=n, meta=meta)
        limit = MAX_TASKS - 1 if n is None else n - 1
        table, _ = read_table(
            source, len(fields), line, text, task_columns=2, task_limit=limit, whole_columns=0b1011
        )
        columns = [np.ascontiguousarray(table[:, c]) for c in range(2, len(fields))]
        src, dst = (table[:, c].astype(np.int32) for c in range(2))
        del table
        if n is None:
            check_tasks(source, None, int(max(src.max(initial=-1), dst.max(initial=-1))) + 1, len(src))
        messages = columns[1].astype(np.int64) if len(columns) > 1 else None
        volumes = columns[0] if columns else None
        return CommGraph.from_edges(src, dst, volumes, messages, n=n, meta=meta)

    def write_pattern(self, graph: CommGraph) -> Written:
        notices = losses(graph, loads="edge lists cannot hold them")
        return Written({"": _edge_lines(graph)}, notices=tuple(notices))


def fields_of(line: bytes) -> list[bytes]:
    """Return the fields of a line, without its comment."""
    return [field for field in re.split(rb"[ \t\r\n,]+", re.split(rb"[#%]", line, maxsplit=1)[0]) if field]


def first_arc(source: Source) -> tuple[int, int | None, bytes]:
    """Return the line number and text of the first arc, and n if the first line holds it alone."""
    line, text = first_line(source, b"#%")
    fields, n = fields_of(text), None
    if len(fields) == 1:
        if not fields[0].isdigit() or len(fields[0]) > 18:
            raise source.error(f"{shown(fields[0])}, expected the number of tasks, or an arc", line)
        n = int(fields[0])
        check_tasks(source, line, n, 0 if source.size is None else source.size // 4)
        try:
            line, text = first_line(source, b"#%", after=line)
        except FormatError as error:
            if "nothing but" not in error.what:
                raise
            text = b""
        fields = fields_of(text)
    if fields and not 2 <= len(fields) <= 4:
        raise source.error(f"{len(fields)} numbers, expected source target [bytes [messages]]", line)
    return line, n, text


def _edge_lines(graph: CommGraph) -> Iterator[bytes]:
    columns: dict[str, Array] = {"source": graph.sources(), "target": graph.targets}
    if graph.volumes is not None or graph.messages is not None:
        columns["bytes"] = graph.arc_volumes()
    if graph.messages is not None:
        columns["messages"] = graph.messages
    yield f"# {MARK}: {' '.join(columns)}\n{graph.n}\n".encode()
    for first in range(0, graph.m, ARCS_PER_PIECE):
        part = slice(first, first + ARCS_PER_PIECE)
        rows = zip(*(column[part].tolist() for column in columns.values()), strict=True)
        yield "".join(" ".join(map(str, row)) + "\n" for row in rows).encode()


class Banner(NamedTuple):
    """The content of the banner and of the line of sizes, which has the number `line`."""

    line: int
    dense: bool
    pattern: bool
    symmetric: bool
    rows: int
    entries: int


class MatrixMarket(Format, form="mm"):
    """Row i, column j holds the bytes from task i to task j. Symmetric files give undirected graphs."""

    signature = re.compile(rb"\A%%matrixmarket", re.IGNORECASE)
    suffixes = (".mtx", ".mm")
    summary = "Matrix Market: coordinate or array, pattern, integer or real, general or symmetric"

    def read(self, source: Source) -> CommGraph:
        banner = read_banner(source)
        n = banner.rows
        columns = 1 if banner.dense else 2 if banner.pattern else 3
        table, last = read_table(
            source, columns, banner.line + 1, b"", task_columns=0 if banner.dense else 2,
            task_first=1, task_limit=n, whole_columns=0 if banner.dense else 0b11,
        )
        if len(table) != banner.entries:
            what = f"{banner.entries} entries in the header, but {len(table)} in the file, expected as many"
            raise source.error(what, banner.line)
        check_tasks(source, banner.line, n, len(table))
        if banner.dense:
            src, dst = _dense_places(n, banner.symmetric)
        else:
            src, dst = (table[:, c].astype(np.int32) - 1 for c in range(2))
            if len(src) and min(src.min(), dst.min()) < 0:
                # The line is known if there are no comments or blank lines between the entries.
                row = int(np.argmax((src < 0) | (dst < 0)))
                line = banner.line + 1 + row if last == banner.line + len(table) else None
                raise source.error(f"task 0, expected 1 to {n}", line)
        volumes = None if banner.pattern else np.ascontiguousarray(table[:, -1])
        del table
        return _graph(source, banner, src, dst, volumes)

    def write_pattern(self, graph: CommGraph) -> Written:
        from scipy.io import mmwrite
        from scipy.sparse import coo_matrix

        matrix = coo_matrix(
            (np.array(graph.arc_volumes()), (graph.sources(), graph.targets)), shape=(graph.n, graph.n)
        )
        out = io.BytesIO()
        field = "pattern" if graph.volumes is None else "integer"
        symmetry = "symmetric" if graph.undirected else "general"
        mmwrite(out, matrix, comment=f" {MARK}", field=field, symmetry=symmetry)
        why = "the file holds volumes only"
        return Written({"": out.getvalue()}, notices=tuple(losses(graph, messages=why, loads=why)))


def read_banner(source: Source) -> Banner:
    """Read the banner and the sizes, and check them against the length of the file."""
    name = source.name
    words = source.stream.readline(200).decode("ascii", "replace").lower().split()
    starts = [["%%matrixmarket", "matrix", layout] for layout in ("coordinate", "array")]
    if len(words) != 5 or words[:3] not in starts:
        what = "expected '%%MatrixMarket matrix coordinate|array FIELD SYMMETRY'"
        raise FormatError(name, 1, f"no Matrix Market banner, {what}")
    layout, field, symmetry = words[2:]
    dense = layout == "array"
    fields = ("integer", "unsigned-integer", "real", "double", *([] if dense else ["pattern"]))
    if field not in fields:
        expected = "integer or real" if dense else "pattern, integer or real"
        raise FormatError(name, 1, f"field {field!r}, expected {expected}")
    if symmetry not in ("general", "symmetric"):
        raise FormatError(name, 1, f"symmetry {symmetry!r}, expected general or symmetric")
    line, text = first_line(source, b"%", after=1)
    numbers = text.split()
    if len(numbers) != (2 if dense else 3) or not all(f.isdigit() and len(f) < 19 for f in numbers):
        what = "rows and columns" if dense else "rows, columns and entries"
        raise FormatError(name, line, f"{shown(text.strip())}, expected the numbers of {what}")
    rows, columns, *entries = map(int, numbers)
    if rows != columns:
        raise FormatError(name, line, f"{rows} rows and {columns} columns, expected a square matrix")
    if rows > MAX_TASKS:
        raise FormatError(name, line, f"{rows} tasks, expected at most {MAX_TASKS}")
    symmetric = symmetry == "symmetric"
    stored = entries[0] if entries else rows * (rows + 1) // 2 if symmetric else rows * rows
    least = 2 if dense else 4 if field == "pattern" else 6
    if source.size is not None and stored * least > source.size + 1:
        raise FormatError(name, line, f"{stored} entries, more than a file of {source.size} bytes can hold")
    return Banner(line, dense, field == "pattern", symmetric, rows, stored)


def _dense_places(n: int, symmetric: bool) -> tuple[Int32, Int32]:
    """Return row and column of each stored entry, column by column; a symmetric file has the lower half."""
    if symmetric:
        column, row = np.triu_indices(n)  # the upper half row by row is the lower half column by column
    else:
        column, row = np.divmod(np.arange(n * n), max(n, 1))
    return row.astype(np.int32), column.astype(np.int32)


def _graph(source: Source, banner: Banner, src: Int32, dst: Int32, volumes: Array | None) -> CommGraph:
    meta = {"name": source.title, "format": "mm"}
    if banner.dense and volumes is not None:
        present = volumes != 0
        src, dst, volumes = src[present], dst[present], volumes[present]
    if not banner.symmetric:
        return CommGraph.from_edges(src, dst, volumes, n=banner.rows, meta=meta)
    other = src != dst
    if volumes is not None:
        volumes = np.concatenate([volumes, volumes[other]])
    src, dst = np.concatenate([src, dst[other]]), np.concatenate([dst, src[other]])
    graph = CommGraph.from_edges(src, dst, volumes, n=banner.rows, meta=meta)
    return dataclasses.replace(graph, undirected=True)


#: Largest number of tasks in a dense matrix; a larger one would take tens of gigabytes, mostly zeros.
LARGEST_MATRIX = 50_000

#: Bound of task numbers in a short edge list; larger numbers are taken for bytes.
LARGEST_SMALL_TASK = 10_000


def read_matrix(source: Source, whole: bool = False) -> Array:
    """Return a square matrix of numbers >= 0: int64, or float64 if some number is a decimal."""
    line, text = first_line(source, b"#%")
    columns = len(fields_of(text))
    if columns == 0:
        raise source.error("no number in this line, expected a row of the matrix", line)
    matrix, last = read_table(source, columns, line, text)
    rows = len(matrix)
    if rows != columns:
        what = f"{rows} lines of {columns} numbers, expected a square matrix"
        if 2 <= columns <= 4:
            what += "; an edge list needs the format 'edges'"
        raise source.error(what, last)
    if whole and matrix.dtype != np.int64:
        row = int(np.argmax(np.any(matrix != np.rint(matrix), axis=1)))
        raise source.error(f"a decimal in row {row}, expected integer message counts")
    return matrix.astype(np.int64) if whole else matrix


def looks_like_matrix(head: bytes, comma: bool) -> bool:
    """Tell whether the complete lines of `head` could be the first rows of a square matrix."""
    lines = [line for line in head.split(b"\n") if fields_of(line)]
    if not lines or (b"," in lines[0]) != comma or lines[0].lstrip()[:1] == b"{":
        return False
    complete = lines if head.endswith(b"\n") and len(head) < 4096 else lines[:-1]
    counts = {len(fields_of(line)) for line in complete}
    if not complete:  # the first row is longer than `head`
        return len(fields_of(lines[0])) > 4
    if counts != {len(fields_of(lines[0]))}:
        return False
    columns = counts.pop()
    return columns == len(complete) if len(head) < 4096 else columns >= len(complete) and columns > 4


def maybe_edges(head: bytes) -> str | None:
    """Return why a small square matrix could equally be an edge list, or None if it cannot."""
    # Both have two to four lines of the same number of fields. A traffic matrix has zeros on its diagonal, or
    # the mark of earlier versions; in an edge list the first two numbers of a line are small integers.
    lines = [fields_of(line) for line in head.split(b"\n")]
    rows = [row for row in lines if row]
    size = len(rows)
    if not 2 <= size <= 4 or len(head) >= HEAD_BYTES or MARK.encode() in head:
        return None
    if any(len(row) != size for row in rows) or not any(rows[i][i].strip(b"0.") for i in range(size)):
        return None
    if not all(field.isdigit() and int(field) < LARGEST_SMALL_TASK for row in rows for field in row[:2]):
        return None
    columns = ("from, to", "from, to, bytes", "from, to, bytes, messages")[size - 2]
    return (
        f"{size} lines of {size} numbers are a matrix of {size} tasks or an edge list ({columns}), expected "
        "`read(format='csv')` or `read(format='edges')`"
    )


def write_matrix(graph: CommGraph, separator: str) -> Written:
    """Return the matrix of volumes as text."""
    if graph.n > LARGEST_MATRIX:
        what = f"{graph.n} tasks, expected at most {LARGEST_MATRIX} in a dense matrix"
        raise UnsupportedError(f"{what}: use edges, mm, npz or pattern")
    why = "the matrix holds volumes only"
    notices = losses(graph, messages=why, loads=why)
    return Written({"": _matrix_lines(graph, separator)}, notices=tuple(notices))


def _matrix_lines(graph: CommGraph, separator: str) -> Iterator[bytes]:
    volumes = graph.arc_volumes()
    for task in range(graph.n):
        row = np.zeros(graph.n, np.int64)
        arcs = slice(int(graph.indptr[task]), int(graph.indptr[task + 1]))
        row[graph.targets[arcs]] = volumes[arcs]
        yield (separator.join(map(str, row.tolist())) + "\n").encode()


#: Endings of the file names of a matrix of bytes and of its matrix of message counts.
PAIRS = (("_size.csv", "_count.csv"), (".size.csv", ".count.csv"), (".csv", ".count.csv"))


class Csv(Format, form="csv"):
    """Row i, column j holds the bytes from task i to task j."""
    # Option: ``counts`` names the matrix of message counts; ``""`` reads none even if one exists.

    suffixes = (".csv",)
    # There is no comment: spreadsheets, MATLAB and C programs read numbers from every line.
    summary = "dense matrix of bytes, separated by commas; messages from NAME.count.csv or NAME_count.csv"

    def sniff(self, name: str, head: bytes) -> bool:
        return looks_like_matrix(head, comma=True)

    def ambiguity(self, source: Source) -> str | None:
        bytes_beside = bytes_of_counts(source.path)
        if bytes_beside is not None:
            return (
                f"the file holds the message counts of {bytes_beside}, expected that file (the counts are "
                "then read, too); `read(format='csv')` reads counts as bytes"
            )
        ours = source.path is not None and says_written(source.path)
        return None if ours else maybe_edges(source.head())

    def read(self, source: Source) -> CommGraph:
        header = _header(source.head())
        if header is not None:
            raise FormatError(
                source.name, 1,
                f"{header!r}, expected a number: a .csv file is a matrix without a header; an edge list, "
                "also without a header, needs `read(format='edges')`",
            )
        matrix = read_matrix(source)
        meta: dict[str, Any] = {"name": source.title, "format": "csv", "tasks": PROCESSES}
        if any(plain_name(source.name).endswith(count) for _, count in PAIRS):
            meta["notices"] = ["the file's name indicates message counts, but its numbers are read as bytes"]
        counts = source.options.get("counts")
        if counts is None:
            counts = counts_beside(source.path)
        if not counts:
            return CommGraph.from_dense(matrix, meta=meta)
        with open_source(counts, max_bytes=source.max_bytes) as second:
            messages = read_matrix(second, whole=True)
        if messages.shape != matrix.shape:
            what = f"message counts of {len(messages)} tasks, expected {len(matrix)} as in {source.name}"
            raise FormatError(str(counts), None, what)
        return CommGraph.from_dense(matrix, messages, meta={**meta, "messages_from": str(counts)})

    def write_pattern(self, graph: CommGraph) -> Written:
        return write_matrix(graph, ",")


def counts_beside(path: str | None) -> str | None:
    """Return the existing matrix of message counts that belongs to a matrix of bytes, or None."""
    name = plain_name(path or "")
    pairs = [(size, count) for size, count in PAIRS if name.endswith(size) and not name.endswith(count)]
    return _beside(path, pairs[:1])


def bytes_of_counts(path: str | None) -> str | None:
    """Return the existing matrix of bytes to which a matrix of counts belongs by its name, or None."""
    name = plain_name(path or "")
    return _beside(path, [(count, size) for size, count in PAIRS if name.endswith(count) and name != count])


def _beside(path: str | None, endings: list[tuple[str, str]]) -> str | None:
    """Return the first existing file whose name has another ending, packed like `path` or not."""
    name = plain_name(path or "")
    others = [name.removesuffix(own) + other for own, other in endings]
    packed = (path or "")[len(name) :]
    return next(filter(os.path.isfile, (file for other in others for file in (other + packed, other))), None)


def _header(head: bytes) -> str | None:
    """Return the first word if the first line names columns, None if it holds numbers."""
    words = head.split(b"\n", 1)[0].strip().split(b",")
    named = [word.strip(b" \t\"'") for word in words]
    numbers = (b"nan", b"inf")
    if len(words) < 2 or not all(word[:1].isalpha() and word.lower() not in numbers for word in named):
        return None
    return named[0][:40].decode("utf-8", "backslashreplace")


class Dense(Format, form="dense"):
    """Row i, column j holds the bytes from task i to task j."""

    suffixes = (".mat",)
    # There is no comment: spreadsheets, MATLAB and C programs read numbers from every line.
    summary = "dense matrix of bytes, separated by blanks, without a header"

    def sniff(self, name: str, head: bytes) -> bool:
        return looks_like_matrix(head, comma=False)

    def read(self, source: Source) -> CommGraph:
        meta = {"name": source.title, "format": "dense", "tasks": PROCESSES}
        return CommGraph.from_dense(read_matrix(source), meta=meta)

    def write_pattern(self, graph: CommGraph) -> Written:
        return write_matrix(graph, " ")
