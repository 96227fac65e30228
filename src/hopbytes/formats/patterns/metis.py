"""METIS graph files: undirected, integer weights, one line per vertex, vertices numbered from 1.

Source: the file format of METIS (user manual 5.1, section 4.1.1) as KaHIP, KaMinPar and Mt-KaHyPar use it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from hopbytes import kernels
from hopbytes._arrays import Bool, Int32, Int64, UInt8
from hopbytes.errors import FormatError
from hopbytes.formats.base import HEAD_BYTES, MARK, Format, Source, Written, undirected_arcs
from hopbytes.formats.parsing import INITIAL_CAPACITY, first_line, parsed, raise_fault, whole_numbers
from hopbytes.kernels.records import Csr, Slot, Status
from hopbytes.model.comm_graph import CommGraph
from hopbytes.text.lines import shown
from hopbytes.text.open_input import NEVER_REFUSED
from hopbytes.util.integers import MAX_TASKS

ROWS_PER_PIECE = 1 << 14

#: Memory for the arrays of a graph, for each byte that content may have. Weights of one digit take three.
MEMORY_PER_BYTE = 6

#: What is added to an error about the header's edges where half of them would be right.
TWICE = " (the header counts an edge once, not in each direction)"


class Header(NamedTuple):
    """The first line of the file: ``n m [fmt [ncon]]``."""

    line: int
    n: int
    edges: int
    sizes: bool
    loads: int
    edge_weights: bool


class Metis(Format, form="metis"):
    """All flags are supported; the first weight of a vertex is its load, vertex sizes are skipped."""

    suffixes = (".graph", ".metis")
    summary = "METIS graph: undirected, integer edge and vertex weights"

    def sniff(self, name: str, head: bytes) -> bool:
        rows = [line.split() for line in head.split(b"\n")[:-1] if not line.startswith(b"%")]
        if head.startswith(b"%%") or not rows or not 2 <= len(rows[0]) <= 4:
            return False
        if not all(token.isdigit() for row in rows for token in row):
            return False
        if any(len(row) != len(rows[0]) for row in rows):
            return True
        # The graph of a ring looks like an edge list. Then both formats fit, and the user has to name one.
        n, ids = int(rows[0][0]), [int(token) for row in rows[1:] for token in row]
        whole = len(head) < HEAD_BYTES
        return bool(ids) and (len(rows) - 1 == n or not whole) and min(ids) >= 1 and max(ids) <= n

    def read(self, source: Source) -> CommGraph:
        header = read_header(source)
        # If the size of the file is known, the header was already checked against it.
        most = None if source.size is not None else INITIAL_CAPACITY
        room = (min(count, most or count) for count in (header.n, 2 * header.edges))
        rows = MetisRows(source, header, *_with_room(source, header, *room))
        for _ in rows.fill():
            rows.resize(*_with_room(source, header, *rows.more()))
        return _graph(rows)

    def write_pattern(self, graph: CommGraph) -> Written:
        keep, notices = undirected_arcs(graph, "METIS")
        if graph.volumes is not None and bool(np.any(graph.volumes[keep] == 0)):
            keep &= graph.volumes > 0
            notices.append("arcs without volume are left out: METIS weights must be above 0")
        return Written({"": _pieces(graph, keep)}, notices=tuple(notices))


def read_header(source: Source) -> Header:
    """Read and check the first line that is not a comment."""
    line, text = first_line(source, b"%")
    fields = text.split()

    def refuse(what: str) -> FormatError:
        return source.error(what, line)

    if not 2 <= len(fields) <= 4 or not all(f.isdigit() and len(f) < 20 for f in fields):
        raise refuse(f"{shown(text.strip())}, expected a header: vertices edges [flags [weights per vertex]]")
    n, edges = int(fields[0]), int(fields[1])
    flags = fields[2].decode().zfill(3) if len(fields) > 2 else "000"
    if len(flags) != 3 or set(flags) - set("01"):
        raise refuse(f"flags {flags!r}, expected three digits 0 or 1 (sizes, vertex weights, edge weights)")
    sizes, vertex_weights, edge_weights = (flag == "1" for flag in flags)
    per_vertex = int(fields[3]) if len(fields) > 3 else 1
    if vertex_weights and not 1 <= per_vertex <= MAX_TASKS:
        raise refuse(f"{per_vertex} weights per vertex, expected 1 to {MAX_TASKS}")
    if n > MAX_TASKS:
        raise refuse(f"{n} vertices, expected at most {MAX_TASKS}")
    # Each neighbour needs a digit and a blank, its weight needs the same, and each vertex needs a newline.
    least = max(2 * edges * (4 if edge_weights else 2) - 1, n - 1)
    if source.size is not None and least > source.size:
        what = f"{n} vertices and {edges} edges, more than a file of {source.size} bytes can hold"
        raise refuse(what + (TWICE if least // 2 <= source.size else ""))
    return Header(line, n, edges, sizes, per_vertex if vertex_weights else 0, edge_weights)


class MetisRows:
    """The rows of a file, in arrays that the compiled parser fills."""

    def __init__(self, source: Source, header: Header, rows: int, arcs: int) -> None:
        self.source, self.header = source, header
        self.indptr = np.zeros(rows + 1, np.int64)
        self.targets = np.empty(arcs, np.int32)
        self.weights = np.empty(arcs if header.edge_weights else 0, np.int64)
        self.loads = np.empty(rows if header.loads else 0, np.int64)
        self.state = np.zeros(len(Slot), np.int64)
        self.state[Slot.LINE] = header.line + 1
        self.state[Slot.VERTICES] = header.n
        self.state[Slot.SIZES] = header.sizes
        self.state[Slot.LOADS] = header.loads
        self.state[Slot.EDGE_WEIGHTS] = header.edge_weights

    def fill(self) -> Iterator[None]:
        """Parse the rest of the file; yield wherever an array is full, and whoever asked makes room."""

        def parse(text: UInt8, final: bool, state: Int64) -> int:
            return kernels.parse_metis(
                text, final, state, self.indptr, self.targets, self.weights, self.loads
            )

        for status, token in parsed(self.source, parse, self.state):
            if status is not Status.ROOM:
                raise_fault(self.source, self.state, status, token, f"a neighbour from 1 to {self.header.n}")
            yield

    def more(self) -> tuple[int, int]:
        """Return more rows or arcs than there is room for, up to those of the header."""
        rows, arcs, most = len(self.indptr) - 1, len(self.targets), 2 * self.header.edges
        if int(self.state[Slot.ROW]) >= rows:
            return min(2 * rows, self.header.n), arcs
        if arcs >= most:
            what = f"more neighbours than expected, 2 for each of the header's {self.header.edges} edges"
            raise FormatError(self.source.name, int(self.state[Slot.LINE]), what)
        return rows, min(2 * arcs, most)

    def resize(self, rows: int, arcs: int) -> None:
        """Make room; this may move the arrays, of which the compiled code keeps no pointer between calls."""
        self.indptr.resize(rows + 1, refcheck=False)
        self.loads.resize(rows if self.header.loads else 0, refcheck=False)
        self.targets.resize(arcs, refcheck=False)
        self.weights.resize(arcs if self.header.edge_weights else 0, refcheck=False)

    def check_end(self, arcs: int) -> None:
        """Raise FormatError unless there are as many rows, and as many arcs in all, as the header says."""
        header, rows = self.header, int(self.state[Slot.ROW])
        if rows < header.n:
            what = f"the file ends after {rows} vertices, expected {header.n}"
            raise FormatError(self.source.name, int(self.state[Slot.LINE]), what)
        if arcs != 2 * header.edges:
            found = f"{arcs // 2} edges" if arcs % 2 == 0 else f"{arcs} neighbours, an odd number"
            why = TWICE if arcs == header.edges else " (is the file complete?)"
            what = f"{found}, expected {header.edges} edges as in the header{why}"
            raise FormatError(self.source.name, header.line, what)


def ignored(header: Header) -> list[str]:
    """Return notices about weights that are not used."""
    notices = ["vertex sizes are ignored"] if header.sizes else []
    if header.loads > 1:
        notices.append(f"of {header.loads} weights per vertex only the first is used, as the load")
    return notices


def _with_room(source: Source, header: Header, rows: int, arcs: int) -> tuple[int, int]:
    """Refuse arrays that take several times the memory that content may have: rows of a byte each do."""
    room = 8 * (1 + bool(header.loads)) * rows + (4 + 8 * bool(header.edge_weights)) * arcs
    most = max(MEMORY_PER_BYTE * source.max_bytes, NEVER_REFUSED)
    if room > most:
        what = f"{header.n} vertices, {header.edges} edges: they need {room} bytes of memory"
        hint = f"expected at most {most}, {MEMORY_PER_BYTE} times `max_bytes`"
        raise source.error(f"{what}, {hint}", header.line)
    return rows, arcs


def _graph(rows: MetisRows) -> CommGraph:
    """Check counts and symmetry, which requires the whole file, and build the graph."""
    header, source = rows.header, rows.source
    rows.check_end(int(rows.state[Slot.ARCS]))
    volumes = rows.weights if header.edge_weights else None
    fault = kernels.find_asymmetry(Csr(rows.indptr, rows.targets, volumes), source.workers)
    if fault >= 0:
        vertex, what = _asymmetry(rows.indptr, rows.targets, volumes, fault)
        # If there are comments between the rows, the line of a vertex is unknown.
        raise FormatError(source.name, None if rows.state[Slot.COMMENTS] else header.line + vertex, what)
    return CommGraph.of_own(
        rows.indptr, rows.targets, volumes, loads=rows.loads if header.loads else None, undirected=True,
        meta={"name": source.title, "format": "metis", "notices": ignored(header)},
    )


def _asymmetry(indptr: Int64, targets: Int32, volumes: Int64 | None, arc: int) -> tuple[int, str]:
    """Return a vertex (from 1) with an edge whose directions differ, and the error message for it."""
    u, v = int(np.searchsorted(indptr, arc, "right")) - 1, int(targets[arc])

    def weight(a: int, b: int) -> int | None:
        row = slice(int(indptr[a]), int(indptr[a + 1]))
        arc = int(np.searchsorted(targets[row], b))
        if arc == row.stop - row.start or targets[row][arc] != b:
            return None
        return 1 if volumes is None else int(volumes[row][arc])

    # The kernel reports the first mismatch of the two sorted directions, which may be one arc too late.
    # Therefore the whole row is checked.
    for a, b in [(u, v), *((v, int(t)) for t in targets[indptr[v] : indptr[v + 1]])]:
        there, back = weight(a, b), weight(b, a)
        if there is None or back is None:
            a, b = (a, b) if back is None else (b, a)
            return a + 1, f"vertex {a + 1} lists {b + 1}, but {b + 1} does not list {a + 1}, expected both"
        if there != back:
            what = f"edge {a + 1} - {b + 1} has weight {there}, but {back} in the row of {b + 1}"
            return a + 1, f"{what}, expected equal weights"
    raise AssertionError("an asymmetry was reported where there is none")


def _pieces(graph: CommGraph, keep: Bool) -> Iterator[bytes]:
    """Yield the text of the file in pieces of some thousand lines."""
    kept = np.concatenate([[0], np.cumsum(keep, dtype=np.int64)])[graph.indptr]
    targets = graph.targets[keep] + 1
    volumes = None if graph.volumes is None else graph.volumes[keep]
    flags = f" {int(graph.loads is not None)}{int(volumes is not None)}".replace(" 0", " ")
    header = f"{graph.n} {len(targets) // 2}{flags if flags.strip('0 ') else ''}"
    yield f"% {MARK}\n{header}\n".encode()
    for first in range(0, graph.n, ROWS_PER_PIECE):
        last = min(first + ROWS_PER_PIECE, graph.n)
        begin, end = int(kept[first]), int(kept[last])
        words = list(map(str, targets[begin:end].tolist()))
        if volumes is not None:
            words = [f"{t} {w}" for t, w in zip(words, volumes[begin:end].tolist(), strict=True)]
        cuts = (kept[first : last + 1] - begin).tolist()
        lines = [" ".join(words[a:b]) for a, b in pairwise(cuts)]
        if graph.loads is not None:
            loads = graph.loads[first:last].tolist()
            lines = [f"{load} {line}".rstrip() for load, line in zip(loads, lines, strict=True)]
        yield ("\n".join(lines) + "\n").encode()


#: The first three lines of a file: the version alone, two numbers, two numbers. Lists of edges look similar.
BEGINNING = re.compile(rb"\A\s*0\s*\n\s*[0-9]+\s+[0-9]+\s*\n\s*[01]\s+[01]{1,3}\s*\n")


class _ScotchHeader(NamedTuple):
    line: int
    n: int
    arcs: int
    base: int
    labels: bool
    edge_loads: bool
    loads: bool


class Scotch(Format, form="scotch"):
    """Vertices may have labels; edge loads become volumes, vertex loads the loads of tasks."""

    signature = BEGINNING
    suffixes = (".grf", ".src")
    summary = "Scotch graph: undirected, integer edge and vertex loads; OpenFOAM writes one of its mesh"

    def read(self, source: Source) -> CommGraph:
        header = _scotch_header(source)
        numbers = whole_numbers(source.name, header.line + 1, source.stream.read())
        starts, degrees = _scotch_rows(source, header, numbers)
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


def _scotch_header(source: Source) -> _ScotchHeader:
    """Read version, counts and flags, which stand on three lines."""
    line, version = first_line(source, b"")
    if version.split() == [b"2"]:
        what = "a distributed Scotch graph, expected one file of version 0, which dggath makes"
        raise source.error(what, line)
    if version.split() != [b"0"]:
        raise source.error(f"{shown(version.strip())}, expected the version 0 alone", line)
    line, counts = first_line(source, b"", after=line)
    match = re.fullmatch(rb"\s*([0-9]{1,18})\s+([0-9]{1,18})\s*", counts)
    if match is None or int(match[1]) > MAX_TASKS:
        what = f"{shown(counts.strip())}, expected the numbers of vertices (at most {MAX_TASKS}) and of arcs"
        raise source.error(what, line)
    line, text = first_line(source, b"", after=line)
    flags = re.fullmatch(rb"\s*([01])\s+([01]{1,3})\s*", text)
    if flags is None:
        what = f"{shown(text.strip())}, expected the first vertex number, 0 or 1, and three flags 0 or 1"
        raise source.error(what, line)
    labels, edge_loads, loads = (flag == "1" for flag in flags[2].decode().zfill(3))
    return _ScotchHeader(line, int(match[1]), int(match[2]), int(flags[1]), labels, edge_loads, loads)


def _scotch_rows(source: Source, header: _ScotchHeader, numbers: Int64) -> tuple[Int64, Int64]:
    """Return where the row of each vertex starts, and its degree; each row says where the next one starts."""
    at, before, width = 0, header.labels + header.loads, 1 + header.edge_loads
    if header.n > len(numbers):
        what = f"{header.n} vertices in the header, more than {len(numbers)} numbers can describe"
        raise source.error(what, header.line - 1)
    starts = np.empty(header.n, np.int64)
    known = memoryview(numbers.data)
    for vertex in range(header.n):
        starts[vertex] = at
        at += before
        if at >= len(numbers):
            raise source.error(f"the file ends after {vertex} vertices, expected {header.n}")
        at += 1 + width * known[at]
    degrees = numbers[starts + before]
    arcs = int(degrees.sum())
    if arcs != header.arcs or at != len(numbers):
        what = f"{arcs} arcs and {len(numbers) - at} numbers behind them, expected {header.arcs} arcs alone"
        raise source.error(what, header.line - 1)
    return starts, degrees


def _places(source: Source, names: Int64, ends: Int64) -> Int64:
    """Return the numbers from 0 of vertices that have names."""
    order = np.argsort(names, kind="stable")
    known = names[order]
    if bool(np.any(known[1:] == known[:-1])):
        twice = known[1:][known[1:] == known[:-1]][0]
        raise source.error(f"label {twice} a second time, expected distinct labels")
    position = np.minimum(np.searchsorted(known, ends), max(len(known) - 1, 0))
    missing = known[position] != ends if len(known) else np.ones(len(ends), bool)
    if bool(np.any(missing)):
        raise source.error(f"neighbour {ends[missing][0]}, expected a vertex of the file")
    return order[position]
