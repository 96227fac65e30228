"""Performance profiles: on which share of the inputs is a contender within a factor of the best one?

The profile of a contender is the share of inputs on which its value is at most x times the least value that
any contender has there, as a function of x (Dolan and Moré, 2002). An input without an answer never counts.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

#: Input → contender → value; lower is better.
Values = Mapping[str, Mapping[str, float]]


def ratios(values: Values) -> dict[str, list[float]]:
    """Return for each contender its values over the least of each input, ascending.

    A value of 0 where the least is 0 is a ratio of 1; any other value there, and a missing one, is infinite.

    Examples
    --------
    >>> ratios({"a": {"x": 2, "y": 3}, "b": {"x": 4}})
    {'x': [1.0, 1.0], 'y': [1.5, inf]}
    """
    names = list(dict.fromkeys(name for each in values.values() for name in each))
    found: dict[str, list[float]] = {name: [] for name in names}
    for each in values.values():
        least = min(each.values())
        for name in names:
            found[name].append(_over(each.get(name, math.inf), least))
    return {name: sorted(own) for name, own in found.items()}


def share(found: list[float], factor: float) -> float:
    """Return the share of inputs within a factor of the best.

    Examples
    --------
    >>> share([1.0, 1.0, 1.2, 3.0], 1.2)
    0.75
    """
    return sum(each <= factor for each in found) / len(found)


def table(values: Values, factors: tuple[float, ...]) -> str:
    """Return the profiles as a table of per cent, one column per factor."""
    heads = ["contender", "best on", *(f"≤ {factor:g}" for factor in factors), "largest"]
    lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    for name, own in ratios(values).items():
        cells = [f"{100 * share(own, factor):.0f} %" for factor in factors]
        worst = "no answer" if math.isinf(own[-1]) else f"{own[-1]:.3f}"
        best = sum(each == 1 for each in own)
        lines.append(f"| `{name}` | {best} of {len(own)} | {' | '.join(cells)} | {worst} |")
    return "\n".join(lines)


def _over(value: float, least: float) -> float:
    if value == least:
        return 1.0
    return value / least if least else math.inf
