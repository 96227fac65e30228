"""Dense matrices separated by commas, without a header, as MapLib and our own recording script write them.

Message counts come in a second matrix. It is found by its name: ``NAME.count.csv`` beside ``NAME.csv``
or ``NAME.size.csv``, ``NAME_count.csv`` beside ``NAME_size.csv`` (MapLib).
"""

from __future__ import annotations

import os
from collections.abc import Mapping as Dictionary
from typing import Any

from hopbytes.errors import FormatError
from hopbytes.formats.base import Format, Source, Written, formats
from hopbytes.formats.files import open_source, plain_name
from hopbytes.formats.patterns.matrix import looks_like_matrix, maybe_edges, read_matrix, write_matrix
from hopbytes.model.comm_graph import PROCESSES, CommGraph

#: Ending of the name of a matrix of bytes, and of that of its message counts.
PAIRS = (("_size.csv", "_count.csv"), (".size.csv", ".count.csv"), (".csv", ".count.csv"))


class Csv(Format):
    """Row i, column j: bytes from task i to task j.

    Options: ``counts`` names the matrix of message counts; ``""`` reads none even if one lies beside it.
    """

    holds = "pattern"
    suffixes = (".csv",)
    comment = "#"
    summary = "dense matrix of bytes, separated by commas; messages from NAME.count.csv or NAME_count.csv"

    def sniff(self, name: str, head: bytes) -> bool:
        """Rows of equal length, as many as columns."""
        return looks_like_matrix(head, comma=True)

    def doubt(self, source: Source) -> str | None:
        """Message counts instead of bytes, or an edge list of as many lines as columns."""
        bytes_beside = bytes_of_counts(source.path)
        if bytes_beside is not None:
            return (
                f"the message counts of {bytes_beside}, which lies beside it: name that file (the counts are "
                "then read too); `read(format='csv')` takes counts as bytes"
            )
        return maybe_edges(source.head())

    def read(self, source: Source) -> CommGraph:
        """Return a directed graph; an arc is where bytes or messages are."""
        header = _header(source.head())
        if header is not None:
            raise FormatError(
                source.name, 1,
                f"{header!r}, expected a number: .csv is a matrix without header; an edge list has no header "
                "either, and is read by `read(format='edges')`",
            )
        matrix = read_matrix(source)
        meta: dict[str, Any] = {"name": source.title, "format": "csv", "tasks": PROCESSES}
        if any(plain_name(source.name).endswith(count) for _, count in PAIRS):
            meta["notices"] = ["the name of the file says message counts: they are taken as bytes"]
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

    def write_pattern(self, graph: CommGraph, options: Dictionary[str, Any]) -> Written:
        """Write the volumes."""
        return write_matrix(graph, options, ",")


formats.register("csv")(Csv())


def counts_beside(path: str | None) -> str | None:
    """Return the matrix of message counts that belongs to a matrix of bytes, None if there is none."""
    if path is None:
        return None
    name = plain_name(path)
    packed = path[len(name) :]
    for size, count in PAIRS:
        if name.endswith(size) and not name.endswith(count):
            other = name[: -len(size)] + count
            return next((p for p in (other + packed, other) if os.path.isfile(p)), None)
    return None


def bytes_of_counts(path: str | None) -> str | None:
    """Return the matrix of bytes whose message counts a file holds, by its name; None if there is none."""
    if path is None:
        return None
    name = plain_name(path)
    packed = path[len(name) :]
    for size, count in PAIRS:
        other = name[: -len(count)] + size
        if name.endswith(count) and name != count:
            found = next((p for p in (other + packed, other) if os.path.isfile(p)), None)
            if found is not None:
                return found
    return None


def _header(head: bytes) -> str | None:
    """Return the first word of a first line that names columns, None for numbers."""
    words = head.split(b"\n", 1)[0].strip().split(b",")
    named = [word.strip(b" \t\"'") for word in words]
    numbers = (b"nan", b"inf")
    if len(words) < 2 or not all(word[:1].isalpha() and word.lower() not in numbers for word in named):
        return None
    return named[0][:40].decode("utf-8", "backslashreplace")
