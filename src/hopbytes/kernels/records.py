"""Records that kernels and searches take as arguments."""

from __future__ import annotations

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
        """Number of vertices."""
        return len(self.indptr) - 1


class Distances(NamedTuple):
    """Distances between k PEs, given by a tree, a dense table or a network; all None if they are not used."""

    #: uint64[k]: Label of every PE and cost of every bit of a tree, see
    #: :class:`hopbytes.machines.distances.TreeDistance`.
    labels: UInt64 | None = None
    bit_costs: Int64 | None = None  # int64[65]
    #: int64[k*k]: Symmetric distances row by row. Together with `labels` it is the packed array of a network,
    #: see :class:`hopbytes.machines.distances.LoweredNetwork`.
    table: Int64 | None = None


#: Searches that minimise only the weight between blocks take this value, because they use no distances.
NO_DISTANCES = Distances()
