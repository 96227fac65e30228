"""A choice among mappings by replays of a recorded trace, in which tasks wait for each other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from hopbytes.cost.objectives.comm_cost import CommCost
from hopbytes.errors import HopbytesError, InfeasibleError
from hopbytes.formats.base import WAITING
from hopbytes.machines.allocate.launcher_order import launcher_placement
from hopbytes.model.allocation import Allocation
from hopbytes.model.comm_graph import CommGraph
from hopbytes.model.mapping import Mapping
from hopbytes.simulation.simulate import simulate
from hopbytes.solve.map_tasks import auto_objective
from hopbytes.util.quantities import percent

#: A mapping has to save this share of the replayed time beside the launcher's own order, which is kept else.
LEAST_GAIN = 0.01
#: Mappings by different seeds that are replayed, for up to so many tasks.
SEEDS, MOST_TASKS = 3, 1024


def map_by_waiting(
    mapped: Callable[..., Mapping], graph: CommGraph, where: Allocation, order: str, *, seed: int = 0,
    objective: str | None = None, **options: Any,
) -> Mapping:
    """Return what takes least time in replays: mappings as asked for, or the launcher's `order`.

    ``mapped(graph, where, ...)`` makes them, with the seed and the next ones, and, where no objective is
    asked for, with the one of this kind of network. The trace is the one beside the pattern; without one, or
    where it cannot be replayed, the first mapping is returned.
    """
    asked = {"objective": objective, **options}
    first = mapped(graph, where, seed=seed, **asked)
    if WAITING not in graph.meta or first.info.get("problem") != "processes":
        return first
    try:
        usual = launcher_placement(first.where, graph.n, order, first.where.use)
        before, times = (simulate(graph, mapping, grade="waiting") for mapping in (usual, first))
        best = first
        others = [asked | {"seed": seed + more} for more in range(1, SEEDS if graph.n <= MOST_TASKS else 1)]
        suited = auto_objective(where)[0]
        if objective is None and suited != first.info.get("objective"):
            others.append(asked | {"seed": seed, "objective": suited})
        for given in others:
            other = mapped(graph, where, **given)
            found = simulate(graph, other, grade="waiting")
            if found.beside(before) < times.beside(before):
                best, times = other, found
    except InfeasibleError:  # the launcher cannot place so many tasks by itself
        return first
    except HopbytesError as error:
        return _noted(first, f"not checked against waiting: {error}")
    change = times.beside(before)
    if change <= 1 - LEAST_GAIN or np.array_equal(best.pe, usual.pe):
        return best
    value = CommCost().value(graph, first.where, usual.pe)
    info = {**first.info, "comm_cost": value, "objective_value": value, "objective": "comm_cost"}
    info["history"] = []
    longer = f"would take {percent(change - 1)} longer" if change > 1 else "would save less than 1 %"
    what = f"the best of its mappings {longer} in a replay of who waits for whom"
    kept = f"the launcher's own order is kept: {what} (`trace='none'` maps without)"
    return _noted(Mapping(usual.pe, first.where, info), kept)


def _noted(mapping: Mapping, notice: str) -> Mapping:
    notices = [*mapping.info.get("notices", ()), notice]
    return Mapping(mapping.pe, mapping.where, {**mapping.info, "notices": notices})
