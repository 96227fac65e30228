"""Two-level mapping: groups of tasks are mapped to nodes, then the tasks of a group inside its node."""

from hopbytes.algorithms.two_level.level import Nodes, nodes_of, partition_to_nodes, quotient
from hopbytes.algorithms.two_level.neighbourhood import neighbourhood_of, place_distances
from hopbytes.algorithms.two_level.node_problem import (
    Capacity,
    Grouped,
    cut_into_groups,
    groups_of_placement,
    move_groups,
)
from hopbytes.algorithms.two_level.node_routing import Routed, routed, routed_groups
from hopbytes.algorithms.two_level.ports import ports_of
from hopbytes.algorithms.two_level.within_node import place_inside

__all__ = [
    "Capacity",
    "Grouped",
    "Nodes",
    "Routed",
    "cut_into_groups",
    "groups_of_placement",
    "move_groups",
    "neighbourhood_of",
    "nodes_of",
    "partition_to_nodes",
    "place_distances",
    "place_inside",
    "ports_of",
    "quotient",
    "routed",
    "routed_groups",
]
