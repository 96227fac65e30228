"""Dense blank-separated matrices without a header: ``.mat`` of TreeMatch, netloc and Open MPI's tools."""

from __future__ import annotations

from collections.abc import Mapping as Dictionary
from typing import Any

from hopbytes.formats.base import Format, Source, Written, formats
from hopbytes.formats.patterns.matrix import looks_like_matrix, read_matrix, write_matrix
from hopbytes.model.comm_graph import PROCESSES, CommGraph


class Dense(Format):
    """Row i, column j holds the bytes from task i to task j."""

    holds = "pattern"
    suffixes = (".mat",)
    marked = False  # spreadsheets, MATLAB and C programs read numbers from every line
    summary = "dense matrix of bytes, separated by blanks, without a header"

    def sniff(self, name: str, head: bytes) -> bool:
        """Tell whether the rows have equal lengths and could form a square matrix."""
        return looks_like_matrix(head, comma=False)

    def read(self, source: Source) -> CommGraph:
        """Return a directed graph with an arc for every entry other than 0."""
        meta = {"name": source.title, "format": "dense", "tasks": PROCESSES}
        return CommGraph.from_dense(read_matrix(source), meta=meta)

    def write_pattern(self, graph: CommGraph, options: Dictionary[str, Any]) -> Written:
        """Return the matrix of volumes."""
        return write_matrix(graph, options, " ")


formats.register("dense")(Dense())
