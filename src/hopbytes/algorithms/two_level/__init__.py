"""Two-level mapping: groups of tasks onto nodes, then the tasks of a group inside its node."""

from hopbytes.algorithms.two_level.host_graph import HostGraph, host_graph
from hopbytes.algorithms.two_level.within_node import place_inside
from hopbytes.algorithms.two_level.level import Nodes, RunControl, nodes_of, partition_to_nodes, quotient
from hopbytes.algorithms.two_level.ports import ports_of
from hopbytes.algorithms.two_level.node_problem import Grouped, Capacity, cut_into_groups, groups_of_placement, move_groups
from hopbytes.algorithms.two_level.node_routing import Routed, routed, routed_groups
from hopbytes.algorithms.two_level.neighbourhood import place_distances, neighbourhood_of

__all__ = [
    "Grouped",
    "HostGraph",
    "Nodes",
    "RunControl",
    "Routed",
    "Capacity",
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
    "neighbourhood_of",
]
