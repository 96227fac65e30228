"""Groups of switches with links between all groups: what dragonfly and dragonfly+ have in common."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

import numpy as np

from hopbytes._arrays import Int64
from hopbytes.machines.common.networked import NetworkMachine, check_nodes
from hopbytes.machines.common.spec_fields import bad, bandwidth_field
from hopbytes.machines.common.tree import shorten
from hopbytes.machines.network.network import Geometry

#: Arrangements of the links between groups, in the order of core/routing/hierarchy_routes.hpp.
ARRANGEMENTS = ("absolute", "palmtree")


class GroupedSwitches(NetworkMachine):
    """Groups of switches, nodes at switches, links between all groups.

    Subclasses are frozen dataclasses that have these fields beside those of
    :class:`hopbytes.machines.common.networked.NetworkMachine`, and name their kind and its routing rules.
    """

    __slots__ = ()
    kind: ClassVar[str]
    rules: ClassVar[tuple[str, ...]]
    n_groups: int  # groups, and nodes per switch that has nodes
    nodes: int
    #: links to other groups of every switch that has such links; 0: as few as reach every other group
    ports: int
    #: which port leads where: ``absolute`` (port p of group i leads to group p, or p + 1 from p = i on) or
    #: ``palmtree`` (to group i - p - 1). Further ports begin anew: several links between two groups.
    arrangement: str
    rule: str  # one of `rules`
    bandwidth: tuple[int, int, int]  # capacity of the links of nodes, inside groups, between groups

    @property
    @abstractmethod
    def switches(self) -> int:
        """Switches of a group that have nodes."""

    @property
    @abstractmethod
    def linked_switches(self) -> tuple[int, str]:
        """Switches of a group that have links to other groups: how many, and what they are called."""

    @property
    def fewest_ports(self) -> int:
        """Links to other groups that every such switch needs so that all groups are reached."""
        return max(1, -(-(self.n_groups - 1) // self.linked_switches[0]))

    @property
    def n_nodes(self) -> int:
        """Number of nodes."""
        return self.n_groups * self.switches * self.nodes

    def node_distance(self) -> int:
        """Two nodes of one switch are two hops apart."""
        return 2 * self.hop_distance

    def split_nodes(self, nodes: Int64) -> list[Int64]:
        """Groups, then switches, then nodes."""
        for size in (self.switches * self.nodes, self.nodes, 1):
            cuts = np.flatnonzero(np.diff(nodes // size)) + 1
            if len(cuts):
                break
        return np.split(nodes, cuts)

    def _check_links(self) -> None:
        """Resolve the number of ports, and check the fields, for ``__post_init__``."""
        object.__setattr__(self, "ports", self.ports or self.fewest_ports)
        if self.ports < self.fewest_ports:
            number, name = self.linked_switches
            raise bad(
                f"{self.kind}: {number} {name} with {self.ports} global links each do not reach "
                f"{self.n_groups - 1} other groups, expected global={self.fewest_ports} or more"
            )
        if self.arrangement not in ARRANGEMENTS:
            what = f"links={shorten(self.arrangement)}, expected {' or '.join(ARRANGEMENTS)}"
            raise bad(f"{self.kind}: {what}")
        if self.rule not in self.rules:
            known = " or ".join(self.rules) if len(self.rules) == 2 else "one of " + ", ".join(self.rules)
            raise bad(f"{self.kind}: route={shorten(self.rule)}, expected {known}")
        check_nodes(self)

    def _link_fields(self) -> str:
        """Fields of the spec about links that differ from their defaults."""
        text = "" if self.ports == self.fewest_ports else f":global={self.ports}"
        if self.arrangement != ARRANGEMENTS[0]:
            text += f":links={self.arrangement}"
        if self.rule != self.rules[0]:
            text += f":route={self.rule}"
        return text + bandwidth_field(self.bandwidth)


def geometry_of_groups(groups: int, switches: int, nodes: int) -> Geometry:
    """Return the group of every node, and its switch counted in the group."""
    switch = np.arange(groups * switches * nodes, dtype=np.int64) // nodes
    return Geometry(("group", "switch"), np.stack(np.divmod(switch, switches)))


def peers_of_ports(groups: int, ports: int, arrangement: str) -> tuple[Int64, Int64]:
    """int64[groups, ports]: group at the far end of each port, and its port there (-1: no link)."""
    group, port = np.meshgrid(np.arange(groups), np.arange(ports), indexing="ij")
    if groups == 1:
        return np.zeros_like(group), np.full_like(group, -1)
    copy, turn = np.divmod(port, groups - 1)
    if arrangement == "absolute":
        peer = turn + (turn >= group)
        back = copy * (groups - 1) + group - (group > peer)
    else:
        peer = (group - turn - 1) % groups
        back = copy * (groups - 1) + (peer - group) % groups - 1
    return peer, np.where(back < ports, back, -1)
