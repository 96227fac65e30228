"""METIS graph files: undirected, integer weights, one line per vertex, vertices numbered from 1.

Source: the file format of METIS (user manual 5.1, section 4.1.1) as KaHIP, KaMinPar and Mt-KaHyPar use it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from collections.abc import Mapping as Dictionary
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from hopbytes import kernels
from hopbytes._arrays import Bool, Int32, Int64, UInt8
from hopbytes.errors import FormatError, UnsupportedError
from hopbytes.formats.base import HEAD_BYTES, MARK, Format, Source, Written, formats
from hopbytes.formats.parsing import INITIAL_CAPACITY, first_line, raise_fault, run_parser, shown
from hopbytes.formats.patterns.symmetrize import symmetrized
from hopbytes.kernels.records import Csr, Slot, Status
from hopbytes.model.comm_graph import CommGraph
from hopbytes.text.open_input import NEVER_REFUSED
from hopbytes.util.integers import MAX_TASKS

ROWS_PER_PIECE = 1 << 14

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


class Metis(Format):
    """All flags are supported; the first weight of a vertex is its load, vertex sizes are skipped."""

    holds = "pattern"
    suffixes = (".graph", ".metis")
    summary = "METIS graph: undirected, integer edge and vertex weights"

    def sniff(self, name: str, head: bytes) -> bool:
        """Tell whether a first line of two to four numbers is followed by rows of neighbours."""
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
        """Return an undirected graph; volumes and loads are None if the file has no such weights."""
        header = read_header(source)
        rows = _Rows(source, header)
        run_parser(source, rows.parse, rows.state, rows.intervene)
        return rows.graph()

    def write_pattern(self, graph: CommGraph, options: Dictionary[str, Any]) -> Written:
        """Return the file of a symmetric pattern, or with ``symmetrize`` of any pattern."""
        notices: list[str] = []
        if graph.messages is not None:
            notices.append("message counts are lost: METIS files hold one weight per edge")
            graph = dataclasses.replace(graph, messages=None)
        if options.get("symmetrize"):
            graph, more = symmetrized(graph)
            notices += more
        elif not graph.undirected and kernels.find_asymmetry(graph.arcs(graph.volumes)) >= 0:
            raise UnsupportedError(
                "the pattern is not symmetric, expected one that is, for METIS: use `symmetrize=True`"
            )
        keep = graph.targets != graph.sources()
        dropped = int(graph.m - np.count_nonzero(keep))
        if dropped:
            notices.append(f"{dropped} arcs of tasks to themselves are left out: METIS cannot hold them")
        if graph.volumes is not None and bool(np.any(graph.volumes[keep] == 0)):
            keep &= graph.volumes > 0
            notices.append("arcs without volume are left out: METIS weights must be above 0")
        if graph.scale != 1:
            notices.append(f"volumes are the numbers of the source times {graph.scale}")
        return Written({"": _pieces(graph, keep)}, notices=tuple(notices))


formats.register("metis")(Metis())


def read_header(source: Source) -> Header:
    """Read and check the first line that is not a comment."""
    line, text = first_line(source, b"%")
    fields = text.split()

    def refuse(what: str) -> FormatError:
        return FormatError(source.name, line, what)

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


#: Memory for the arrays of a graph, for each byte that content may have. Weights of one digit take three.
MEMORY_PER_BYTE = 6


class _Rows:
    """The arrays that the parser fills; they grow with the parsed content, not with the header's numbers."""

    def __init__(self, source: Source, header: Header) -> None:
        self.source, self.header = source, header
        # If the size of the file is known, the header was already checked against it.
        size_known = source.size is not None
        arcs = 2 * header.edges if size_known else min(2 * header.edges, INITIAL_CAPACITY)
        rows = header.n if size_known else min(header.n, INITIAL_CAPACITY)
        self._check_room(rows, arcs)
        self.indptr = np.zeros(1, np.int64)
        self.indptr.resize(rows + 1, refcheck=False)
        self.targets = np.empty(arcs, np.int32)
        self.weights = np.empty(arcs if header.edge_weights else 0, np.int64)
        self.loads = np.empty(rows if header.loads else 0, np.int64)
        self.state = np.zeros(len(Slot), np.int64)
        self.state[Slot.LINE] = header.line + 1
        self.state[Slot.VERTICES] = header.n
        self.state[Slot.SIZES] = header.sizes
        self.state[Slot.LOADS] = header.loads
        self.state[Slot.EDGE_WEIGHTS] = header.edge_weights

    def _check_room(self, rows: int, arcs: int) -> None:
        """Refuse arrays that take several times the memory that content may have: rows of a byte each do."""
        weighed, loaded = bool(self.header.edge_weights), bool(self.header.loads)
        room = 8 * (1 + loaded) * rows + (4 + 8 * weighed) * arcs
        most = max(MEMORY_PER_BYTE * self.source.max_bytes, NEVER_REFUSED)
        if room > most:
            what = f"{self.header.n} vertices, {self.header.edges} edges: they need {room} bytes of memory"
            hint = f"expected at most {most}, {MEMORY_PER_BYTE} times `max_bytes`"
            raise FormatError(self.source.name, self.header.line, f"{what}, {hint}")

    def parse(self, text: UInt8, final: bool, state: Int64) -> int:
        return kernels.parse_metis(text, final, state, self.indptr, self.targets, self.weights, self.loads)

    def intervene(self, status: Status, token: bytes) -> None:
        if status is not Status.ROOM:
            raise_fault(self.source, self.state, status, token, f"a neighbour from 1 to {self.header.n}")
        # Resizing may move the arrays, which is safe: the compiled code keeps no pointer between calls.
        rows, arcs = len(self.indptr) - 1, len(self.targets)
        if int(self.state[Slot.ROW]) >= rows:
            rows = min(2 * rows, self.header.n)
            self._check_room(rows, arcs)
            self.indptr.resize(rows + 1, refcheck=False)
            self.loads.resize(rows if self.header.loads else 0, refcheck=False)
        elif arcs < 2 * self.header.edges:
            arcs = min(2 * arcs, 2 * self.header.edges)
            self._check_room(rows, arcs)
            self.targets.resize(arcs, refcheck=False)
            self.weights.resize(arcs if self.header.edge_weights else 0, refcheck=False)
        else:
            what = f"more neighbours than expected, 2 for each of the header's {self.header.edges} edges"
            raise FormatError(self.source.name, int(self.state[Slot.LINE]), what)

    def graph(self) -> CommGraph:
        """Check counts and symmetry, which requires the whole file, and build the graph."""
        header, rows, arcs = self.header, int(self.state[Slot.ROW]), int(self.state[Slot.ARCS])
        line, name = int(self.state[Slot.LINE]), self.source.name
        if rows < header.n:
            raise FormatError(name, line, f"the file ends after {rows} vertices, expected {header.n}")
        volumes = self.weights if header.edge_weights else None
        if arcs == 2 * header.edges:
            fault = kernels.find_asymmetry(Csr(self.indptr, self.targets, volumes), self.source.workers)
            if fault >= 0:
                vertex, what = _asymmetry(self.indptr, self.targets, volumes, fault)
                # If there are comments between the rows, the line of a vertex is unknown.
                place = None if self.state[Slot.COMMENTS] else header.line + vertex
                raise FormatError(name, place, what)
        else:
            found = f"{arcs // 2} edges" if arcs % 2 == 0 else f"{arcs} neighbours, an odd number"
            why = TWICE if arcs == header.edges else " (is the file complete?)"
            what = f"{found}, expected {header.edges} edges as in the header{why}"
            raise FormatError(name, header.line, what)
        notices: list[str] = []
        if header.sizes:
            notices.append("vertex sizes are ignored")
        if header.loads > 1:
            notices.append(f"of {header.loads} weights per vertex only the first is used, as the load")
        return CommGraph.of_own(
            self.indptr, self.targets, volumes, loads=self.loads if header.loads else None, undirected=True,
            meta={"name": self.source.title, "format": "metis", "notices": notices},
        )


def _asymmetry(indptr: Int64, targets: Int32, volumes: Int64 | None, arc: int) -> tuple[int, str]:
    """Return a vertex (from 1) with an edge whose directions differ, and the error message for it."""
    u, v = int(np.searchsorted(indptr, arc, "right")) - 1, int(targets[arc])

    def weight(a: int, b: int) -> int | None:
        row = slice(int(indptr[a]), int(indptr[a + 1]))
        place = int(np.searchsorted(targets[row], b))
        if place == row.stop - row.start or targets[row][place] != b:
            return None
        return 1 if volumes is None else int(volumes[row][place])

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
