"""LibTopoMap's mapping by bandwidth reduction: both graphs in reverse Cuthill-McKee order."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hopbytes._arrays import Int32, Int64
from hopbytes.algorithms.base import Effort, mappers
from hopbytes.algorithms.papers.libtopomap import TopologyMapper, in_step
from hopbytes.algorithms.two_level import Grouped, HostGraph


@mappers.register("libtopomap_rcm")
@dataclass(frozen=True, slots=True)
class TopologyRcm(TopologyMapper):
    """Groups and nodes in reverse Cuthill-McKee order of their graphs, put side by side.

    Parameters
    ----------
    guarded : bool
        Return tasks in order where those have the lower highest congestion.
    repetitions, initial_partitions : int
        Effort of the partition to nodes.

    Raises
    ------
    UnsupportedError
        A machine whose links are not known.

    Notes
    -----
    Hoefler and Snir, "Generic topology mapping strategies for large-scale parallel architectures", ICS 2011.
    Their idea: neighbours of a sparse matrix in that order are near its diagonal, so two orders put side by
    side bring neighbours of one graph to neighbours of the other. Weights play no part. Routers and switches
    take part in the order of the network and are skipped. By SciPy. O(n log n + links).
    """

    def place(self, grouped: Grouped, hosts: HostGraph, effort: Effort) -> Int32:
        """int32[G]: place of every group."""
        csr = grouped.graph.symmetric_positive()
        network = _order(hosts.indptr, hosts.targets)
        effort.spend(len(csr.targets) + len(hosts.targets))
        return in_step(_order(csr.indptr, csr.targets), network[network < hosts.places], grouped)


def _order(indptr: Int64, targets: Int32) -> Int64:
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import reverse_cuthill_mckee

    count = len(indptr) - 1
    # SciPy takes 32-bit row pointers only.
    ones = np.ones(len(targets), np.int8)
    pattern = csr_array((ones, targets, indptr.astype(np.int32)), shape=(count, count))
    return np.asarray(reverse_cuthill_mckee(pattern, symmetric_mode=True)).astype(np.int64)
