"""Performance profiles: on which share of the inputs is a contender within a factor of the best one?"""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Mapping as Dictionary
from typing import Protocol

import numpy as np

from hopbytes._arrays import Float64
from hopbytes._frozen import frozen
from hopbytes.errors import UnsupportedError


@frozen(eq=False)
class PerformanceProfile:
    """Step functions over the ratio to the best contender."""

    contenders: tuple[str, ...]  # in the order in which they occur first
    factors: Float64  # float64[points]: Every ratio that occurs, ascending, beginning with 1
    #: float64[contenders, points]: Share of the inputs on which a contender's value is at most `factors`
    #: times the least one
    shares: Float64
    #: number of inputs. A contender without a value for an input is never within any factor on it.
    inputs: int


class Standing(Protocol):
    """What is used of the standings that :func:`hopbytes.report.benchmark_comparison.compare` returns."""

    @property
    def contender(self) -> str:
        """Name of the contender."""

    @property
    def scope(self) -> str:
        """Name of the input."""

    @property
    def means(self) -> dict[str, float | None]:
        """Mean values by name of the measure."""


def performance_profile(values: Dictionary[str, Dictionary[str, float | None]]) -> PerformanceProfile:
    """Return the performance profiles of several contenders (Dolan and Moré, 2002).

    A value of 0 beside a larger one counts as a ratio of infinity for the larger one. O(values log values).

    >>> found = performance_profile({"a": {"x": 10, "y": 40}, "b": {"x": 20, "y": 20}})
    >>> found.factors.tolist(), found.shares.tolist()
    ([1.0, 2.0], [[0.5, 1.0], [0.5, 1.0]])
    """
    inputs = list(dict.fromkeys(name for own in values.values() for name in own))
    rows = [[own.get(name) for name in inputs] for own in values.values()]
    table = np.array(rows, np.float64).reshape(len(rows), len(inputs))  # None becomes NaN
    table = table[:, ~np.isnan(table).all(axis=0)] if table.size else table
    if not table.size:
        raise UnsupportedError("a performance profile needs at least one contender with a value")
    best = np.nanmin(table, axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = np.where(table == best, 1.0, table / best)
    ratios[np.isnan(table)] = np.inf
    factors = np.unique(np.append(ratios[np.isfinite(ratios)], 1.0))
    shares = np.array([np.searchsorted(np.sort(own), factors, side="right") for own in ratios])
    shares = shares / table.shape[1]
    return PerformanceProfile(tuple(values), factors, shares, table.shape[1])


def profile_of_standings(standings: Iterable[Standing], measure: str = "comm_cost") -> PerformanceProfile:
    """Return the performance profile of a comparison of benchmark runs."""
    values: dict[str, dict[str, float | None]] = {}
    for one in standings:
        values.setdefault(one.contender, {})[one.scope] = one.means.get(measure)
    return performance_profile(values)
