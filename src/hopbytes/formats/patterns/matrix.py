"""Dense matrices as text: common parts of the blank-separated and the comma-separated format."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Mapping as Dictionary
from typing import Any

import numpy as np

from hopbytes._arrays import Array
from hopbytes.errors import FormatError, UnsupportedError
from hopbytes.formats.base import HEAD_BYTES, MARK, Source, Written
from hopbytes.formats.parsing import first_line, read_table
from hopbytes.formats.patterns.graph_edges import fields_of
from hopbytes.formats.patterns.symmetrize import symmetrized
from hopbytes.model.comm_graph import CommGraph

#: Largest number of tasks in a dense matrix; a larger one would take tens of gigabytes, mostly zeros.
LARGEST_MATRIX = 50_000

#: Bound of task numbers in a short edge list; larger numbers are taken for bytes.
LARGEST_SMALL_TASK = 10_000


def read_matrix(source: Source, whole: bool = False) -> Array:
    """Return a square matrix of numbers >= 0: int64, or float64 if some number is a decimal."""
    line, text = first_line(source, b"#%")
    columns = len(fields_of(text))
    if columns == 0:
        raise FormatError(source.name, line, "no number in this line, expected a row of the matrix")
    matrix, last = read_table(source, columns, line, text)
    rows = len(matrix)
    if rows != columns:
        what = f"{rows} lines of {columns} numbers, expected a square matrix"
        if 2 <= columns <= 4:
            what += "; an edge list needs the format 'edges'"
        raise FormatError(source.name, last, what)
    if whole and matrix.dtype != np.int64:
        row = int(np.argmax(np.any(matrix != np.rint(matrix), axis=1)))
        raise FormatError(source.name, None, f"a decimal in row {row}, expected integer message counts")
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
    """Return why a small square matrix could equally be an edge list, or None if it cannot.

    Both have two to four lines of the same number of fields. A traffic matrix has zeros on its diagonal, or
    the mark of earlier versions; in an edge list the first two numbers of a line are small integers.
    """
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


def write_matrix(graph: CommGraph, options: Dictionary[str, Any], separator: str) -> Written:
    """Return the matrix of volumes as text."""
    notices: list[str] = []
    if options.get("symmetrize"):
        graph, notices = symmetrized(graph)
    if graph.n > LARGEST_MATRIX:
        what = f"{graph.n} tasks, expected at most {LARGEST_MATRIX} in a dense matrix"
        raise UnsupportedError(f"{what}: use edges, mm, npz or pattern")
    lost = [("message counts", graph.messages), ("loads", graph.loads)]
    notices += [f"{what} are lost: the matrix holds volumes only" for what, v in lost if v is not None]
    if graph.scale != 1:
        notices.append(f"volumes are the numbers of the source times {graph.scale}")
    return Written({"": _pieces(graph, separator)}, notices=tuple(notices))


def _pieces(graph: CommGraph, separator: str) -> Iterator[bytes]:
    volumes = graph.arc_volumes()
    for task in range(graph.n):
        row = np.zeros(graph.n, np.int64)
        arcs = slice(int(graph.indptr[task]), int(graph.indptr[task + 1]))
        row[graph.targets[arcs]] = volumes[arcs]
        yield (separator.join(map(str, row.tolist())) + "\n").encode()
