"""UMPA's greedy mapping: groups of tasks grow over the nodes, each near those it talks to."""

from __future__ import annotations

from dataclasses import dataclass

from hopbytes._arrays import Int32
from hopbytes.algorithms.base import Bounds, Effort, Mapper, mappers
from hopbytes.algorithms.two_level import Grouped, neighbourhood_of, place_distances
from hopbytes.algorithms.two_level.node_level import cut, finish, settings_of
from hopbytes.engine.places import Groups, hop_greedy
from hopbytes.errors import UnsupportedError
from hopbytes.model.allocation import Allocation
from hopbytes.model.comm_graph import CommGraph

WEIGHTS = ("volume", "messages")


@mappers.register("ug")
@dataclass(frozen=True, slots=True)
class HopGreedy(Mapper):
    """Partition to nodes, then place the group that talks most to placed ones near them (UG).

    Parameters
    ----------
    seeds : int
        Groups placed far from each other before growth begins: all numbers from 0 to this are tried and
        the one with the fewest weighted hops is kept.
    weight : str
        ``volume`` (weighted hops) or ``messages`` (plain hops of all messages, UTH).
    repetitions, initial_partitions, region_growings : int
        Effort of the partition to nodes, see :class:`hopbytes.engine.PartitionSettings`; 1 each costs about a
        fifth of the time and some percent of hop-bytes.

    Raises
    ------
    UnsupportedError
        An unknown weight.

    Notes
    -----
    Deveci, Kaya, Uçar, Çatalyürek, "Fast and high quality topology-aware task mapping", IPDPS 2015,
    algorithm 1, with these decisions: the first group goes to the node from which the farthest other node
    is nearest; `seeds` counts groups beyond the first; all ties fall to the smaller number. Groups of a
    rare size are placed first. Works on every machine; hops are levels on a tree.
    O(groups x nodes + arcs x nodes) at most. On more than 4096 nodes each knows only the 256 before and
    after it in machine order as near.
    """

    seeds: int = 1
    weight: str = "volume"
    repetitions: int = 1
    initial_partitions: int = 4
    region_growings: int = 4

    def __post_init__(self) -> None:
        if self.weight not in WEIGHTS:
            raise UnsupportedError(f"mapper 'ug': weight={self.weight}, expected one of {', '.join(WEIGHTS)}")

    def map(self, graph: CommGraph, where: Allocation, bounds: Bounds, effort: Effort) -> Int32:
        """Return int32[n], the PE of every task."""
        grouped = cut(
            graph, where, bounds, effort, settings_of(
                self.repetitions, self.initial_partitions, self.region_growings
            )
        )
        return finish(graph, grouped, self.place(grouped), bounds, effort)

    def place(self, grouped: Grouped) -> Int32:
        """int32[G]: place of every group."""
        groups = weighed(grouped, self.weight)
        around, distances = neighbourhood_of(grouped.nodes), place_distances(grouped.nodes)
        found = [hop_greedy(groups, around, distances, seeds) for seeds in range(self.seeds + 1)]
        return min(found, key=lambda one: one[1])[0]


def weighed(grouped: Grouped, weight: str) -> Groups:
    """Return the symmetric graph between groups by volume or by messages."""
    graph = grouped.graph if weight == "volume" else grouped.graph.with_weights("messages")
    return Groups(graph.symmetric_positive(), grouped.sizes, grouped.capacities)


