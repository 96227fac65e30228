"""Which objective to minimise: the one whose mappings took least simulated time on machines of that kind."""

from __future__ import annotations

import math

from hopbytes.model.allocation import Allocation

#: What asks for the choice, in place of the name of an objective.
AUTO = "auto"
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
    "torus": ("torus",), "fattree": ("tree 4:1", "fat tree 1:1"), "dragonfly": ("dragonfly",),
    "ib": ("real fabric",),
}  # fmt: skip
#: The same over 24 recorded programs of 16 to 1152 ranks on fat trees with 4:1 (`python -m
#: bench.studies.recorded_gains`); it decides there, since the 64 tasks above hardly load the links upwards.
RECORDED = {"fattree": {"comm_cost": 0.894, "max_congestion": 0.817}}


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

    >>> import hopbytes as hb
    >>> auto_objective(hb.allocate("torus:4x4 / core:4"))[0], auto_objective(hb.allocate("node:4 core:4"))[0]
    ('max_congestion', 'comm_cost')
    """
    kind = where.machine.spec().partition(":")[0]
    if where.machine.network() is None:
        return USUAL, _because(USUAL, "the machine has no links")
    if kind not in ALIKE:
        return USUAL, _because(USUAL, f"no times were simulated on machines of kind {kind}")
    times = {
        name: math.prod(TIMES[one][place] for one in ALIKE[kind]) ** (1 / len(ALIKE[kind]))
        for place, name in enumerate(OBJECTIVES)
    }
    times = RECORDED.get(kind, times)
    least = min(times.values())
    best = next(name for name in times if least > (1 - LEAST_GAIN) * times[name] or times[name] == least)
    others = f", for {USUAL} {times[USUAL]:.2f}" if best != USUAL else ""
    taken = f"its mappings took {times[best]:.2f} of the time in order{others}"
    return best, _because(best, f"in simulations of kind {kind} {taken}")


def _because(name: str, reason: str) -> str:
    return f"objective {name} was chosen: {reason}"
