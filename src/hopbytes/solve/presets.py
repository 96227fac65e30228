"""Presets: predefined chains of a mapper and refiners; every preset is defined in this module.

Refiners that only one preset uses are imported by it, so that the others start faster.
"""

from __future__ import annotations

import dataclasses
import sys
import types
from collections.abc import Callable, Iterator

from hopbytes._frozen import frozen
from hopbytes.algorithms.base import Mapper, Refiner, mappers, refiners
from hopbytes.algorithms.mappers.multisection import FAST, Multisection
from hopbytes.algorithms.refiners.place_blocks import PlaceBlocks
from hopbytes.algorithms.refiners.swap import Swap
from hopbytes.algorithms.refiners.vcycle import PLACED_UP_TO, VCycle
from hopbytes.util.options import build
from hopbytes.util.options import describe as _described
from hopbytes.util.registry import Registry

__all__ = ["Chain", "best", "chain", "eco", "fast", "presets", "routed", "strong", "turbo"]

DEFAULT = "eco"
#: Sweeps of annealing under the distances of the machine in the presets that take the least time.
FAST_SWEEPS = 150
#: The number of ways of choosing slots (:func:`hopbytes.solve.slots.policies`), or more.
ALL_CHOICES = 4

@frozen
class Chain:
    """A mapper followed by refiners.

    Parameters
    ----------
    mapper : Mapper
    refiners : tuple of Refiner
    link_effort : int
        Effort for the congestion of links if the objective depends on routes, see :class:`Routed`.
    anytime : bool
        The user may end the chain at any time, so Ctrl-C is not a failure.
    weaker : str or None
        The next weaker preset, whose result competes.
    extends_weaker : bool
        Start from the result of the weaker preset and run only the refiners that it does not have.
    slot_choices : int
        With fewer tasks than slots, the whole chain runs on at most so many ways of choosing slots: those
        with the lowest cost after `fast`.
    """

    mapper: Mapper
    refiners: tuple[Refiner, ...] = ()
    link_effort: int = 4
    anytime: bool = False
    weaker: str | None = None
    extends_weaker: bool = False
    slot_choices: int = ALL_CHOICES

    def __repr__(self) -> str:
        names = [_described(mappers, self.mapper), *(_described(refiners, step) for step in self.refiners)]
        return f"Chain({' → '.join(name.partition(':')[0] for name in names)})"

    def _repr_html_(self) -> str:
        from hopbytes.model.html_table import html_table

        steps = [("mapper", _described(mappers, self.mapper))]
        steps += [("refiner", _described(refiners, step)) for step in self.refiners]
        rows = [(kind, *text.replace(",", ", ").partition(":")[::2]) for kind, text in steps]
        return html_table("Chain", rows, ("", "name", "options"))


presets: Registry[Callable[[], Chain]] = Registry("preset", "hopbytes.solve.presets")


def chain(
    mapper: str | Mapper, *refiner: str | Refiner, link_effort: int = 4, anytime: bool = False,
    weaker: str | None = None, extends_weaker: bool = False, slot_choices: int = ALL_CHOICES,
) -> Chain:
    """Build a chain from names with options or from instances."""
    steps = tuple(build(refiners, each) for each in refiner)
    return Chain(build(mappers, mapper), steps, link_effort, anytime, weaker, extends_weaker, slot_choices)


@presets.register("fast")
def fast(device: str = "cpu") -> Chain:
    """Useful mappings in the shortest time; `device` as in :func:`turbo`."""
    mapper, most_tasks = (FAST, 0) if device == "cpu" else _on_device(device, search=True)
    return chain(
        mapper,
        PlaceBlocks(starts=1, chains=1, steps=2000, anneal_networks_up_to=PLACED_UP_TO, perturbations=100),
        VCycle(cycles=0, most_tasks=most_tasks, annealing_sweeps=FAST_SWEEPS),
        Swap(
            several_nearest=8, starts=1, chains=1, steps=2000, anneal_up_to=0,
            anneal_networks_up_to=PLACED_UP_TO, perturbations=100, tabu_work=100, one_way=5,
        ),
        link_effort=1,
    )


@presets.register("turbo")
def turbo(device: str = "cpu") -> Chain:
    """Partitions in a fraction of the time of `fast`, with all threads; one task per slot as with `fast`.

    With `device` ``"cuda"`` large graphs are coarsened and refined on a GPU (``device_rounds``), with
    ``"auto"`` where there is one.
    """
    from hopbytes.algorithms.mappers.deep_multisection import DeepMultisection

    blocks, _, *others = fast().refiners
    # The mapper refines under the distances of a tree, but sees other machines as halves of halves.
    vcycle = VCycle(cycles=0, annealing_sweeps=FAST_SWEEPS, trees=False)
    mapper = DeepMultisection() if device == "cpu" else _on_device(device, search=False)[0]
    return chain(mapper, blocks, vcycle, *others, link_effort=1)


def _on_device(device: str, *, search: bool) -> tuple[Mapper, int]:
    """Return the mapper for a device, and the largest graph that the CPU searches as a whole; 0 is any."""
    from hopbytes.algorithms.mappers.device_rounds import DeviceRounds
    from hopbytes.engine.device import chosen

    mapper = DeviceRounds(device=device, search=search)
    return mapper, 0 if chosen(device)[0].name == "cpu" else mapper.fewest


@presets.register("eco")
def eco() -> Chain:
    """Good mappings with little work; this is the default."""
    return chain(
        Multisection(
            repetitions=3, initial_partitions=4, region_growings=2, coarse_recombinations=1, recombinations=2,
            flow_rounds=4, relaxation_rounds=16, annealing_sweeps=1500
        ),
        PlaceBlocks(
            chains=2, steps=2000, anneal_networks_up_to=PLACED_UP_TO, subtrees=1, repartitionings=4,
            perturbations=360,
        ),
        VCycle(cycles=0, annealing_sweeps=300),
        Swap(
            several_nearest=8, starts=1, chains=2, steps=2000, anneal_up_to=256,
            anneal_networks_up_to=PLACED_UP_TO, subtrees=1, repartitionings=4, perturbations=1440,
            perturbation_work=100, tabu_work=300,
        ),
        weaker="fast",
        slot_choices=1,
    )


@presets.register("strong")
def strong() -> Chain:
    """Better mappings with several times the work of `eco`."""
    from hopbytes.algorithms.refiners.evolve import Evolve

    return chain(
        Multisection(
            repetitions=14, initial_partitions=4, region_growings=2, recombinations=13, flow_rounds=2,
            relaxation_rounds=24, annealing_sweeps=2500
        ),
        PlaceBlocks(
            starts=6, chains=4, steps=4000, anneal_networks_up_to=PLACED_UP_TO, subtrees=1, repartitionings=6,
            perturbations=5000,
        ),
        VCycle(cycles=0, annealing_sweeps=900),
        Swap(
            starts=6, chains=4, steps=4000, anneal_up_to=400, anneal_networks_up_to=PLACED_UP_TO, subtrees=1,
            repartitionings=6, perturbations=5000, tabu_work=2400, one_way=100,
        ),
        Evolve(
            steps=10, slots_only=True, repetitions=1, initial_partitions=4, subtrees=1, repartitionings=4,
            perturbations=150, work=200
        ),
        link_effort=16,
        weaker="eco",
    )


@presets.register("best")
def best() -> Chain:
    """Improve until a limit of time or work is reached; without a limit eight steps of `evolve`.

    The preset starts from the result of `strong`, on large graphs from the better one of `eco` and `strong`.
    """
    from hopbytes.algorithms.refiners.evolve import Evolve
    from hopbytes.algorithms.refiners.tabu import Tabu

    return chain(
        eco().mapper,
        Evolve(subtrees=1, repartitionings=4),
        Tabu(work=0),
        link_effort=16,
        anytime=True,
        weaker="strong",
        extends_weaker=True,
    )


@presets.register("routed")
def routed() -> Chain:
    """Like `strong`, then lower the congestion of links without more hop-bytes or a higher J.

    With a limit of time or work it runs until the limit is reached.
    """
    from hopbytes.algorithms.refiners.congestion import Routed

    base = strong()
    links = Routed(effort=16, second_start=True, anneal=True)
    return dataclasses.replace(base, refiners=(*base.refiners, links), weaker="strong", extends_weaker=True)


class _Names(types.ModuleType):
    """The module; ``list(hopbytes.presets)`` has the names of all."""

    def __iter__(self) -> Iterator[str]:
        return iter(presets)


sys.modules[__name__].__class__ = _Names
