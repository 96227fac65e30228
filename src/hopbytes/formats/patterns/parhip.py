"""The binary layout of ParHIP: a header of three words, row offsets in bytes, neighbours, weights.

Source: the user guide of KaHIP (section on binary files of ParHIP), with the flags that KaMinPar adds for
weights and for numbers of 32 bits.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from hopbytes import kernels
from hopbytes._arrays import Array, Bool, Int32, Int64
from hopbytes.formats.base import Format, Source, Written, undirected_arcs
from hopbytes.formats.parsing import filled
from hopbytes.model.comm_graph import CommGraph
from hopbytes.util.integers import MAX_TASKS

#: Flags of the first word; a set bit means absent, or of 32 instead of 64 bits.
NO_ARC_WEIGHTS, NO_LOADS, NARROW_OFFSETS, NARROW_TARGETS, NARROW_LOADS, NARROW_WEIGHTS = (
    1 << bit for bit in range(6)
)
HEADER_BYTES = 24
ARCS_PER_PIECE = 1 << 20
NUMBERS_PER_PIECE = 1 << 17


class Layout(NamedTuple):
    """What the header of a file says about the rest."""

    n: int
    arcs: int
    #: for "offsets", "neighbours" and, if present, "vertex weights" and "edge weights" the type of the
    #: numbers, how many there are, and where the first one begins
    parts: dict[str, tuple[str, int, int]]


class Parhip(Format, form="parhip"):
    """Undirected graphs with 32 or 64 bits per number; loads and volumes may be absent."""

    suffixes = (".parhip", ".bgf")
    binary = True
    summary = "binary graph of ParHIP and KaMinPar: undirected, integer weights"

    def sniff(self, name: str, head: bytes) -> bool:
        if len(head) < HEADER_BYTES + 8:
            return False
        flags, n, _ = (int(word) for word in np.frombuffer(head[:HEADER_BYTES], "<u8"))
        width = 4 if flags & NARROW_OFFSETS else 8
        first = int.from_bytes(head[HEADER_BYTES : HEADER_BYTES + width], "little")
        return flags < 64 and n <= MAX_TASKS and first == HEADER_BYTES + width * (n + 1)

    def read(self, source: Source) -> CommGraph:
        layout = read_layout(source)
        parts = {what: _take(source, what, *part[:2]) for what, part in layout.parts.items()}
        dtype, _, begin = layout.parts["neighbours"]
        width, indptr, (targets, largest) = np.dtype(dtype).itemsize, parts["offsets"][0], parts["neighbours"]
        loads, volumes = (parts.get(what, (None, 0))[0] for what in ("vertex weights", "edge weights"))
        indptr -= begin
        aligned = not np.any(indptr % width)
        indptr //= width
        in_order = int(indptr[0]) == 0 and int(indptr[-1]) == layout.arcs
        if not in_order or not aligned or np.any(np.diff(indptr) < 0):
            what = f"offsets of rows, expected ascending ones from {begin} to {begin + width * layout.arcs}"
            raise source.error(what)
        if largest >= layout.n:
            raise source.error(f"neighbour {largest}, expected vertices from 0 to {layout.n - 1}")
        return _graph(source, indptr, targets, volumes, loads)

    def write_pattern(self, graph: CommGraph) -> Written:
        keep, notices = undirected_arcs(graph, "ParHIP")
        return Written({"": _pieces(graph, keep)}, notices=tuple(notices))


def read_layout(source: Source) -> Layout:
    """Read the header; FormatError if it is malformed or the file has not the size that follows from it."""
    words = source.stream.read(HEADER_BYTES)
    if len(words) < HEADER_BYTES:
        what = f"{len(words)} bytes, expected a header of {HEADER_BYTES} bytes: flags, vertices, arcs"
        raise source.error(what)
    flags, n, arcs = (int(word) for word in np.frombuffer(words, "<u8"))
    if flags >= 64:
        raise source.error(f"flags {flags}, expected 0 to 63 (is this a ParHIP file?)")
    if n > MAX_TASKS:
        raise source.error(f"{n} vertices, expected at most {MAX_TASKS}")
    listed = [("offsets", f"<u{_width(flags, NARROW_OFFSETS)}", n + 1)]
    listed += [("neighbours", f"<u{_width(flags, NARROW_TARGETS)}", arcs)]
    if not flags & NO_LOADS:
        listed += [("vertex weights", f"<i{_width(flags, NARROW_LOADS)}", n)]
    if not flags & NO_ARC_WEIGHTS:
        listed += [("edge weights", f"<i{_width(flags, NARROW_WEIGHTS)}", arcs)]
    parts, at = {}, HEADER_BYTES
    for what, dtype, count in listed:
        parts[what] = (dtype, count, at)
        at += np.dtype(dtype).itemsize * count
    if source.size is not None and source.size != at:
        found = f"{source.size} bytes, expected {at} for {n} vertices and {arcs} arcs"
        raise source.error(f"{found} (is the file complete?)")
    return Layout(n, arcs, parts)


def _width(flags: int, narrow: int) -> int:
    return 4 if flags & narrow else 8


def _take(source: Source, what: str, dtype: str, count: int) -> tuple[Array, int]:
    """Return the numbers of a part, neighbours in 32 bits, others in 64, and the largest, else -1."""
    # They are read piece by piece, so that there never are as many of 64 bits as arcs. Without a size of the
    # file, which was compared with the header, memory grows with the content only.
    kept = np.int32 if what == "neighbours" else np.int64
    numbers: Array = np.empty(0 if source.size is None else count, kept)
    piece: Array = np.empty(min(count, NUMBERS_PER_PIECE), dtype)
    largest = -1
    for held in range(0, count, NUMBERS_PER_PIECE):
        read = piece[: count - held]
        if not filled(read, source.stream):
            raise source.error(f"the file ends inside the {what}, expected {count} numbers there")
        if dtype[1] == "i" and int(read.min()) < 0:
            raise source.error(f"{what}: {read.min()}, expected numbers >= 0")
        largest = max(largest, int(read.max()))
        if held + len(read) > len(numbers):
            numbers.resize(min(count, 2 * len(numbers) + NUMBERS_PER_PIECE), refcheck=False)
        numbers[held : held + len(read)] = read.astype(kept)
    return numbers, largest


def _graph(
    source: Source, indptr: Int64, narrow: Int32, volumes: Int64 | None, loads: Int64 | None
) -> CommGraph:
    """Sort the rows where that is needed, check both directions and build the graph."""
    if kernels.check_csr(indptr, narrow, source.workers) >= 0:
        sources = np.repeat(np.arange(len(indptr) - 1, dtype=np.int64), np.diff(indptr))
        order = np.lexsort((narrow, sources))
        narrow = np.ascontiguousarray(narrow[order])
        volumes = None if volumes is None else np.ascontiguousarray(volumes[order])
        row = kernels.check_csr(indptr, narrow)
        if row >= 0:
            raise source.error(f"vertex {row} lists a neighbour twice, expected it once")
    graph = CommGraph.of_own(
        indptr, narrow, volumes, loads=loads, undirected=True,
        meta={"name": source.title, "format": "parhip"},
    )
    if graph.has_loops(source.workers):
        raise source.error("a vertex is its own neighbour, expected no loops")
    arc = kernels.find_asymmetry(graph.arcs(volumes), source.workers)
    if arc >= 0:
        vertex = int(np.searchsorted(indptr, arc, "right")) - 1
        what = f"the edge of vertices {vertex} and {narrow[arc]} differs in its two directions, expected both"
        raise source.error(f"{what} with equal weights")
    return graph


def _pieces(graph: CommGraph, keep: Bool) -> Iterator[bytes]:
    """Yield the file with 64-bit offsets and weights and 32-bit neighbours."""
    targets = graph.targets[keep]
    kept = np.concatenate([[0], np.cumsum(keep, dtype=np.int64)])[graph.indptr]
    flags = NARROW_TARGETS
    flags |= NO_ARC_WEIGHTS if graph.volumes is None else 0
    flags |= NO_LOADS if graph.loads is None else 0
    yield np.array([flags, graph.n, len(targets)], "<u8").tobytes()
    yield (HEADER_BYTES + 8 * (graph.n + 1) + 4 * kept).astype("<u8").tobytes()
    arrays: list[tuple[Array | None, str]] = [
        (targets, "<u4"), (graph.loads, "<i8"),
        (None if graph.volumes is None else graph.volumes[keep], "<i8"),
    ]
    for array, dtype in arrays:
        for first in range(0, 0 if array is None else len(array), ARCS_PER_PIECE):
            assert array is not None
            yield array[first : first + ARCS_PER_PIECE].astype(dtype).tobytes()
