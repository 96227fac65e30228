"""Matrix Market files, read and written by SciPy.

Source: R. Boisvert, R. Pozo, K. Remington, "The Matrix Market Exchange Formats", NISTIR 5935 (1996).
"""

from __future__ import annotations

import dataclasses
import io
import re
from collections.abc import Mapping as Dictionary
from typing import Any, NamedTuple

import numpy as np

from hopbytes.errors import FormatError, ScaleError, UnsupportedError
from hopbytes.formats.base import MARK, Format, Source, Written, formats
from hopbytes.formats.symmetrize import symmetrized
from hopbytes.formats.text import check_tasks, shown
from hopbytes.graph import CommGraph

#: All that may stand in entries.
NUMBERS = b"0123456789+-.eE \t\r\n"


class Banner(NamedTuple):
    """What the first lines say; `line` is that of the sizes, `body` the place of the first entry."""

    line: int
    dense: bool
    field: str
    symmetric: bool
    rows: int
    entries: int
    body: int = 0


class MatrixMarket(Format):
    """Row i, column j: bytes from task i to task j. Symmetric files give undirected graphs."""

    holds = "pattern"
    suffixes = (".mtx", ".mm")
    summary = "Matrix Market: coordinate or array, pattern, integer or real, general or symmetric"

    def sniff(self, name: str, head: bytes) -> bool:
        """The banner is unmistakable."""
        return head.lower().startswith(b"%%matrixmarket")

    def read(self, source: Source) -> CommGraph:
        """Return a graph; entries given twice are summed, `pattern` counts 1 each."""
        from scipy.io import mmread

        data = source.stream.read()
        banner = read_banner(source.name, data)
        check_tasks(source, banner.line, banner.rows, banner.entries)
        if banner.rows == 0:
            return CommGraph.from_edges([], [], n=0, meta={"name": source.title, "format": "mm"})
        _check_characters(source.name, data, banner)
        try:
            # SciPy's reader looks beyond the end of a last line that is not ended.
            matrix: Any = mmread(io.BytesIO(data if data.endswith(b"\n") else data + b"\n"))
        except (ValueError, OverflowError, StopIteration, IndexError, TypeError) as error:
            raise _explained(source.name, str(error)) from None
        meta = {"name": source.title, "format": "mm"}
        if banner.dense:
            values = np.asarray(matrix)
        else:
            matrix = matrix.tocoo()
            values = matrix.data
        if not bool(np.all(np.isfinite(values) & (values >= 0))):
            raise FormatError(source.name, _bad_line(data, banner.line), "an entry that is no number >= 0")
        if banner.dense:
            graph = CommGraph.from_dense(values, meta=meta)
        else:
            volumes = None if banner.field == "pattern" else values
            graph = CommGraph.from_edges(matrix.row, matrix.col, volumes, n=banner.rows, meta=meta)
        return dataclasses.replace(graph, undirected=True) if banner.symmetric else graph

    def write_pattern(self, graph: CommGraph, options: Dictionary[str, Any]) -> Written:
        """Write coordinates; an undirected graph as symmetric, one without volumes as pattern."""
        from scipy.io import mmwrite
        from scipy.sparse import coo_matrix

        notices: list[str] = []
        if options.get("symmetrize"):
            graph, notices = symmetrized(graph)
        lost = [("message counts", graph.messages), ("loads", graph.loads)]
        notices += [f"{what} are lost: the file holds volumes only" for what, v in lost if v is not None]
        if graph.scale != 1:
            notices.append(f"volumes are those of the source times {graph.scale}")
        matrix = coo_matrix(
            (np.array(graph.arc_volumes()), (graph.sources(), graph.targets)), shape=(graph.n, graph.n)
        )
        out = io.BytesIO()
        field = "pattern" if graph.volumes is None else "integer"
        symmetry = "symmetric" if graph.undirected else "general"
        mmwrite(out, matrix, comment=f" {MARK}", field=field, symmetry=symmetry)
        return Written({"": out.getvalue()}, notices=tuple(notices))


formats.register("mm")(MatrixMarket())


def read_banner(name: str, data: bytes) -> Banner:
    """Read the banner and the sizes, and check them against the length of the file."""
    end = data.find(b"\n")
    words = data[: max(0, min(end, 200))].decode("ascii", "replace").lower().split()
    starts = [["%%matrixmarket", "matrix", layout] for layout in ("coordinate", "array")]
    if len(words) != 5 or words[:3] not in starts:
        what = "expected '%%MatrixMarket matrix coordinate|array FIELD SYMMETRY'"
        raise FormatError(name, 1, f"no Matrix Market banner, {what}")
    layout, field, symmetry = words[2:]
    if field not in ("pattern", "integer", "unsigned-integer", "real", "double"):
        raise FormatError(name, 1, f"field {field!r}, expected pattern, integer or real")
    if symmetry not in ("general", "symmetric"):
        raise FormatError(name, 1, f"symmetry {symmetry!r}, expected general or symmetric")
    line, begin = 1, end + 1
    while begin < len(data):
        line, end = line + 1, data.find(b"\n", begin)
        text = data[begin : end if end >= 0 else len(data)].strip()
        begin = end + 1 if end >= 0 else len(data)
        if text and not text.startswith(b"%"):
            return _sizes(name, line, text, layout, field, symmetry, len(data))._replace(body=begin)
    raise FormatError(name, line, "the file ends before the sizes of the matrix")


def _sizes(
    name: str, line: int, text: bytes, layout: str, field: str, symmetry: str, length: int
) -> Banner:
    dense = layout == "array"
    fields = text.split()
    if len(fields) != (2 if dense else 3) or not all(f.isdigit() and len(f) < 19 for f in fields):
        what = "rows and columns" if dense else "rows, columns and entries"
        raise FormatError(name, line, f"{shown(text)}, expected the numbers of {what}")
    rows, columns = int(fields[0]), int(fields[1])
    if rows != columns:
        raise FormatError(name, line, f"{rows} rows and {columns} columns, expected a square matrix")
    stored = (rows * (rows + 1) // 2 if symmetry == "symmetric" else rows * rows) if dense else int(fields[2])
    least = 2 if dense else 4 if field == "pattern" else 6
    if stored * least > length + 1:
        raise FormatError(name, line, f"{stored} entries, more than a file of {length} bytes can hold")
    return Banner(line, dense, field, symmetry == "symmetric", rows, stored)


def _check_characters(name: str, data: bytes, banner: Banner) -> None:
    """Refuse entries with anything but numbers in them: SciPy's reader crashes on some such bytes."""
    if not data[banner.body :].translate(None, NUMBERS):
        return
    place = next(i for i in range(banner.body, len(data)) if data[i] not in NUMBERS)
    line = data.count(b"\n", 0, place) + 1
    word = data[data.rfind(b"\n", 0, place) + 1 :].split(b"\n", 1)[0]
    raise FormatError(name, line, f"an entry {shown(word)}, expected numbers >= 0")


def _explained(name: str, text: str) -> FormatError | ScaleError | UnsupportedError:
    """Turn SciPy's words into ours; it names the line in most cases."""
    place = re.match(r"Line (\d+): ", text)
    line, what = (int(place[1]), text[place.end() :]) if place else (None, text)
    if "out of range" in what.lower() and "integer" in what.lower():
        where = name if line is None else f"{name}:{line}"
        return ScaleError(f"{where}: a number beyond 2^63 - 1: divide all of them until they fit")
    return FormatError(name, line, f"{what.rstrip('.')}, expected a Matrix Market file")


def _bad_line(data: bytes, sizes: int) -> int | None:
    """Number of the first line whose last number is negative, infinite or none."""
    for number, line in enumerate(io.BytesIO(data), start=1):
        fields = line.split()
        if number <= sizes or not fields:
            continue
        try:
            if not 0 <= float(fields[-1]) < np.inf:
                return number
        except ValueError:
            return number
    return None
