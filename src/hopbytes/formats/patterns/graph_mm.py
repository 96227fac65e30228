"""Matrix Market files: a banner, then coordinates or an array of numbers.

The files are read by the compiled parser of number tables, because SciPy's reader crashes on some damaged
files.

Source: R. Boisvert, R. Pozo, K. Remington, "The Matrix Market Exchange Formats", NISTIR 5935 (1996).
"""

from __future__ import annotations

import dataclasses
import io
from collections.abc import Mapping as Dictionary
from typing import Any, NamedTuple

import numpy as np

from hopbytes._arrays import Array, Int32
from hopbytes.errors import FormatError
from hopbytes.formats.base import MARK, Format, Source, Written, formats
from hopbytes.formats.parsing import check_tasks, first_line, read_table, shown
from hopbytes.formats.patterns.symmetrize import symmetrized
from hopbytes.model.comm_graph import CommGraph
from hopbytes.util.integers import MAX_TASKS


class Banner(NamedTuple):
    """The content of the banner and of the line of sizes, which has the number `line`."""

    line: int
    dense: bool
    pattern: bool
    symmetric: bool
    rows: int
    entries: int


class MatrixMarket(Format):
    """Row i, column j holds the bytes from task i to task j. Symmetric files give undirected graphs."""

    holds = "pattern"
    suffixes = (".mtx", ".mm")
    summary = "Matrix Market: coordinate or array, pattern, integer or real, general or symmetric"

    def sniff(self, name: str, head: bytes) -> bool:
        """Tell whether the file begins with the banner."""
        return head.lower().startswith(b"%%matrixmarket")

    def read(self, source: Source) -> CommGraph:
        """Return a graph; repeated entries are summed, entries of field `pattern` count 1 each."""
        banner = read_banner(source)
        n = banner.rows
        columns = 1 if banner.dense else 2 if banner.pattern else 3
        table, last = read_table(
            source, columns, banner.line + 1, b"", task_columns=0 if banner.dense else 2,
            task_first=1, task_limit=n, whole_columns=0 if banner.dense else 0b11,
        )
        if len(table) != banner.entries:
            what = f"{banner.entries} entries in the header, but {len(table)} in the file, expected as many"
            raise FormatError(source.name, banner.line, what)
        check_tasks(source, banner.line, n, len(table))
        if banner.dense:
            src, dst = _dense_places(n, banner.symmetric)
        else:
            src, dst = (table[:, c].astype(np.int32) - 1 for c in range(2))
            if len(src) and min(src.min(), dst.min()) < 0:
                # The line is known if there are no comments or blank lines between the entries.
                row = int(np.argmax((src < 0) | (dst < 0)))
                line = banner.line + 1 + row if last == banner.line + len(table) else None
                raise FormatError(source.name, line, f"task 0, expected 1 to {n}")
        volumes = None if banner.pattern else np.ascontiguousarray(table[:, -1])
        del table
        return _graph(source, banner, src, dst, volumes)

    def write_pattern(self, graph: CommGraph, options: Dictionary[str, Any]) -> Written:
        """Return coordinates: symmetric for an undirected graph, field `pattern` for one without volumes."""
        from scipy.io import mmwrite
        from scipy.sparse import coo_matrix

        notices: list[str] = []
        if options.get("symmetrize"):
            graph, notices = symmetrized(graph)
        lost = [("message counts", graph.messages), ("loads", graph.loads)]
        notices += [f"{what} are lost: the file holds volumes only" for what, v in lost if v is not None]
        if graph.scale != 1:
            notices.append(f"volumes are the numbers of the source times {graph.scale}")
        matrix = coo_matrix(
            (np.array(graph.arc_volumes()), (graph.sources(), graph.targets)), shape=(graph.n, graph.n)
        )
        out = io.BytesIO()
        field = "pattern" if graph.volumes is None else "integer"
        symmetry = "symmetric" if graph.undirected else "general"
        mmwrite(out, matrix, comment=f" {MARK}", field=field, symmetry=symmetry)
        return Written({"": out.getvalue()}, notices=tuple(notices))


formats.register("mm")(MatrixMarket())


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
        raise FormatError(name, 1, f"field {field!r}, expected pattern, integer or real")
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


def _graph(
    source: Source, banner: Banner, src: Int32, dst: Int32, volumes: Array | None
) -> CommGraph:
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
