"""Machines that are another machine with one part replaced."""

from __future__ import annotations

from dataclasses import dataclass, replace

from hopbytes._arrays import Bool, Int32
from hopbytes.machines.base import KnownHosts, Machine
from hopbytes.machines.common.composed_machine import ComposedMachine
from hopbytes.machines.network.network import Network
from hopbytes.machines.node.inventory import NodeInventory
from hopbytes.machines.node.job_environment import JobInfo


@dataclass(frozen=True, slots=True, eq=False)
class DelegatingMachine(ComposedMachine):
    """A machine all of whose parts are those of `base`; a subclass overrides the part that it replaces."""

    base: Machine

    @property
    def topology(self) -> Machine:
        """The topology of `base`."""
        return self.base

    def spec(self) -> str:
        """Text of `base`."""
        return self.base.spec()

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

    def hop_latency(self) -> float | None:
        """Seconds of a message per link."""
        return self.base.hop_latency()

    def endpoint_of_core(self) -> Int32:
        """int32[n_cores]: endpoint of the network that each core sends through."""
        return self.base.endpoint_of_core()

    def slot_endpoints(
        self, nodes: Int32, gpus: Int32 | None, inventory: NodeInventory | None
    ) -> tuple[Int32 | None, tuple[str, ...]]:
        """int32[slots]: endpoint each slot sends through."""
        return self.base.slot_endpoints(nodes, gpus, inventory)

    def for_nodes(self, nodes: Int32) -> Machine:
        """The machine on `base` as a job on these nodes uses it."""
        base = self.base.for_nodes(nodes)
        return self if base is self.base else replace(self, base=base)

    def notices(self, used: Bool | None = None) -> tuple[str, ...]:
        """What the user should know about the source of `base`."""
        return self.base.notices(used)
