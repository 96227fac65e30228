"""The method for a problem: the algorithms that the caller named, as one chain."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

from hopbytes._frozen import frozen
from hopbytes.algorithms.base import Mapper, Refiner, mappers
from hopbytes.algorithms.refiners.swap import Swap
from hopbytes.cost.objectives.base import objectives
from hopbytes.errors import UnsupportedError, unknown_name
from hopbytes.machines.gpu_domains import has_rails
from hopbytes.model.allocation import Allocation
from hopbytes.model.comm_graph import CommGraph
from hopbytes.solve.auto_objective import AUTO
from hopbytes.solve.presets import QUICKEST, Chain, chain, for_objective, presets
from hopbytes.util.checks import name_of

#: Value of ``info["preset"]`` for a chain that is not a preset.
CUSTOM = "custom"
#: What improves the rank orders of training frameworks.
ORDER_SWAP = Swap(starts=1, perturbations=100, one_way=5)


#: A preset or a mapper, or a sequence that begins with one and continues with refiners.
MethodLike: TypeAlias = str | Chain | Mapper | Sequence[str | Chain | Mapper | Refiner]


@frozen
class Method:
    """A chain of algorithms for one objective."""

    objective: str  # name of the objective
    steps: Chain
    preset: str | None  # name of the preset, "custom" for another chain; None if the caller named a mapper
    quick: Chain | None  # A cheaper chain that compares the policies of slot selection first


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


def method_of(method: MethodLike, objective: str) -> Method:
    """Return the chain for the arguments of :func:`hopbytes.map_tasks` with these names."""
    objective = name_of("objective", objective).replace("-", "_")
    if objective not in objectives:  # reported before other errors
        raise unknown_name("objective", objective, [*objectives, AUTO])
    first, more = steps_of(method)
    if isinstance(first, str) and first in presets:
        name, given = first, presets[first]()
    elif isinstance(first, Chain):
        name, given = _name_of(first), first
    else:
        if isinstance(first, str) and ":" not in first and first.replace("-", "_") not in mappers:
            raise unknown_name("method", first, [*presets, *mappers])
        own = chain(first)
        name_of("mapper", own.mapper, Mapper)  # "module:Class" may name a class that is not a mapper
        requested = chain(first, *more).refiners
        steps = dataclasses.replace(own, goal=objective, requested=requested, named=True)
        return Method(objective, steps, None, None)
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
