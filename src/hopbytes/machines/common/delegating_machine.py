"""Machines that are another machine with something more known about it."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from hopbytes._arrays import Int32, Int64
from hopbytes.machines.base import Distance, Level, Machine
from hopbytes.machines.network.network import Network
from hopbytes.machines.node.job_environment import Job
from hopbytes.machines.node.node_tree import NodeTree


@dataclass(frozen=True, slots=True, eq=False)
class Wrapped(Machine):
    """Everything is that of `base`, unless a subclass says otherwise."""

    base: Machine

    @property
    def n_cores(self) -> int:
        """Number of places."""
        return self.base.n_cores

    @property
    def levels(self) -> tuple[Level, ...]:
        """Levels, outermost first."""
        return self.base.levels

    def spec(self) -> str:
        """Text of the machine inside."""
        return self.base.spec()

    def distance(self) -> Distance:
        """Distances of the machine inside."""
        return self.base.distance()

    def ancestors(self, level: int) -> Int32:
        """Unit number at ``levels[level]`` of each place."""
        return self.base.ancestors(level)

    def split(self, cores: Int64) -> list[Int64]:
        """Seams of the machine inside."""
        return self.base.split(cores)

    def groups(self, cores: Int64) -> list[Int32]:
        """Groupings of the machine inside."""
        return self.base.groups(cores)

    def level_same_as(self, name: str) -> str | None:
        """Level with the same units as a kind that was merged."""
        return self.base.level_same_as(name)

    def node_names(self) -> tuple[str, ...]:
        """Host names."""
        return self.base.node_names()

    def node_places(self) -> tuple[tuple[str, ...], Int64]:
        """Where the nodes of the machine inside are."""
        return self.base.node_places()

    def keeps_names(self) -> bool:
        """As the machine inside."""
        return self.base.keeps_names()

    def hosts_hint(self) -> str:
        """As the machine inside."""
        return self.base.hosts_hint()

    def for_nodes(self, nodes: Int32) -> Machine:
        """With the machine inside as the job uses it."""
        base = self.base.for_nodes(nodes)
        return self if base is self.base else replace(self, base=base)

    def slot_endpoints(
        self, nodes: Int32, gpus: Int32 | None, tree_of: Callable[[int], NodeTree | None]
    ) -> tuple[Int32 | None, tuple[str, ...]]:
        """As the machine inside."""
        return self.base.slot_endpoints(nodes, gpus, tree_of)

    def notices(self) -> tuple[str, ...]:
        """What the user should know about the source."""
        return self.base.notices()

    def notices_on(self, used: NDArray[np.bool_]) -> tuple[str, ...]:
        """What of that matters to a job on some nodes."""
        return self.base.notices_on(used)

    def job(self) -> Job | None:
        """The job the machine belongs to."""
        return self.base.job()

    def network(self) -> Network | None:
        """Links between the nodes."""
        return self.base.network()

    def hop_latency(self) -> float | None:
        """Seconds of a message per link."""
        return self.base.hop_latency()

    def endpoint_of_core(self) -> Int32:
        """Endpoint of the network that each place sends through."""
        return self.base.endpoint_of_core()

    def node_of_core(self) -> Int32:
        """Node of each place."""
        return self.base.node_of_core()

    def node_tree(self, node: int) -> NodeTree | None:
        """The tree of one node."""
        return self.base.node_tree(node)

    def os_cpus(self) -> tuple[Int64, Int64] | None:
        """CPU numbers of the operating system of every place."""
        return self.base.os_cpus()


@dataclass(frozen=True, slots=True, eq=False)
class Timed(Wrapped):
    """A machine whose levels have measured latencies and bandwidths.

    Parameters
    ----------
    base : Machine
        With the distances that hold.
    tiers : tuple of Level
        Its levels, with the same names and distances, and what was measured.
    text : str
        Spec of the file it was stored in; empty: that of `base`.
    """

    tiers: tuple[Level, ...] = ()
    text: str = ""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Timed) and self.base == other.base and self.tiers == other.tiers

    def __hash__(self) -> int:
        return hash((self.base, self.tiers))

    @property
    def levels(self) -> tuple[Level, ...]:
        """Levels with latency and bandwidth."""
        return self.tiers

    def spec(self) -> str:
        """The file it was stored in."""
        return self.text or self.base.spec()

    def with_distances(self, distances: Mapping[str, int]) -> Timed:
        """Replace distances of levels of the machine inside."""
        base = self.base.with_distances(distances)
        tiers = tuple(
            dataclasses.replace(tier, distance=level.distance)
            for tier, level in zip(self.tiers, base.levels, strict=True)
        )
        changed = "".join(f":{name}={distance}" for name, distance in distances.items())
        return Timed(base, tiers, self.text and self.text + changed)
