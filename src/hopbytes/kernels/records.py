"""Records that kernels and searches take as arguments, and the numbers that they agree on."""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

from hopbytes._arrays import Int32, Int64, UInt64


class Csr(NamedTuple):
    """A weighted graph as arrays; symmetric and without diagonal unless a function says otherwise."""

    indptr: Int64  # int64[n+1]: Row pointers
    #: int32[m]: Target of every arc, sorted within rows and without duplicates. A symmetric graph contains
    #: both arcs of every edge.
    targets: Int32
    weights: Int64 | None  # int64[m] or None: Weight of every arc; None means 1 each

    @property
    def n(self) -> int:
        return len(self.indptr) - 1


class Distances(NamedTuple):
    """Distances between k PEs, given by a tree, a dense table or a network; all None if they are not used."""

    #: uint64[k]: Label of every PE and cost of every bit of a tree, see
    #: :class:`hopbytes.machines.distances.TreeDistance`.
    labels: UInt64 | None = None
    bit_costs: Int64 | None = None  # int64[65]
    #: int64[k*k]: Symmetric distances row by row. Together with `labels` it is the packed array of a network,
    #: see :meth:`hopbytes.machines.distances.NetworkDistance.lowered`.
    table: Int64 | None = None


#: Searches that minimise only the weight between blocks take this value, because they use no distances.
NO_DISTANCES = Distances()

#: Sets of pairs that :func:`hopbytes.engine.slots.pair_search` tries.
ALL_PAIRS, BLOCKS, NEAR_PAIRS, LISTED_PAIRS = 0, 1, 2, 3

#: The reason why a parser stopped, in the order of core/io/tokens.hpp.
Status = IntEnum("Status", [
    "DONE", "ROOM", "DECIMAL", "NOT_A_NUMBER", "NEGATIVE", "TOO_LARGE", "OUT_OF_RANGE", "NOT_WHOLE", "LOOP",
    "DUPLICATE", "MISSING_WEIGHT", "MISSING_LOAD", "TOO_MANY_LINES", "WRONG_COUNT", "EMPTY_FIELD", "MIXED",
], start=0)  # fmt: skip

#: Entries of a parser's state array, in the order of core/io/tokens.hpp.
Slot = IntEnum("Slot", [
    "STATUS", "LINE", "FIELD", "COMMENT", "BEGIN", "END", "ROW", "ARCS", "ROW_BEGIN", "PENDING", "UNSORTED",
    "COMMA", "SEPARATOR", "VERTICES", "SIZES", "LOADS", "EDGE_WEIGHTS", "COLUMNS", "TASK_COLUMNS",
    "TASK_LIMIT", "WHOLE_COLUMNS", "COMMENTS",
], start=0)  # fmt: skip

#: Entries of the counters of a mapping by blocks, in the order of core/streaming/stream_tree.hpp.
Counter = IntEnum("Counter", ["REMAINING", "FILL_ALL", "FORCED", "OVERFULL", "MOVES"], start=0)
