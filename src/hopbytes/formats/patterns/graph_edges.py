"""Edge lists: one directed arc per line, ``src dst [bytes [count]]``, tasks counted from 0."""

from __future__ import annotations

import re
from collections.abc import Iterator
from collections.abc import Mapping as Dictionary
from typing import Any

import numpy as np

from hopbytes._arrays import Array
from hopbytes.errors import FormatError
from hopbytes.formats.base import HEAD_BYTES, MARK, Format, Source, Written, formats
from hopbytes.formats.parsing import check_tasks, first_line, read_table, shown
from hopbytes.formats.patterns.symmetrize import symmetrized
from hopbytes.model.comm_graph import CommGraph
from hopbytes.util.integers import MAX_TASKS

ARCS_PER_PIECE = 1 << 16


class Edges(Format):
    """Fields are separated by blanks, tabs or commas; ``#`` and ``%`` start comments.

    The first line may hold the number of tasks alone, as in the ``.topo`` files of the analmap tools.
    """

    holds = "pattern"
    suffixes = (".edges", ".el", ".topo")
    summary = "edge list: source target [bytes [messages]], tasks from 0, optional first line n"

    def sniff(self, name: str, head: bytes) -> bool:
        """Tell whether all lines, except a first one with n, have the same count of two to four numbers."""
        rows = [row for line in head.split(b"\n")[:-1] if (row := fields_of(line))]
        if rows and len(rows[0]) == 1:
            rows = rows[1:]
        if head.startswith(b"%%") or not rows or not 2 <= len(rows[0]) <= 4:
            return False
        if any(len(row) != len(rows[0]) for row in rows):
            return False
        return all(row[0].isdigit() and row[1].isdigit() for row in rows)

    def ambiguity(self, source: Source) -> str | None:
        """Return why a file may be a METIS mesh: a count of elements, then as many lines of nodes from 1."""
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
        """Return a directed graph; repeated arcs are summed and decimals are scaled to integers."""
        line, text = first_line(source, b"#%")
        n: int | None = None
        fields = fields_of(text)
        if len(fields) == 1:
            if not fields[0].isdigit() or len(fields[0]) > 18:
                what = f"{shown(fields[0])}, expected the number of tasks, or an arc"
                raise FormatError(source.name, line, what)
            n = int(fields[0])
            check_tasks(source, line, n, 0 if source.size is None else source.size // 4)
            line, text = _next_line(source, line)
            fields = fields_of(text)
        if not fields:
            none = np.empty(0, np.int32)
            return CommGraph.from_edges(none, none, n=n, meta=_meta(source))
        if not 2 <= len(fields) <= 4:
            what = f"{len(fields)} numbers, expected source target [bytes [messages]]"
            raise FormatError(source.name, line, what)
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
        return CommGraph.from_edges(src, dst, volumes, messages, n=n, meta=_meta(source))

    def write_pattern(self, graph: CommGraph, options: Dictionary[str, Any]) -> Written:
        """Return a file with n in the first line and one line per arc."""
        notices: list[str] = []
        if options.get("symmetrize"):
            graph, notices = symmetrized(graph)
        if graph.loads is not None:
            notices.append("loads are lost: edge lists cannot hold them")
        if graph.scale != 1:
            notices.append(f"volumes are the numbers of the source times {graph.scale}")
        return Written({"": _pieces(graph)}, notices=tuple(notices))


formats.register("edges")(Edges())


def fields_of(line: bytes) -> list[bytes]:
    """Return the fields of a line, without its comment."""
    return [field for field in re.split(rb"[ \t\r\n,]+", re.split(rb"[#%]", line, maxsplit=1)[0]) if field]


def _next_line(source: Source, line: int) -> tuple[int, bytes]:
    try:
        return first_line(source, b"#%", after=line)
    except FormatError as error:
        if "nothing but" in error.what:
            return line, b""
        raise


def _meta(source: Source) -> dict[str, Any]:
    return {"name": source.title, "format": "edges"}


def _pieces(graph: CommGraph) -> Iterator[bytes]:
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
