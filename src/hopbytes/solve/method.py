"""Methods: sequences of algorithms, made of what the caller named and of what competes with it."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator
from collections.abc import Sequence as Several
from typing import Any, TypeAlias

from hopbytes._arrays import Int32
from hopbytes._frozen import frozen
from hopbytes.algorithms.base import Bounds, Effort, Mapper, Refiner, mappers
from hopbytes.algorithms.refiners.swap import Swap
from hopbytes.cost.objectives.comm_cost import objectives
from hopbytes.errors import UnsupportedError, unknown_name
from hopbytes.machines.gpu_domains import has_rails
from hopbytes.model.allocation import Allocation
from hopbytes.model.comm_graph import CommGraph
from hopbytes.solve.presets import ALL_CHOICES, Chain, chain, presets
from hopbytes.util.checks import name_of

#: What asks for the choice of the objective, in place of its name.
AUTO = "auto"
#: The objective that is weighed beside J on GPUs with rails.
LINKS = "max_congestion"
#: A preset or a mapper, or a sequence that begins with one and continues with refiners.
MethodLike: TypeAlias = str | Chain | Mapper | Several[str | Chain | Mapper | Refiner]
#: Value of ``info["preset"]`` for a chain that is not a preset.
CUSTOM = "custom"
#: The preset that compares the policies of slot selection before a stronger preset runs on the best of them.
QUICKEST = "fast"
#: The preset that takes least time for many tasks per slot, and competes where time or work is limited.
PARTITIONER = "turbo"
#: With J as the objective, the next weaker preset competes on graphs of at most so many tasks. There both
#: take little time, and the stronger one alone is not always better.
ORDERED_UP_TO = 4096
#: Percentage by which hop-bytes may rise if the load of links is the objective.
LINK_ROOM = 10
#: What improves the rank orders of training frameworks.
ORDER_SWAP = Swap(starts=1, perturbations=100, one_way=5)
#: Mappers and refiners that take hundredths of a second, by objective: they compete in every preset.
QUICK: dict[str, tuple[tuple[str, ...], ...]] = {
    "hop_bytes": (("identity",), ("ug", "uwh")),
    "hops": (("identity",), ("ug", "uwh")),
    "max_congestion": (("identity",), ("ug", "umc"), ("ptram", "ptram")),
    "max_messages": (("identity",), ("ug", "ummc"), ("ptram", "ptram")),
    "hybrid": (("identity",), ("ug", "umc"), ("ptram", "ptram")),
}


@frozen
class Sequence:
    """A mapper, or the best of several sequences, and refiners."""

    start: Mapper | BestOf
    refiners: tuple[Refiner, ...] = ()
    asked: tuple[Refiner, ...] = ()  # refiners that the caller named; they run at the end
    starts: int = 1  # number of results of `start` from which the refiners continue
    named: bool = False  # the caller named the mapper, so a notice is given if its mapping had to be changed

    @property
    def steps(self) -> tuple[Refiner, ...]:
        """All refiners in order, without those of competing sequences."""
        first = self.start.own.refiners if isinstance(self.start, BestOf) and self.start.own else ()
        return (*first, *self.refiners, *self.asked)

    def rivals(self, n: int) -> tuple[Sequence, ...]:
        """Return what competes on a graph of n tasks, in the order of the runs."""
        if not isinstance(self.start, BestOf):
            return ()
        return self.start.rivals + (self.start.weaker if n <= (self.start.weaker_up_to or n) else ())

    def stages(self, n: int) -> tuple[Sequence, ...]:
        """Return the sequences that compete on a graph of n tasks in the order of the runs, then this one."""
        stages: list[Sequence] = []
        for rival in self.rivals(n):
            stages += [stage for stage in rival.stages(n) if stage not in stages]
        return (*stages, self)


@frozen
class BestOf:
    """The best result of several sequences; of equally good ones that of the first, of `weaker` last."""

    rivals: tuple[Sequence, ...]  # they run before `own`
    own: Sequence | None = None
    weaker: tuple[Sequence, ...] = ()  # weaker presets, which run after the rivals
    weaker_up_to: int = 0  # with more tasks they do not run; 0 means no limit
    restart: Restart | None = None


@frozen
class Restart:
    """The best of further runs of a fast sequence with other seeds, at most `times`."""

    of: Sequence
    times: int


@frozen(eq=False)
class Given(Mapper):
    """A mapper that returns a mapping that is there already."""

    pe: Int32

    def map(self, graph: CommGraph, where: Allocation, bounds: Bounds, effort: Effort) -> Int32:
        return self.pe


@frozen
class Method:
    """What runs for one objective."""

    objective: str  # name of the objective
    steps: Sequence
    mapper: Mapper
    refine: tuple[Refiner, ...]
    preset: str | None  # name of the preset, "custom" for another chain; None if the caller named a mapper
    quick: Sequence | None = None  # a cheaper one that compares the policies of slot selection first
    link_effort: int = 4
    slot_choices: int = ALL_CHOICES  # largest number of policies on which all of `steps` run


def steps_of(method: Any) -> tuple[str | Chain | Mapper, list[str | Refiner]]:
    """Return the preset or mapper with which a method begins, and the refiners that follow."""
    # An array without axes is iterable by its type only.
    several = isinstance(method, Iterable) and getattr(method, "shape", None) != ()
    listed: list[Any] = list(method) if several and not isinstance(method, (str, bytes)) else [method]
    if not listed:
        raise UnsupportedError("method [], expected a preset or a mapper, and refiners after it")
    name_of("method", listed[0], Chain, Mapper)
    return listed[0], [name_of("refiner", refiner, Refiner) for refiner in listed[1:]]


def is_preset(method: MethodLike) -> bool:
    """Return whether a method is a preset or a chain, without further refiners."""
    first, refiners = steps_of(method)
    return not refiners and (isinstance(first, Chain) or (isinstance(first, str) and first in presets))


def method_of(
    method: MethodLike, objective: str, graph: CommGraph, where: Allocation, *, limited: bool = False
) -> Method:
    """Return the method for the arguments of :func:`hopbytes.map_tasks` with these names."""
    objective = name_of("objective", objective).replace("-", "_")
    if objective not in objectives:  # reported before other errors
        raise unknown_name("objective", objective, [*objectives, AUTO])
    first, more = steps_of(method)
    if isinstance(first, str) and first in presets:
        name, given = first, presets[first]()
    elif isinstance(first, Chain):
        name, given = next((name for name, preset in presets.items() if preset() == first), CUSTOM), first
    else:
        if isinstance(first, str) and ":" not in first and first.replace("-", "_") not in mappers:
            raise unknown_name("method", first, [*presets, *mappers])
        mapper = chain(first).mapper
        name_of("mapper", mapper, Mapper)  # "module:Class" may name a class that is not a mapper
        asked = chain(mapper, *more).refiners
        return Method(objective, Sequence(mapper, asked=asked, named=True), mapper, asked, None)
    rivals = _orders_of_training(objective, graph, where)
    if limited and name != PARTITIONER and graph.n > max(where.k, ORDERED_UP_TO):
        # A limit may end the other presets in their first cuts, whose mappings are far worse.
        rivals = (*rivals, composed(presets[PARTITIONER](), objective))
    steps = composed(given, objective, rivals, chain(given.mapper, *more).refiners)
    quick = None if name == QUICKEST else composed(presets[QUICKEST](), objective)
    # Other objectives differ more between the ways of choosing slots than between chains.
    choices = given.slot_choices if objective == "comm_cost" else max(given.slot_choices, ALL_CHOICES)
    return Method(objective, steps, given.mapper, steps.steps, name, quick, given.link_effort, choices)


def plain(*words: str | Refiner) -> Sequence:
    """Return a mapper and refiners as one sequence."""
    built = chain(*words)  # type: ignore[arg-type]
    return Sequence(built.mapper, built.refiners)


def composed(
    base: Chain, objective: str, first: tuple[Sequence, ...] = (), asked: tuple[Refiner, ...] = ()
) -> Sequence:
    """Return the sequence that lowers an objective; `first` competes as well.

    The complete next weaker preset competes with the chain under the same seed and runs first, so no preset
    gives a worse result than a weaker one, also under a limit that the weaker one does not reach. For J this
    holds up to :data:`ORDERED_UP_TO` tasks; on larger graphs only chains that extend a weaker preset run it,
    and those without an end of their own run all presets below that first, since a short limit would leave
    the stronger ones incomplete. For objectives of networks the fast sequences
    (:data:`QUICK`) compete, too.
    If the objective depends on routes, a refiner for the congestion of links continues from the best result.
    """
    own: Sequence | None = Sequence(base.mapper, base.refiners)
    finish: tuple[Refiner, ...] = ()
    weaker: tuple[Sequence, ...] = ()
    if base.weaker is not None:
        below = presets[base.weaker]()
        weaker = (composed(below, objective),)
        if base.anytime:
            names = list(_weaker_than(below))
            weaker = (*(composed(presets[name](), objective) for name in names[::-1]), *weaker)
        if base.extends_weaker:
            own, finish = None, tuple(step for step in base.refiners if step not in below.refiners)
    rivals, starts, restart = tuple(plain(*words) for words in QUICK.get(objective, ())), 1, None
    if weaker and objective != "comm_cost":
        rivals, weaker = weaker, ()
    if objectives[objective].family == "link loads":
        from hopbytes.algorithms.refiners.congestion import Routed
        from hopbytes.algorithms.refiners.evolve import Evolve

        links = Routed(
            goal=objective, effort=base.link_effort, set_moves=base.link_effort >= 16,
            anneal=base.extends_weaker, hop_percent=LINK_ROOM,
        )
        finish = (links,)
        if own is not None:
            own = Sequence(base.mapper, tuple(step for step in own.refiners if not isinstance(step, Evolve)))
        if base.weaker is not None and own is not None:
            # The mapping in order is often regular, and a search over links that starts from it preserves
            # this regularity. Partitions into groups of tasks with equal hop-bytes differ in the volume that
            # leaves the busiest node, so a fast sequence also runs with other seeds.
            in_order, cut, *_ = (plain(*words) for words in QUICK[objective])
            rivals = (*rivals, dataclasses.replace(in_order, refiners=(links,)))
            starts, restart = 2, Restart(cut, 8 * base.link_effort)
    if own is not None and not (first or rivals or weaker):
        return Sequence(base.mapper, (*own.refiners, *finish), asked)
    up_to = 0 if own is None else ORDERED_UP_TO
    return Sequence(BestOf((*first, *rivals), own, weaker, up_to, restart), finish, asked, starts)


def _weaker_than(chain: Chain) -> Iterator[str]:
    while chain.weaker is not None:
        yield chain.weaker
        chain = presets[chain.weaker]()


def _orders_of_training(objective: str, graph: CommGraph, where: Allocation) -> tuple[Sequence, ...]:
    """Return the rank orders of training frameworks, for a training job on a machine with rails.

    Presets cut the machine into parts, but a product of groups on a product of hosts and rails may have a
    regular answer that no cut finds. Of equally good mappings a rank order is taken as it is, since it can be
    stated by an option of the training program.
    """
    if not has_rails(where):
        return ()
    from hopbytes.patterns.ml import training_of

    if training_of(graph) is None:
        return ()
    mapper = f"training_order:goal={objective}"
    if objectives[objective].family == "link loads":  # there the sequence continues from the best itself
        return (plain(mapper),)
    return plain(mapper), plain(mapper, ORDER_SWAP)
