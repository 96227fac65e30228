"""Machines whose levels, distances and cuts are those of another topology, such as a tree that they hold."""

from __future__ import annotations

import math
import re
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from hopbytes._arrays import Bool, Int32, Int64
from hopbytes._frozen import frozen
from hopbytes.machines.base import KnownHosts, Level, Machine, NetworkUse, Topology
from hopbytes.machines.distances import Distance
from hopbytes.machines.kinds.tree import shorten
from hopbytes.machines.network.network import Network
from hopbytes.machines.node.node_tree import NodeInventory
from hopbytes.machines.spec_fields import bad

if TYPE_CHECKING:
    from hopbytes.machines.node.job import JobInfo


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


@frozen(eq=False)
class DelegatingMachine(ComposedMachine):
    """A machine all of whose parts are those of `base`; a subclass overrides the part that it replaces."""

    base: Machine

    @property
    def topology(self) -> Machine:
        """The topology of `base`."""
        return self.base

    @property
    def known_hosts(self) -> KnownHosts:
        """The hosts of `base`."""
        return self.base.known_hosts

    @property
    def inventory(self) -> NodeInventory | None:
        """The inventory of `base`."""
        return self.base.inventory

    @property
    def job(self) -> JobInfo | None:
        """The job of `base`."""
        return self.base.job

    def network(self) -> Network | None:
        """The network of `base`."""
        return self.base.network()

    @property
    def network_use(self) -> NetworkUse:
        """How the cores of `base` use its network."""
        return self.base.network_use

    def for_nodes(self, nodes: Int32) -> Machine:
        """The machine on `base` as a job on these nodes uses it."""
        base = self.base.for_nodes(nodes)
        return self if base is self.base else replace(self, base=base)

    def notices(self, used: Bool | None = None) -> tuple[str, ...]:
        """What the user should know about the source of `base`."""
        return self.base.notices(used)


@frozen(eq=False)
class MeasuredMachine(DelegatingMachine):
    """A machine with other levels: the same names and distances, with what was measured."""

    tiers: tuple[Level, ...] = ()  # its levels with latency and bandwidth
    text: str = ""  # spec of the file it was stored in; empty: that of `base`

    def __eq__(self, other: object) -> bool:
        return isinstance(other, MeasuredMachine) and self.base == other.base and self.tiers == other.tiers

    def __hash__(self) -> int:
        return hash((self.base, self.tiers))

    @property
    def levels(self) -> tuple[Level, ...]:
        """Levels with latency and bandwidth."""
        return self.tiers

    def spec(self) -> str:
        """The file it was stored in."""
        return self.text or self.base.spec()

    def with_distances(self, distances: Mapping[str, int]) -> MeasuredMachine:
        """Return the machine with other distances of levels of `base`."""
        base = self.base.with_distances(distances)
        tiers = tuple(
            replace(tier, distance=level.distance)
            for tier, level in zip(self.tiers, base.levels, strict=True)
        )
        changed = "".join(f":{name}={distance}" for name, distance in distances.items())
        return MeasuredMachine(base, tiers, self.text and self.text + changed)


FIELD = re.compile(r":lat=([^:@\s]*)", re.ASCII)
NUMBER = re.compile(r"(?:[0-9]+(?:\.[0-9]+)?|\.[0-9]+)(e[+-]?[0-9]{1,3})?", re.ASCII)


@frozen(eq=False)
class TimedLinks(DelegatingMachine):
    """A network on which a message takes `latency` seconds per hop; capacities are bytes per second."""

    base: Machine  # with a network
    latency: float  # seconds, >= 0

    def __post_init__(self) -> None:
        if not 0 <= self.latency < math.inf:
            raise bad(f"lat={self.latency}, expected seconds >= 0")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TimedLinks) and (self.base, self.latency) == (other.base, other.latency)

    def __hash__(self) -> int:
        return hash((self.base, self.latency))

    def spec(self) -> str:
        """The spec of the network with the latency behind its distance."""
        network, slash, inside = self.base.spec().partition(" / ")
        return f"{network}:lat={self.latency!r}{slash}{inside}"

    @property
    def network_use(self) -> NetworkUse:
        """That of `base`, with seconds of a message per link."""
        return replace(self.base.network_use, hop_latency=self.latency)

    def with_distances(self, distances: Mapping[str, int]) -> TimedLinks:
        """Return the machine with other distances of levels of `base`."""
        return TimedLinks(self.base.with_distances(distances), self.latency)


def with_latency(machine: Machine, latency: float) -> TimedLinks:
    """Give the hops of a network a latency; FormatError for machines without one."""
    from hopbytes.machines.network.network_machine import NetworkMachine

    inner = machine
    while isinstance(inner, DelegatingMachine):
        inner = inner.base
    if not isinstance(inner, NetworkMachine):
        raise bad(f"{shorten(machine.spec())}: lat={latency!r}, expected it of levels or of a network")
    return TimedLinks(machine, latency)


def take_latency(text: str) -> tuple[str, float | None]:
    """Take ``lat=`` out of the spec of a network.

    >>> take_latency("torus:4x4:lat=1e-7:bw=10@5")
    ('torus:4x4:bw=10@5', 1e-07)
    """
    found = FIELD.findall(text)
    if not found:
        return text, None
    if len(found) > 1 or not NUMBER.fullmatch(found[0]):
        raise bad(f"{shorten(text)}: lat={shorten(found[0])}, expected seconds like 1e-7, once")
    return FIELD.sub("", text), float(found[0])
