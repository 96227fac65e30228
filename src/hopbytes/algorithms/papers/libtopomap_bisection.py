"""The recursive bisection of LibTopoMap: network and groups are bisected in the same way."""

from __future__ import annotations

import numpy as np

from hopbytes._arrays import Int32, Int64
from hopbytes._frozen import frozen
from hopbytes.algorithms.base import Effort, mappers
from hopbytes.algorithms.papers.libtopomap import TopologyMapper, in_step
from hopbytes.algorithms.two_level import Grouped, HostGraph
from hopbytes.algorithms.two_level.node_level import settings_of
from hopbytes.engine import PartitionSettings, SearchProblem, VertexGroups, partition_many
from hopbytes.kernels.records import Csr
from hopbytes.util.random_numbers import derived_seeds


@mappers.register("libtopomap_bisection")
@frozen
class TopologyBisection(TopologyMapper):
    """Bisect the graph of links and the graph of groups with minimum cuts, recursively down to single nodes.

    Parameters
    ----------
    guarded : bool
        Return the mapping in order if its maximum congestion is lower.
    repetitions, initial_partitions : int
        Effort of the partition to nodes and of every bisection.

    Raises
    ------
    UnsupportedError
        If the links of the machine are unknown.

    Notes
    -----
    Hoefler and Snir, "Generic topology mapping strategies for large-scale parallel architectures", ICS 2011;
    Deveci et al. (2015) found this variant to be the best. Unlike `dual_recursive_bipartitioning`, which
    follows the levels of the machine, it uses only the links: capacities are edge weights of the network, and
    routers have no vertex weight. The built-in partitioner replaces METIS. As published, the assignment of
    the two halves of the groups to the two halves of the nodes is not optimized. O(log nodes) calls of the
    partitioner on both graphs.
    """

    def place(self, grouped: Grouped, hosts: HostGraph, effort: Effort) -> Int32:
        """Return int32[G], the node of every group."""
        csr = grouped.graph.symmetric_positive()
        weightless = np.zeros(hosts.count, np.int64)
        weightless[: hosts.places] = 1
        settings = settings_of(self.repetitions, self.initial_partitions)
        network = halves(Csr(hosts.indptr, hosts.targets, hosts.capacity), weightless, settings, effort)
        one_each = np.ones(len(grouped.sizes), np.int64)
        groups = halves(csr, one_each, settings, effort)
        places = np.argsort(network[: hosts.places], kind="stable")
        return in_step(np.argsort(groups, kind="stable"), places, grouped)


def halves(graph: Csr, loads: Int64, settings: PartitionSettings, effort: Effort) -> Int32:
    """Bisect a graph recursively until no part has more than one vertex with load."""
    part = np.zeros(len(loads), np.int32)
    sizes, depth = np.array([int(loads.sum())], np.int64), 0
    while int(sizes.max(initial=0)) > 1:
        ways = np.where(sizes > 1, 2, 1)
        start = np.concatenate([[0], np.cumsum(ways)]).astype(np.int64)
        caps = np.empty(int(start[-1]), np.int64)
        caps[start[:-1]] = np.where(sizes > 1, (sizes + 1) // 2, sizes)
        caps[start[1:] - 1] = np.where(sizes > 1, sizes // 2, sizes)
        seeds = derived_seeds((effort.seed % 2**64, depth), len(sizes))
        child, _ = partition_many(
            SearchProblem(graph, loads), VertexGroups(part, start, caps, seeds), settings,
            control=effort.run_control(),
        )
        part = (start[part] + child).astype(np.int32)
        _even_out(part, loads, caps)
        sizes, depth = caps, depth + 1
    return part


def _even_out(part: Int32, loads: Int64, caps: Int64) -> None:
    """Move vertices with the highest numbers out of overfull parts, which a deadline may leave."""
    loaded = np.flatnonzero(loads)
    held = np.bincount(part[loaded], minlength=len(caps))
    for full in np.flatnonzero(held > caps):
        # Of the two neighbours in number order, the one with room is the other half.
        other = full + 1 if full + 1 < len(caps) and held[full + 1] < caps[full + 1] else full - 1
        moved = loaded[part[loaded] == full][caps[full] :]
        part[moved] = other
