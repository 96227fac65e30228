"""Networks whose hops have a latency: ``torus:4x4:lat=1e-7:bw=1e10``."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import replace

from hopbytes._frozen import frozen
from hopbytes.machines.base import Machine, NetworkUse
from hopbytes.machines.common.delegating_machine import DelegatingMachine
from hopbytes.machines.common.spec_fields import bad
from hopbytes.machines.common.tree import shorten

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
    from hopbytes.machines.common.networked import NetworkMachine

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
