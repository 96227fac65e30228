"""Two-level mapping: groups of tasks onto nodes, then the tasks of a group inside its node."""

from hopbytes.nodal.host_graph import HostGraph, host_graph
from hopbytes.nodal.inside import place_inside
from hopbytes.nodal.level import Nodes, Pace, nodes_of, partition_to_nodes, quotient
from hopbytes.nodal.ports import ports_of
from hopbytes.nodal.problem import Grouped, Share, cut_into_groups, groups_of_placement, move_groups
from hopbytes.nodal.routing import Routed, routed, routed_groups
from hopbytes.nodal.vicinity import place_distances, vicinity_of

__all__ = [
    "Grouped",
    "HostGraph",
    "Nodes",
    "Pace",
    "Routed",
    "Share",
    "cut_into_groups",
    "groups_of_placement",
    "host_graph",
    "move_groups",
    "nodes_of",
    "partition_to_nodes",
    "place_distances",
    "place_inside",
    "ports_of",
    "quotient",
    "routed",
    "routed_groups",
    "vicinity_of",
]
