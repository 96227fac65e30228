"""The method for a problem: the algorithms that the caller named, as one chain."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Sequence

from hopbytes._frozen import frozen
from hopbytes.algorithms.base import Effort, Mapper, Progress, Refiner
from hopbytes.algorithms.refiners.swap import Swap
from hopbytes.cost.objectives.base import objectives
from hopbytes.errors import UnsupportedError, unknown_name
from hopbytes.machines.gpu_domains import has_rails
from hopbytes.model.allocation import Allocation
from hopbytes.model.comm_graph import CommGraph
from hopbytes.solve.auto_objective import AUTO
from hopbytes.solve.presets import DEFAULT, QUICKEST, Chain, chain, for_objective, presets
from hopbytes.util.checks import check_functions, name_of, thread_count, whole
from hopbytes.util.clock import Clock

#: Value of ``info["preset"]`` for a chain that is not a preset.
CUSTOM = "custom"
#: What improves the rank orders of training frameworks.
ORDER_SWAP = Swap(starts=1, perturbations=100, one_way=5)


@frozen
class Method:
    """A chain of algorithms for one objective."""

    objective: str  # name of the objective
    steps: Chain
    preset: str | None  # name of the preset, "custom" for another chain; None if the caller named a mapper
    quick: Chain | None  # A cheaper chain that compares the policies of slot selection first


def method_of(
    preset: str | Chain | None, mapper: str | Mapper | None, refine: str | Refiner | Sequence[str | Refiner],
    objective: str,
) -> Method:
    """Return the chain for the arguments of :func:`hopbytes.map_tasks` with these names."""
    objective = name_of("objective", objective).replace("-", "_")
    if objective not in objectives:  # reported before other errors
        raise unknown_name("objective", objective, [*objectives, AUTO])
    if getattr(refine, "shape", None) == ():  # an array without axes is iterable by its type only
        name_of("refiner", refine, Refiner)
    if isinstance(refine, (str, Refiner)) or not isinstance(refine, Iterable):
        refine = (refine,)
    more = [name_of("refiner", each, Refiner) for each in refine]
    if mapper is not None:
        name_of("mapper", mapper, Mapper)
        if preset is not None:
            raise UnsupportedError(f"preset {preset!r} and mapper {mapper!r} exclude each other, give one")
        own = chain(mapper)
        name_of("mapper", own.mapper, Mapper)  # "module:Class" may name a class that is not a mapper
        requested = chain(mapper, *more).refiners
        steps = dataclasses.replace(own, goal=objective, requested=requested, named=True)
        return Method(objective, steps, None, None)
    preset = DEFAULT if preset is None else name_of("preset", preset, Chain)
    given = presets[preset]() if isinstance(preset, str) else preset
    name = preset if isinstance(preset, str) else _name_of(preset)
    base = for_objective(given, objective)
    steps = dataclasses.replace(base, requested=(*base.requested, *chain(base.mapper, *more).refiners))
    quick = None if name == QUICKEST else for_objective(presets[QUICKEST](), objective)
    return Method(objective, steps, name, quick)


def for_training(method: Method, graph: CommGraph, where: Allocation) -> Method:
    """Let the rank orders of training frameworks compete, for a training job on a machine with rails.

    Presets cut the machine into parts, but a product of groups on a product of hosts and rails may have a
    regular answer that no cut finds. Of equally good mappings a rank order is taken as it is, since it can be
    said by an option of the training program.
    """
    if method.preset is None or not has_rails(where):
        return method
    from hopbytes.patterns.ml import training_of

    if training_of(graph) is None:
        return method
    mapper = f"training_order:goal={method.objective}"
    orders = [chain(mapper)]
    if objectives[method.objective].family != "link loads":  # there the chain continues from the best itself
        orders += [chain(mapper, ORDER_SWAP)]
    first = tuple(dataclasses.replace(each, goal=method.objective) for each in orders)
    steps = dataclasses.replace(method.steps, competitors=(*first, *method.steps.competitors))
    return dataclasses.replace(method, steps=steps)


def _name_of(given: Chain) -> str:
    return next((name for name, preset in presets.items() if preset() == given), CUSTOM)


def effort_of(
    seed: int, threads: int | None, work_limit: int | None, progress: Progress | None,
    stop: Callable[[], bool] | None, clock: Clock,
) -> Effort:
    """Return the settings of the run from the arguments of :func:`hopbytes.map_tasks` with these names."""
    if work_limit is not None:
        work_limit = whole("work_limit", work_limit, 0)
    check_functions(progress=progress, stop=stop)
    seed, count = whole("seed", seed, 0), thread_count(threads)
    return Effort(seed, count, None, progress, work_limit=work_limit, began=clock.began)
