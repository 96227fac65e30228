"""Which objective to minimise: the one whose mappings took least simulated time on machines of that kind."""

from __future__ import annotations

import math

from hopbytes.model.allocation import Allocation

#: What asks for the choice, in place of the name of an objective.
AUTO = "auto"
#: The objective that needs only distances, and the share of the time that others must save to replace it.
USUAL, LEAST_GAIN = "comm_cost", 0.02
OBJECTIVES = ("comm_cost", "hop_bytes", "hops", "max_congestion", "max_messages", "hybrid")
#: Simulated time of preset eco by objective over that in order, geometric means over six patterns, by the
#: machine of the study (last table of bench/STUDIES.md: `python -m bench.studies.which_metric --objectives`).
TIMES = {
    "torus": (0.656, 0.656, 0.833, 0.521, 0.662, 0.521),
    "fat tree 4:1": (0.615, 0.617, 0.871, 0.617, 0.871, 0.633),
    "fat tree 1:1": (0.794, 0.813, 0.976, 0.798, 0.957, 0.804),
    "dragonfly": (0.752, 0.750, 0.926, 0.668, 0.835, 0.673),
}
#: Kind of machine, as specs begin → the machines of the study that are like it.
ALIKE = {"torus": ("torus",), "fattree": ("fat tree 4:1", "fat tree 1:1"), "dragonfly": ("dragonfly",)}


def objective_of(objective: str | None, where: Allocation, weight: str) -> tuple[str, list[str]]:
    """Return the objective that is minimized, and why it was chosen if the caller left that open.

    Parameters
    ----------
    objective : str or None
        A name, None for J, or ``"auto"``.
    where : Allocation
    weight : str
        The weight of an arc; ``"time"`` goes with J only.
    """
    if objective != AUTO:
        return USUAL if objective is None else objective, []
    if weight == "time":
        return USUAL, [_because(USUAL, "weight time goes with no other")]
    name, reason = auto_objective(where)
    return name, [reason]


def auto_objective(where: Allocation) -> tuple[str, str]:
    """Return the objective for a machine, and the reason as a sentence.

    Parameters
    ----------
    where : Allocation

    Notes
    -----
    On kinds of machines that the study lacks J is minimised. J is also preferred if no objective saves more
    than 2 % of the simulated time, as it takes least work. O(1).

    Examples
    --------
    >>> import hopbytes as hb
    >>> auto_objective(hb.machine("torus:4x4 / core:4"))[0], auto_objective(hb.machine("node:4 core:4"))[0]
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
    best = min(times, key=lambda name: times[name])
    if times[best] > (1 - LEAST_GAIN) * times[USUAL]:
        best = USUAL
    others = f", for {USUAL} {times[USUAL]:.2f}" if best != USUAL else ""
    taken = f"its mappings took {times[best]:.2f} of the time in order{others}"
    return best, _because(best, f"in simulations of kind {kind} {taken}")


def _because(name: str, reason: str) -> str:
    return f"objective {name} was chosen: {reason}"
