"""Machines whose network is a hierarchy of units, as fat trees and rails are."""

from __future__ import annotations

from hopbytes._arrays import Int32, Int64
from hopbytes.machines.common.networked import NetworkMachine
from hopbytes.machines.common.tree import Tree
from hopbytes.machines.topology import Level


class NetworkHierarchy(NetworkMachine):
    """A network machine that is cut along the units which :meth:`units_outside` names, down to the cores."""

    __slots__ = ()

    def split(self, cores: Int64) -> list[Int64]:
        """Cut two or more cores (ascending) into the outermost units they lie in."""
        return self.tree().split(cores)

    def split_nodes(self, nodes: Int64) -> list[Int64]:
        """Cut two or more nodes (ascending) into the outermost units they lie in."""
        outside, counts = self.units_outside()
        return Tree((*outside, Level("node", self.node_distance())), counts).split(nodes)

    def groups(self, cores: Int64) -> list[Int32]:
        """One grouping per level."""
        return self.tree().groups(cores)
