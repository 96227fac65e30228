"""Ready-made chains of a mapper and refiners; every preset is defined here and nowhere else.

Refiners that only one preset has are imported by it, so that the others start without them.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass

from hopbytes.mappers.base import Mapper, Refiner, mappers, refiners
from hopbytes.mappers.multisection import Multisection
from hopbytes.objectives.base import objectives
from hopbytes.options import build
from hopbytes.refiners.swap import Swap
from hopbytes.refiners.vcycle import VCycle
from hopbytes.registry import Registry

DEFAULT = "eco"
#: Judges ways of choosing slots before a stronger preset works on the best of them.
QUICKEST = "fast"
#: How much longer the ways of messages may get, in percent, where the load of links is the objective.
LINK_ROOM = 10


@dataclass(frozen=True, slots=True)
class Chain:
    """A mapper, then refiners in order.

    Parameters
    ----------
    mapper : Mapper
    refiners : tuple of Refiner
    link_effort : int
        How hard to work on links where the objective follows routes, see :class:`Routed`.
    anytime : bool
        Meant to be ended whenever its user likes: Ctrl-C is then no failure.
    """

    mapper: Mapper
    refiners: tuple[Refiner, ...] = ()
    link_effort: int = 4
    anytime: bool = False


presets: Registry[Callable[[], Chain]] = Registry("preset", "hopbytes.presets")


def chain(
    mapper: str | Mapper, *refiner: str | Refiner, link_effort: int = 4, anytime: bool = False
) -> Chain:
    """Build a chain from names with options or from instances."""
    return Chain(
        build(mappers, mapper), tuple(build(refiners, each) for each in refiner), link_effort, anytime
    )


def for_objective(base: Chain, name: str) -> Chain:
    """Return the chain that lowers the objective `name`: one that follows routes needs a step of its own.

    Objectives that are distance sums need none, they bring their own distances.
    """
    if objectives[name].family == "distance sum":
        return base
    from hopbytes.refiners.evolve import Evolve
    from hopbytes.refiners.routed import Routed
    from hopbytes.refiners.tabu import Tabu

    # What goes on for as long as it may has to do so on the goal.
    endless = any(isinstance(step, Tabu) or getattr(step, "anneal", False) for step in base.refiners)
    steps = tuple(step for step in base.refiners if not isinstance(step, Routed | Evolve | Tabu))
    # Work enough for two starts is better spent so.
    two = base.link_effort >= 16
    links = Routed(
        goal=name, effort=base.link_effort, second_start=two, anneal=endless, hop_percent=LINK_ROOM
    )
    return dataclasses.replace(base, refiners=(*steps, links))


@presets.register("fast")
def fast() -> Chain:
    """Quickest useful placement."""
    return chain(
        Multisection(tries=2, flow_rounds=2),
        VCycle(cycles=0),
        Swap(starts=1, shakes=100, one_way=5),
        link_effort=1,
    )


@presets.register("eco")
def eco() -> Chain:
    """Good placements at little cost; the default."""
    return chain(
        Multisection(runs=2, middle_combines=1, combines=1, flow_rounds=1),
        VCycle(cycles=1),
        Swap(starts=1, chains=2, steps=2000, anneal_up_to=256, subtrees=1, resplits=4, shakes=360),
    )


@presets.register("strong")
def strong() -> Chain:
    """Best placements when a few times the work does not matter."""
    from hopbytes.refiners.evolve import Evolve

    return chain(
        Multisection(runs=12, tries=2, combines=11, flow_rounds=2),
        VCycle(cycles=3, chains=2),
        Swap(
            starts=6, chains=4, steps=4000, anneal_up_to=400, subtrees=1, resplits=6, shakes=5000, one_way=100
        ),
        Evolve(
            steps=10, slots_only=True, runs=1, tries=4, subtrees=1, resplits=4, shakes=150, work=200
        ),
        link_effort=16,
    )


@presets.register("best")
def best() -> Chain:
    """Goes on until ``--time-limit`` or ``--work-limit`` ends it; eight steps of `evolve` without either.

    It starts as `eco` does, so that a limit which is short for the graph is not used up by the first cut.
    """
    from hopbytes.refiners.evolve import Evolve
    from hopbytes.refiners.tabu import Tabu

    return chain(
        eco().mapper,
        VCycle(cycles=3, chains=2),
        Swap(subtrees=1, resplits=4),
        Evolve(subtrees=1, resplits=4),
        Tabu(work=0),
        link_effort=16,
        anytime=True,
    )


@presets.register("routed")
def routed() -> Chain:
    """Like strong, then what the routes of the machine allow: less congestion at no more hop-bytes.

    Under ``--time-limit`` or ``--work-limit`` it goes on until that ends it.
    """
    from hopbytes.refiners.routed import Routed

    base = strong()
    links = Routed(effort=16, second_start=True, anneal=True)
    return dataclasses.replace(base, refiners=(*base.refiners, links))
