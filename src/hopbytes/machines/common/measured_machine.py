"""Machines whose levels have latencies and bandwidths that were measured."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from hopbytes._frozen import frozen
from hopbytes.machines.common.delegating_machine import DelegatingMachine
from hopbytes.machines.topology import Level


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
