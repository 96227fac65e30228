"""Dense comma-separated matrices without a header, as MapLib writes them.

A second matrix holds the message counts. It is found by its name: ``NAME.count.csv`` belongs to ``NAME.csv``
or ``NAME.size.csv``, ``NAME_count.csv`` to ``NAME_size.csv`` (MapLib).
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
from hopbytes.text.replace_file import says_written

#: Endings of the file names of a matrix of bytes and of its matrix of message counts.
PAIRS = (("_size.csv", "_count.csv"), (".size.csv", ".count.csv"), (".csv", ".count.csv"))


class Csv(Format):
    """Row i, column j holds the bytes from task i to task j.

    Option: ``counts`` names the matrix of message counts; ``""`` reads none even if one exists.
    """

    holds = "pattern"
    suffixes = (".csv",)
    marked = False  # spreadsheets, MATLAB and C programs read numbers from every line
    summary = "dense matrix of bytes, separated by commas; messages from NAME.count.csv or NAME_count.csv"

    def sniff(self, name: str, head: bytes) -> bool:
        """Tell whether the rows have equal lengths and could form a square matrix."""
        return looks_like_matrix(head, comma=True)

    def ambiguity(self, source: Source) -> str | None:
        """Return why the file may hold message counts instead of bytes, or an edge list; None if neither."""
        bytes_beside = bytes_of_counts(source.path)
        if bytes_beside is not None:
            return (
                f"the file holds the message counts of {bytes_beside}, expected that file (the counts are "
                "then read, too); `read(format='csv')` reads counts as bytes"
            )
        ours = source.path is not None and says_written(source.path)
        return None if ours else maybe_edges(source.head())

    def read(self, source: Source) -> CommGraph:
        """Return a directed graph with an arc for every entry with bytes or messages."""
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

    def write_pattern(self, graph: CommGraph, options: Dictionary[str, Any]) -> Written:
        """Return the matrix of volumes."""
        return write_matrix(graph, options, ",")


formats.register("csv")(Csv())


def counts_beside(path: str | None) -> str | None:
    """Return the existing matrix of message counts that belongs to a matrix of bytes, or None."""
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
    """Return the existing matrix of bytes to which a matrix of counts belongs by its name, or None."""
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
    """Return the first word if the first line names columns, None if it holds numbers."""
    words = head.split(b"\n", 1)[0].strip().split(b",")
    named = [word.strip(b" \t\"'") for word in words]
    numbers = (b"nan", b"inf")
    if len(words) < 2 or not all(word[:1].isalpha() and word.lower() not in numbers for word in named):
        return None
    return named[0][:40].decode("utf-8", "backslashreplace")
