"""Records that kernels and searches take as arguments."""

from __future__ import annotations

from typing import NamedTuple

from hopbytes._arrays import Int32, Int64, UInt64


class Csr(NamedTuple):
    """A weighted graph as arrays; symmetric and without diagonal unless a function says otherwise.

    Parameters
    ----------
    indptr : int64[n+1]
        Row pointers.
    targets : int32[m]
        Sorted within rows, without duplicates; a symmetric graph holds both arcs of every edge.
    weights : int64[m] or None
        None: every weight is 1.
    """

    indptr: Int64
    targets: Int32
    weights: Int64 | None

    @property
    def n(self) -> int:
        """Number of vertices."""
        return len(self.indptr) - 1


class Distances(NamedTuple):
    """Distances of k PEs: of a tree, as a table, or of a network; all None where they do not matter.

    Parameters
    ----------
    labels, bit_costs : uint64[k], int64[65]
        A tree, see :class:`hopbytes.machines.place_distances.TreeDistance`.
    table : int64[k*k]
        Symmetric distances row by row. With `labels` it is the packed network of
        :class:`hopbytes.machines.network.node_distances.LoweredNetwork`.
    """

    labels: UInt64 | None = None
    bit_costs: Int64 | None = None
    table: Int64 | None = None


#: For searches that look at weights between blocks only.
NO_DISTANCES = Distances()
