"""Machines that are another machine with one part replaced."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from hopbytes._arrays import Bool, Int32
from hopbytes._frozen import frozen
from hopbytes.machines.base import KnownHosts, Machine, NetworkUse
from hopbytes.machines.common.composed_machine import ComposedMachine
from hopbytes.machines.network.network import Network
from hopbytes.machines.node.inventory import NodeInventory

if TYPE_CHECKING:
    from hopbytes.machines.node.job_info import JobInfo


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
