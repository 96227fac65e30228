"""Ready-made chains of a mapper and refiners; every preset is defined here and nowhere else."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from hopbytes.mappers.base import Mapper, Refiner, mappers, refiners
from hopbytes.mappers.multisection import Multisection
from hopbytes.options import build
from hopbytes.refiners.swap import Swap
from hopbytes.refiners.vcycle import VCycle
from hopbytes.registry import Registry

DEFAULT = "eco"


@dataclass(frozen=True, slots=True)
class Chain:
    """A mapper, then refiners in order.

    Parameters
    ----------
    mapper : Mapper
    refiners : tuple of Refiner
    """

    mapper: Mapper
    refiners: tuple[Refiner, ...] = ()


presets: Registry[Callable[[], Chain]] = Registry("preset", "hopbytes.presets")


def chain(mapper: str | Mapper, *refiner: str | Refiner) -> Chain:
    """Build a chain from names with options or from instances."""
    return Chain(build(mappers, mapper), tuple(build(refiners, each) for each in refiner))


@presets.register("fast")
def fast() -> Chain:
    """Quickest useful placement."""
    return chain(Multisection(tries=4, flow_rounds=1), VCycle(cycles=0), Swap(starts=1, shakes=100))


@presets.register("eco")
def eco() -> Chain:
    """Good placements at little cost; the default."""
    return chain(
        Multisection(runs=2, tries=6, combines=1, flow_rounds=2),
        VCycle(cycles=1),
        Swap(starts=3, chains=2, steps=2000, anneal_up_to=256, shakes=500),
    )


@presets.register("strong")
def strong() -> Chain:
    """Best placements when a few times the work does not matter."""
    return chain(
        Multisection(runs=4, tries=10, combines=3, flow_rounds=2),
        VCycle(cycles=3, chains=2, flow_rounds=2),
        Swap(starts=6, chains=4, steps=4000, shakes=10_000),
    )
