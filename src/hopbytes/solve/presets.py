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
from hopbytes.cost.objectives.base import objectives
from hopbytes.engine.problem import FEW_TASKS
from hopbytes.util.options import build
from hopbytes.util.options import describe as _described
from hopbytes.util.registry import Registry

__all__ = ["Chain", "best", "chain", "eco", "fast", "presets", "routed", "strong", "turbo"]

DEFAULT = "eco"
#: Sweeps of annealing under the distances of the machine in the presets that take the least time.
FAST_SWEEPS = 150
#: The preset that compares the policies of slot selection before a stronger preset runs on the best of them.
QUICKEST = "fast"
#: With J as the objective, the next weaker preset competes on graphs of at most so many tasks. There both
#: take little time, and the stronger one alone is not always better.
ORDERED_UP_TO = 4096
#: Percentage by which hop-bytes may rise if the load of links is the objective.
LINK_ROOM = 10
#: Mappers and refiners that take hundredths of a second, by objective: they compete in every preset.
QUICK: dict[str, tuple[tuple[str, ...], ...]] = {
    "hop_bytes": (("identity",), ("ug", "uwh")),
    "hops": (("identity",), ("ug", "uwh")),
    "max_congestion": (("identity",), ("ug", "umc"), ("ptram", "ptram")),
    "max_messages": (("identity",), ("ug", "ummc"), ("ptram", "ptram")),
    "hybrid": (("identity",), ("ug", "umc"), ("ptram", "ptram")),
}


@frozen
class Chain:
    """A mapper followed by refiners; the results of other chains compete with its result.

    Parameters
    ----------
    mapper : Mapper
    refiners : tuple of Refiner
    link_effort : int
        Effort for the congestion of links if the objective depends on routes, see :class:`Routed`.
    anytime : bool
        The user may end the chain at any time, so Ctrl-C is not a failure.
    weaker : str or None
        The next weaker preset. Its result competes, see :func:`for_objective`.
    extends_weaker : bool
        Start from the result of the weaker preset and run only the refiners that the weaker preset does not
        have.
    goal : str
        Objective that no step may raise.
    competitors : tuple of Chain
        Chains whose results compete with the result of mapper and refiners. They run first.
    lesser : tuple of Chain
        Weaker presets that compete as well. They run after the other competitors, and of equally good
        mappings theirs come last.
    lesser_up_to : int
        With more tasks these presets do not run; 0 means no limit.
    own : bool
        Run mapper and refiners. If False, only the competitors compete.
    starts : int
        Number of competitors from which `finish` continues.
    finish : tuple of Refiner
        Refiners for the best competitors.
    requested : tuple of Refiner
        Refiners that the caller named; they run at the end.
    drawn : Chain or None
        A fast competing chain that also runs with other seeds.
    draws : int
        Maximum number of these runs; they end earlier if they exceed a share of the work.
    named : bool
        The caller named the mapper, so a notice is given if its mapping had to be changed.
    """

    mapper: Mapper
    refiners: tuple[Refiner, ...] = ()
    link_effort: int = 4
    anytime: bool = False
    weaker: str | None = None
    extends_weaker: bool = False
    goal: str = "comm_cost"
    competitors: tuple[Chain, ...] = ()
    lesser: tuple[Chain, ...] = ()
    lesser_up_to: int = 0
    own: bool = True
    starts: int = 1
    finish: tuple[Refiner, ...] = ()
    requested: tuple[Refiner, ...] = ()
    drawn: Chain | None = None
    draws: int = 0
    named: bool = False

    @property
    def steps(self) -> tuple[Refiner, ...]:
        """All refiners in order, without those of `competitors`."""
        return (*self.refiners, *self.finish, *self.requested)

    def __repr__(self) -> str:
        names = [_described(mappers, self.mapper), *(_described(refiners, step) for step in self.steps)]
        more = f"; {len(self.competitors)} competing" if self.competitors else ""
        return f"Chain({' → '.join(name.partition(':')[0] for name in names)}{more})"

    def _repr_html_(self) -> str:
        from hopbytes.model.html_table import html_table

        steps = [("mapper", _described(mappers, self.mapper))]
        steps += [("refiner", _described(refiners, step)) for step in self.steps]
        for each in self.competitors:
            steps.append(("competitor", repr(each)))
        rows = [(kind, *text.replace(",", ", ").partition(":")[::2]) for kind, text in steps]
        return html_table("Chain", rows, ("", "name", "options"))

    def rivals(self, n: int) -> tuple[Chain, ...]:
        """Return all competitors for a graph of n tasks, in the order in which they run."""
        return self.competitors if 0 < self.lesser_up_to < n else (*self.competitors, *self.lesser)

    def stages(self, n: int) -> tuple[Chain, ...]:
        """Return the chains that compete on a graph of n tasks in the order of their runs, then this one.

        Examples
        --------
        >>> strongest = for_objective(presets["strong"](), "comm_cost")
        >>> [len(each.refiners) for each in strongest.stages(1000)], len(strongest.stages(10_000))
        ([3, 3, 5], 1)
        """
        found: list[Chain] = []
        for rival in self.rivals(n):
            found += [stage for stage in rival.stages(n) if stage not in found]
        return (*found, self)


presets: Registry[Callable[[], Chain]] = Registry("preset", "hopbytes.solve.presets")


def chain(
    mapper: str | Mapper, *refiner: str | Refiner, link_effort: int = 4, anytime: bool = False,
    weaker: str | None = None, extends_weaker: bool = False,
) -> Chain:
    """Build a chain from names with options or from instances."""
    steps = tuple(build(refiners, each) for each in refiner)
    return Chain(build(mappers, mapper), steps, link_effort, anytime, weaker, extends_weaker)


def for_objective(base: Chain, name: str) -> Chain:
    """Return the chain that lowers the objective `name`.

    The complete next weaker preset competes with the chain under the same seed and runs first, so no preset
    gives a worse result than a weaker one, also under a limit that the weaker one does not reach. For J this
    holds up to :data:`ORDERED_UP_TO` tasks; on larger graphs only chains that extend a weaker preset run it,
    and those without an end of their own run the preset below that first, since a short limit would leave
    the stronger one incomplete. For objectives of networks the fast chains (:data:`QUICK`) compete, too. If
    the objective depends on routes, a refiner for the congestion of links continues from the best result.
    """
    quick = tuple(dataclasses.replace(chain(*words), goal=name) for words in QUICK.get(name, ()))
    steps, finish, weaker = base.refiners, base.finish, tuple[Chain, ...]()
    if base.weaker is not None:
        below = presets[base.weaker]()
        weaker = (for_objective(below, name),)
        if base.extends_weaker:
            finish = tuple(step for step in steps if step not in below.refiners)
            steps = ()
        if base.anytime and below.weaker is not None:
            weaker = (for_objective(presets[below.weaker](), name), *weaker)
    adapted = dataclasses.replace(
        base, goal=name, own=not base.extends_weaker, refiners=steps, finish=finish,
        competitors=weaker if weaker and name != "comm_cost" else quick,
        lesser=weaker if name == "comm_cost" else (),
        lesser_up_to=0 if base.extends_weaker else ORDERED_UP_TO,
    )
    return _for_links(adapted) if objectives[name].family == "link loads" else adapted


def _for_links(base: Chain) -> Chain:
    """Return the chain with a refiner for the load of links as its final step.

    Partitions into groups of tasks with equal hop-bytes differ in the volume that leaves the busiest node, so
    the chain also runs with other seeds. The mapping in order is often regular, and a search over links that
    starts from it preserves this regularity.
    """
    from hopbytes.algorithms.refiners.evolve import Evolve
    from hopbytes.algorithms.refiners.routed import Routed

    links = Routed(
        goal=base.goal, effort=base.link_effort, set_moves=base.link_effort >= 16,
        anneal=base.extends_weaker, hop_percent=LINK_ROOM,
    )
    linked = dataclasses.replace(
        base, refiners=tuple(step for step in base.refiners if not isinstance(step, Evolve)),
        finish=(links,),
    )
    if base.weaker is None or base.extends_weaker:
        return linked
    in_order, cut, *_ = (dataclasses.replace(chain(*words), goal=base.goal) for words in QUICK[base.goal])
    regular = dataclasses.replace(in_order, refiners=(links,))
    return dataclasses.replace(
        linked, competitors=(*base.competitors, regular), drawn=cut, draws=8 * base.link_effort, starts=2
    )


@presets.register("fast")
def fast() -> Chain:
    """Useful mappings in the shortest time."""
    return chain(
        FAST,
        PlaceBlocks(starts=1, chains=1, steps=2000, anneal_networks_up_to=PLACED_UP_TO, perturbations=100),
        VCycle(cycles=0, annealing_sweeps=FAST_SWEEPS),
        Swap(
            several_nearest=8, starts=1, chains=1, steps=2000, anneal_up_to=0,
            anneal_networks_up_to=PLACED_UP_TO, perturbations=100, one_way=5,
        ),
        link_effort=1,
    )


@presets.register("turbo")
def turbo() -> Chain:
    """Mappings of huge graphs in a fraction of the time of `fast`, with all threads; `fast` on small ones."""
    from hopbytes.algorithms.mappers.parallel_multilevel import LEAST_TASKS, ParallelMultilevel

    place, _, *others = fast().refiners
    return chain(
        ParallelMultilevel(),
        place,
        VCycle(cycles=0, annealing_sweeps=FAST_SWEEPS, most_tasks=LEAST_TASKS - 1),
        *others,
        link_effort=1,
    )


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
            anneal_networks_up_to=PLACED_UP_TO, subtrees=1, repartitionings=4, perturbations=360,
        ),
        weaker="fast",
    )


@presets.register("strong")
def strong() -> Chain:
    """Better mappings with several times the work of `eco`.

    For dense patterns a short tabu search with small populations follows, since exchanges alone end far from
    the best mapping there.
    """
    from hopbytes.algorithms.refiners.evolve import Evolve
    from hopbytes.algorithms.refiners.tabu import Tabu

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
            repartitionings=6, perturbations=5000, one_way=100,
        ),
        Evolve(
            steps=10, slots_only=True, repetitions=1, initial_partitions=4, subtrees=1, repartitionings=4,
            perturbations=150, work=200
        ),
        Tabu(work=100, largest=FEW_TASKS, sparse_up_to=0, descending=16, renewals=2),
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
    from hopbytes.algorithms.refiners.routed import Routed

    base = strong()
    links = Routed(effort=16, second_start=True, anneal=True)
    return dataclasses.replace(base, refiners=(*base.refiners, links), weaker="strong", extends_weaker=True)


class _Names(types.ModuleType):
    """The module; ``list(hopbytes.presets)`` has the names of all."""

    def __iter__(self) -> Iterator[str]:
        return iter(presets)


sys.modules[__name__].__class__ = _Names
