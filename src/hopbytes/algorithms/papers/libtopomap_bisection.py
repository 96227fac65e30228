"""LibTopoMap's recursive bisection: the network and the groups are cut in two alike, again and again."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hopbytes._arrays import Int32, Int64
from hopbytes.algorithms.base import Effort, mappers
from hopbytes.algorithms.papers.libtopomap import TopologyMapper, in_step
from hopbytes.algorithms.two_level import Grouped, HostGraph
from hopbytes.algorithms.two_level.node_level import settings_of
from hopbytes.engine import PartitionSettings, SearchProblem, VertexGroups, partition_many
from hopbytes.kernels.records import Csr


@mappers.register("libtopomap_bisection")
@dataclass(frozen=True, slots=True)
class TopologyBisection(TopologyMapper):
    """Halve the graph of links where it is thinnest, the groups where they talk least, down to single nodes.

    Parameters
    ----------
    guarded : bool
        Return tasks in order where those have the lower highest congestion.
    repetitions, initial_partitions : int
        Effort of the partition to nodes and of every bisection.

    Raises
    ------
    UnsupportedError
        A machine whose links are not known.

    Notes
    -----
    Hoefler and Snir, "Generic topology mapping strategies for large-scale parallel architectures", ICS 2011;
    the variant that Deveci et al. (2015) found best. Unlike `dual_recursive_bipartitioning`, which cuts the
    machine along its seams, this one knows nothing but the links: capacities are the weights of the network,
    routers weigh nothing. Cuts by the built-in partitioner instead of METIS. Which half of the groups goes
    to which half of the nodes is not looked at, as published. O(log nodes) calls of the partitioner on both
    graphs.
    """

    def place(self, grouped: Grouped, hosts: HostGraph, effort: Effort) -> Int32:
        """int32[G]: place of every group."""
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
    """Cut a graph in two until no part has more than one vertex with load.

    Parameters
    ----------
    graph : Csr
    loads : int64[V]
        1, or 0 for vertices that only come along.

    Returns
    -------
    int32[V]
        Part of every vertex; the halves of a part have consecutive numbers. A part of c loaded vertices is
        cut into ceil(c/2) and floor(c/2).
    """
    part = np.zeros(len(loads), np.int32)
    sizes, depth = np.array([int(loads.sum())], np.int64), 0
    while int(sizes.max(initial=0)) > 1:
        ways = np.where(sizes > 1, 2, 1)
        start = np.concatenate([[0], np.cumsum(ways)]).astype(np.int64)
        caps = np.empty(int(start[-1]), np.int64)
        caps[start[:-1]] = np.where(sizes > 1, (sizes + 1) // 2, sizes)
        caps[start[1:] - 1] = np.where(sizes > 1, sizes // 2, sizes)
        state = np.random.SeedSequence((effort.seed % 2**64, depth))
        seeds = state.generate_state(len(sizes), np.uint64).astype(np.uint64)
        child, _ = partition_many(
            SearchProblem(graph, loads), VertexGroups(part, start, caps, seeds), settings,
            control=effort.run_control(),
        )
        part = (start[part] + child).astype(np.int32)
        _even_out(part, loads, caps)
        sizes, depth = caps, depth + 1
    return part


def _even_out(part: Int32, loads: Int64, caps: Int64) -> None:
    """Move loaded vertices with the highest numbers where a cut that ended early left a part too full."""
    loaded = np.flatnonzero(loads)
    held = np.bincount(part[loaded], minlength=len(caps))
    for full in np.flatnonzero(held > caps):
        # The other half is the neighbour with room.
        other = full + 1 if full + 1 < len(caps) and held[full + 1] < caps[full + 1] else full - 1
        moved = loaded[part[loaded] == full][caps[full] :]
        part[moved] = other
