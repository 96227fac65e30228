"""Machines whose levels, distances and cuts are those of another topology, such as a tree that they hold."""

from __future__ import annotations

from abc import abstractmethod

from hopbytes._arrays import Int32, Int64
from hopbytes.machines.base import Machine
from hopbytes.machines.place_distances import Distance
from hopbytes.machines.topology import Level, Topology


class ComposedMachine(Machine):
    """A machine that holds its topology; subclasses return it and add the parts they know."""

    __slots__ = ()

    @property
    @abstractmethod
    def topology(self) -> Topology:
        """The levels, distances and cuts of the machine."""

    @property
    def n_cores(self) -> int:
        """Number of cores."""
        return self.topology.n_cores

    @property
    def levels(self) -> tuple[Level, ...]:
        """Named levels, outermost first."""
        return self.topology.levels

    def distance(self) -> Distance:
        """Distances between cores."""
        return self.topology.distance()

    def ancestors(self, level: int) -> Int32:
        """int32[n_cores]: number of the unit at ``levels[level]`` that each core belongs to."""
        return self.topology.ancestors(level)

    def split(self, cores: Int64) -> list[Int64]:
        """Cut a set of cores as the topology does."""
        return self.topology.split(cores)

    def groups(self, cores: Int64) -> list[Int32]:
        """Groupings of a set of cores as the topology has them."""
        return self.topology.groups(cores)

    def node_of_core(self) -> Int32:
        """int32[n_cores]: host of each core."""
        return self.topology.node_of_core()
