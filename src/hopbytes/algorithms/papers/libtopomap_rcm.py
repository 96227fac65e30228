"""The mapping of LibTopoMap by bandwidth reduction: both graphs in reverse Cuthill-McKee order."""

from __future__ import annotations

import numpy as np

from hopbytes import kernels
from hopbytes._arrays import Int32, Int64
from hopbytes._frozen import frozen
from hopbytes.algorithms.base import Effort, mappers
from hopbytes.algorithms.papers.libtopomap import TopologyMapper, in_step
from hopbytes.algorithms.two_level import Grouped, HostGraph
from hopbytes.kernels.records import Csr


@mappers.register("libtopomap_rcm")
@frozen
class TopologyRcm(TopologyMapper):
    """Assign groups to nodes, both in the reverse Cuthill-McKee order of their graphs.

    Parameters
    ----------
    guarded : bool
        Return the mapping in order if its maximum congestion is lower.
    repetitions, initial_partitions : int
        Effort of the partition to nodes.

    Raises
    ------
    UnsupportedError
        If the links of the machine are unknown.

    Notes
    -----
    Hoefler and Snir, "Generic topology mapping strategies for large-scale parallel architectures", ICS 2011.
    In this order the nonzeros of a sparse matrix are near the diagonal, so groups that communicate are
    assigned to nodes that are near each other. Weights are ignored. The order of the network includes routers
    and switches, which are then skipped. O(n + links log links).
    """

    def place(self, grouped: Grouped, hosts: HostGraph, effort: Effort) -> Int32:
        """Return int32[G], the node of every group."""
        csr = grouped.graph.symmetric_positive()
        network = _order(hosts.indptr, hosts.targets)
        effort.spend(len(csr.targets) + len(hosts.targets))
        return in_step(_order(csr.indptr, csr.targets), network[network < hosts.places], grouped)


def _order(indptr: Int64, targets: Int32) -> Int64:
    return kernels.reverse_cuthill_mckee(Csr(indptr, targets, None)).astype(np.int64)
