"""Which objective to minimise: the one whose mappings took least simulated time on machines of that kind."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from hopbytes._frozen import frozen
from hopbytes.algorithms.base import Effort
from hopbytes.machines.gpu_domains import has_rails
from hopbytes.model.allocation import Allocation
from hopbytes.model.comm_graph import CommGraph
from hopbytes.solve.method import AUTO, LINKS, MethodLike, is_preset
from hopbytes.solve.presets import DEFAULT
from hopbytes.solve.problem import Constraints

#: The objective that needs only distances, and the share of the time that a later one must save to be chosen.
USUAL, LEAST_GAIN = "comm_cost", 0.02
#: In the order of the work that they need.
OBJECTIVES = ("comm_cost", "hop_bytes", "hops", "max_congestion", "max_messages", "hybrid")
#: Simulated time of preset eco by objective over that in order, geometric means over eight patterns, by the
#: machine of the study (last table of bench/STUDIES.md: `python -m bench.studies.which_metric --objectives`).
TIMES = {
    "torus": (0.638, 0.680, 0.792, 0.536, 0.691, 0.540),
    "tree 4:1": (0.658, 0.658, 0.956, 0.657, 0.964, 0.670),
    "fat tree 1:1": (0.829, 0.839, 0.966, 0.823, 0.975, 0.830),
    "dragonfly": (0.742, 0.741, 0.989, 0.661, 0.818, 0.657),
    "real fabric": (0.828, 0.829, 1.037, 0.812, 0.960, 0.815),
}
#: Kind of machine, as specs begin → the machines of the study that are like it.
ALIKE = {
    "torus": ("torus",), "mesh": ("torus",),
    "fattree": ("tree 4:1", "fat tree 1:1"), "dragonfly": ("dragonfly",),
    "ib": ("real fabric",),
}  # fmt: skip
#: The same over 24 recorded programs of 16 to 1152 ranks on fat trees with 4:1 (`python -m
#: bench.studies.recorded_gains`); it decides there, since the 64 tasks above hardly load the links upwards.
RECORDED = {"fattree": {"comm_cost": 0.894, "max_congestion": 0.817}}


@frozen(eq=False)
class Aim:
    """What a search minimizes first, and what continues from its result."""

    objective: str  # name of the objective
    notices: list[str]  # why it was chosen if the caller left that open
    #: takes task, result, method and effort; returns the first three and notices. None: nothing continues
    further: Callable[[Any, Any, Any, Effort], tuple[Any, Any, Any, list[str]]] | None = None


def aim_of(
    graph: CommGraph, where: Allocation, method: MethodLike, objective: str | None, weight: str,
    constraints: Constraints, partition: bool | None, *, limited: bool,
) -> Aim:
    """Return the aim for the arguments of :func:`hopbytes.map_tasks` with these names."""
    if not weighs_links(graph, where, method, objective, weight, constraints, partition):
        return Aim(*objective_of(objective, where, weight))
    from hopbytes.solve.rails import with_links_weighed, with_rule_kept

    if not limited:
        return Aim(USUAL, [], with_links_weighed)
    why = f"objective {LINKS} was chosen: the GPUs have rails, and time or work is limited"
    return Aim(LINKS, [why], with_rule_kept)  # there is no time for a second search


def weighs_links(
    graph: CommGraph, where: Allocation, method: MethodLike = DEFAULT, objective: str | None = None,
    weight: str = "bytes", constraints: Constraints | None = None, partition: bool | None = None,
) -> bool:
    """Return whether the load of links is weighed beside J: on GPUs with rails, a task for each at most."""
    usual = objective in (None, AUTO) and weight == "bytes" and is_preset(method)
    usual = usual and (constraints is None or constraints.initial is None)
    return usual and not partition and 0 < graph.n <= where.k and has_rails(where)


def objective_of(objective: str | None, where: Allocation, weight: str) -> tuple[str, list[str]]:
    """Return the objective that is minimized, and why it was chosen if the caller left that open."""
    if objective != AUTO:
        return USUAL if objective is None else objective, []
    if weight == "time":
        return USUAL, [_because(USUAL, "weight time goes with no other")]
    name, reason = auto_objective(where)
    return name, [reason]


def auto_objective(where: Allocation) -> tuple[str, str]:
    """Return the objective for a machine, and the reason as a sentence.

    On kinds of machines that the study lacks J is minimised. Of objectives within 2 % of the least simulated
    time the one with the least work is chosen, J before all. O(1).
    """
    kind = where.machine.spec().partition(":")[0]
    if where.machine.network() is None:
        return USUAL, _because(USUAL, "the machine has no links")
    if kind not in ALIKE:
        return USUAL, _because(USUAL, f"no times were simulated on machines of kind {kind}")
    times = {
        name: math.prod(TIMES[machine][column] for machine in ALIKE[kind]) ** (1 / len(ALIKE[kind]))
        for column, name in enumerate(OBJECTIVES)
    }
    times = RECORDED.get(kind, times)
    least = min(times.values())
    best = next(name for name in times if least > (1 - LEAST_GAIN) * times[name] or times[name] == least)
    others = f", for {USUAL} {times[USUAL]:.2f}" if best != USUAL else ""
    taken = f"its mappings took {times[best]:.2f} of the time in order{others}"
    return best, _because(best, f"in simulations of kind {kind} {taken}")


def _because(name: str, reason: str) -> str:
    return f"objective {name} was chosen: {reason}"
