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


class Status(IntEnum):
    """The reason why a parser stopped (core/io/tokens.hpp)."""

    DONE = 0
    ROOM = 1
    DECIMAL = 2
    NOT_A_NUMBER = 3
    NEGATIVE = 4
    TOO_LARGE = 5
    OUT_OF_RANGE = 6
    NOT_WHOLE = 7
    LOOP = 8
    DUPLICATE = 9
    MISSING_WEIGHT = 10
    MISSING_LOAD = 11
    TOO_MANY_LINES = 12
    WRONG_COUNT = 13
    EMPTY_FIELD = 14
    MIXED = 15


class Slot(IntEnum):
    """Entries of a parser's state array (core/io/tokens.hpp)."""

    STATUS = 0
    LINE = 1
    FIELD = 2
    COMMENT = 3
    BEGIN = 4
    END = 5
    ROW = 6
    ARCS = 7
    ROW_BEGIN = 8
    PENDING = 9
    UNSORTED = 10
    COMMA = 11
    SEPARATOR = 12
    VERTICES = 13
    SIZES = 14
    LOADS = 15
    EDGE_WEIGHTS = 16
    COLUMNS = 17
    TASK_COLUMNS = 18
    TASK_LIMIT = 19
    WHOLE_COLUMNS = 20
    COMMENTS = 21


class Counter(IntEnum):
    """Entries of the counters of a mapping by blocks (core/streaming/stream_tree.hpp)."""

    REMAINING = 0
    FILL_ALL = 1
    FORCED = 2
    OVERFULL = 3
    MOVES = 4
