"""The greedy mapping of UMPA: each group of tasks is assigned near the groups it communicates with."""

from __future__ import annotations

from typing import ClassVar

from hopbytes._arrays import Int32
from hopbytes._frozen import frozen
from hopbytes.algorithms.base import Allowed, Bounds, Effort, Mapper, mappers
from hopbytes.algorithms.two_level.groups import Grouped, cut, finish, settings_of
from hopbytes.algorithms.two_level.neighbourhood import neighbourhood_of, place_distances
from hopbytes.engine.routed_search import Groups, hop_greedy
from hopbytes.model.allocation import Allocation
from hopbytes.model.comm_graph import CommGraph


@mappers.register("ug")
@frozen
class HopGreedy(Mapper):
    """Partition the tasks to nodes, then assign groups near those they communicate with (UG).

    This is the greedy mapping UG of Deveci, Kaya, Uçar, Çatalyürek, "Fast and high quality topology-aware
    task mapping", IPDPS 2015, algorithm 1: the next group is the one that communicates most with assigned
    groups. Details are decided as follows. The first group is assigned to a node in the centre of the network
    (whose greatest distance to another node is least), and `seeds` counts groups beyond the first. Of groups
    with equal communication the one with the larger total volume is next, then the smaller number; of equally
    good nodes the one that the search reaches first is taken. Groups of a rare size come first, as in the
    paper. The mapper works on every machine; on a tree hops are levels. O(groups x nodes + arcs x nodes) at
    most. With more than 4096 nodes only the 256 nodes before and after a node in machine order count as near.
    """

    allowed: ClassVar[Allowed] = {"weight": ("volume", "messages")}
    #: Maximum number of groups that are assigned far from each other at the beginning. All numbers from 0 to
    #: this one are tried, and the mapping with the fewest hop-bytes is kept.
    seeds: int = 1
    #: weight of an arc: ``volume`` (minimizes hop-bytes) or ``messages`` (minimizes hops of messages, UTH)
    weight: str = "volume"
    #: Effort of the partition to nodes, see :class:`hopbytes.engine.problem.PartitionSettings`. With 1 for
    #: each it takes about a fifth of the time, and hop-bytes are a few percent higher.
    repetitions: int = 1
    initial_partitions: int = 4
    region_growings: int = 4

    def map(self, graph: CommGraph, where: Allocation, bounds: Bounds, effort: Effort) -> Int32:
        settings = settings_of(self.repetitions, self.initial_partitions, self.region_growings)
        grouped = cut(graph, where, bounds, effort, settings)
        return finish(graph, grouped, self.place(grouped, effort), bounds, effort)

    def place(self, grouped: Grouped, effort: Effort) -> Int32:
        """Return int32[G], the node of every group; in order after a deadline."""
        groups = weighed(grouped, self.weight)
        around, distances = neighbourhood_of(grouped.nodes, effort), place_distances(grouped.nodes)
        if effort.out_of_time:
            return grouped.start
        found = [hop_greedy(groups, around, distances, seeds) for seeds in range(self.seeds + 1)]
        return min(found, key=lambda one: one[1])[0]


def weighed(grouped: Grouped, weight: str) -> Groups:
    """Return the symmetric graph between groups by volume or by messages."""
    graph = grouped.graph if weight == "volume" else grouped.graph.with_weights("messages")
    return Groups(graph.symmetric_positive(), grouped.sizes, grouped.capacities)
