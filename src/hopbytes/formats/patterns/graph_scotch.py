"""Scotch graph files (``.grf``): undirected, integer weights, as OpenFOAM's ``writeGraph`` makes them.

Source: the Scotch user's guide, section "Graph files": a line with the version 0, the numbers of vertices and
arcs, the first vertex number and three flags (labels, edge loads, vertex loads); then for each vertex
``[label] [load] degree ([edge load] neighbour)...``.
"""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np

from hopbytes._arrays import Int64
from hopbytes.errors import FormatError
from hopbytes.formats.base import Format, Source, formats
from hopbytes.formats.parsing import first_line, shown, whole_numbers
from hopbytes.model.comm_graph import CommGraph
from hopbytes.util.integers import MAX_TASKS

#: The first three lines of a file, in any layout of blanks.
BEGINNING = re.compile(rb"\s*0\s+[0-9]+\s+[0-9]+\s+[01]\s+[01]{1,3}\s")


class _Header(NamedTuple):
    line: int
    n: int
    arcs: int
    base: int
    labels: bool
    edge_loads: bool
    loads: bool


class Scotch(Format):
    """Vertices may have labels; edge loads become volumes, vertex loads the loads of tasks."""

    holds = "pattern"
    suffixes = (".grf", ".src")
    summary = "Scotch graph: undirected, integer edge and vertex loads; OpenFOAM writes one of its mesh"

    def sniff(self, name: str, head: bytes) -> bool:
        """Tell whether the file begins with version 0, two counts, a first number of 0 or 1, and flags."""
        return BEGINNING.match(head) is not None

    def read(self, source: Source) -> CommGraph:
        """Return an undirected graph; volumes and loads are None if the file has none."""
        header = _header(source)
        numbers = whole_numbers(source.name, header.line + 1, source.stream.read())
        starts, degrees = _rows(source, header, numbers)
        before = header.labels + header.loads
        width = 1 + header.edge_loads
        arcs = np.repeat(starts + before + 1 - width * (np.cumsum(degrees) - degrees), degrees)
        arcs += width * np.arange(len(arcs))
        names = numbers[starts] if header.labels else np.arange(header.base, header.base + header.n)
        targets = _places(source, names, numbers[arcs + width - 1])
        volumes = numbers[arcs] if header.edge_loads else None
        loads = numbers[starts + header.labels] if header.loads else None
        xadj = np.concatenate([[0], np.cumsum(degrees)])
        meta = {"name": source.title, "format": "scotch"}
        return CommGraph.from_metis(xadj, targets, volumes, vwgt=loads, meta=meta)


formats.register("scotch")(Scotch())


def _header(source: Source) -> _Header:
    """Read version, counts and flags, which stand on three lines."""
    line, version = first_line(source, b"")
    if version.split() == [b"2"]:
        what = "a distributed Scotch graph, expected one file of version 0, which dggath makes"
        raise FormatError(source.name, line, what)
    if version.split() != [b"0"]:
        raise FormatError(source.name, line, f"{shown(version.strip())}, expected the version 0 alone")
    line, counts = first_line(source, b"", after=line)
    found = re.fullmatch(rb"\s*([0-9]{1,18})\s+([0-9]{1,18})\s*", counts)
    if found is None or int(found[1]) > MAX_TASKS:
        what = f"{shown(counts.strip())}, expected the numbers of vertices (at most {MAX_TASKS}) and of arcs"
        raise FormatError(source.name, line, what)
    line, text = first_line(source, b"", after=line)
    flags = re.fullmatch(rb"\s*([01])\s+([01]{1,3})\s*", text)
    if flags is None:
        what = f"{shown(text.strip())}, expected the first vertex number, 0 or 1, and three flags 0 or 1"
        raise FormatError(source.name, line, what)
    labels, edge_loads, loads = (flag == "1" for flag in flags[2].decode().zfill(3))
    return _Header(line, int(found[1]), int(found[2]), int(flags[1]), labels, edge_loads, loads)


def _rows(source: Source, header: _Header, numbers: Int64) -> tuple[Int64, Int64]:
    """Return where the row of each vertex starts, and its degree; each row says where the next one starts."""
    at, before, width = 0, header.labels + header.loads, 1 + header.edge_loads
    if header.n > len(numbers):
        what = f"{header.n} vertices in the header, more than {len(numbers)} numbers can describe"
        raise FormatError(source.name, header.line - 1, what)
    starts = np.empty(header.n, np.int64)
    known = memoryview(numbers.data)
    for vertex in range(header.n):
        starts[vertex] = at
        at += before
        if at >= len(numbers):
            what = f"the file ends after {vertex} vertices, expected {header.n}"
            raise FormatError(source.name, None, what)
        at += 1 + width * known[at]
    degrees = numbers[starts + before]
    arcs = int(degrees.sum())
    if arcs != header.arcs or at != len(numbers):
        what = f"{arcs} arcs and {len(numbers) - at} numbers behind them, expected {header.arcs} arcs alone"
        raise FormatError(source.name, header.line - 1, what)
    return starts, degrees


def _places(source: Source, names: Int64, ends: Int64) -> Int64:
    """Return the numbers from 0 of vertices that have names."""
    order = np.argsort(names, kind="stable")
    known = names[order]
    if bool(np.any(known[1:] == known[:-1])):
        twice = known[1:][known[1:] == known[:-1]][0]
        raise FormatError(source.name, None, f"label {twice} a second time, expected distinct labels")
    place = np.minimum(np.searchsorted(known, ends), max(len(known) - 1, 0))
    missing = known[place] != ends if len(known) else np.ones(len(ends), bool)
    if bool(np.any(missing)):
        raise FormatError(source.name, None, f"neighbour {ends[missing][0]}, expected a vertex of the file")
    return order[place]
