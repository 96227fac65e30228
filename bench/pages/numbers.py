"""Numbers that targets name: each is a function of the rows of one file.

A target of ``bench/targets.toml`` says ``computed = { from = "foundation", what = "ratio", … }``: the rows
are those of ``bench/results/foundation.jsonl.xz``, the function is the one of that name here, and what else
stands there are its arguments.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable
from typing import Any

import numpy as np

from bench.pages.kept import Row
from bench.studies import balance, deep, flat_cuts, gap, growth, many_threads, mpi_patterns, network_cases
from bench.studies.best_known import Store
from hopbytes_laboratory.standings import Comparison, Standing, compare

BASELINE = "sharedmap:strong"


def ratio(rows: list[Row], contender: str, measure: str, baseline: str = BASELINE) -> float:
    """Geometric mean over instances of a measure over that of the baseline."""
    found = _standing(compare(rows, baseline), contender).ratios[measure]
    if found is None:
        raise ValueError(f"{contender} or {baseline} lacks {measure} on some instance")
    return found


def worst_family(rows: list[Row], contender: str, baseline: str = BASELINE) -> float:
    """J over that of the baseline in the family where it is highest."""
    own = [each for each in compare(rows, baseline).families if each.contender == contender]
    return max(each.ratios["comm_cost"] for each in own if each.ratios["comm_cost"] is not None)


def ahead(rows: list[Row], contender: str, baseline: str = BASELINE) -> float:
    """Per cent of the instances on which J is below that of the baseline."""
    found = _standing(compare(rows, baseline), contender)
    return 100 * found.wins / found.instances


def over_bound(rows: list[Row], tool: str) -> float:
    """How many answers of a tool exceed the load bound, rounded down."""
    return sum(bool(row.get("over_rounded_down")) for row in rows if row["tool"] == tool)


def gap_to_best(rows: list[Row], contender: str) -> float:
    """Mean over instances of J over the best known, in per cent above it."""
    return statistics.fmean(gap.gaps(rows, Store().rows())[contender].values())


def broken(rows: list[Row]) -> float:
    """How many runs exceed the bound, leave a PE empty, give a wrong J or relax the bound."""
    return sum(any(row[what] for what in balance.BROKEN) for row in rows)


def time_growth(rows: list[Row], family: str, preset: str = "fast") -> float:
    """Mapping time per edge of the largest graph of a family over that of the smallest."""
    own = [row for row in rows if (row["family"], row["preset"]) == (family, preset)]
    own.sort(key=lambda row: row["n"])
    return growth.per_edge(own[-1])[0] / growth.per_edge(own[0])[0]


def least_speed_up(rows: list[Row], presets: list[str], threads: int) -> float:
    """The least wall time on one thread over that on several, of some presets on all graphs."""
    found = many_threads.speed_ups([row for row in rows if row["tool"] in presets])
    return min(speed for curve in found.values() for count, speed in curve if count == threads)


def beside_metis(rows: list[Row], preset: str, of: str) -> float:
    """Cut (``cut``) or CPU time (``cpu``) over METIS', geometric means; or the largest cut (``largest``)."""
    pairs = flat_cuts.ratios(rows)[preset].values()
    if of == "largest":
        return max(cut for cut, _ in pairs)
    cut, cpu = flat_cuts.means(pairs)
    return cpu if of == "cpu" else cut


def recordings(rows: list[Row], preset: str, against: str, of: str) -> float:
    """J of a preset over that of ranks ``in order`` or of ``scotch``: ``mean`` or ``largest`` of cases."""
    place = ("in order", "scotch").index(against)
    found = [mpi_patterns.ratios(tools, preset)[place] for tools in mpi_patterns.by_case(rows)]
    return max(found) if of == "largest" else float(np.exp(np.mean(np.log(found))))


def slowest(rows: list[Row], preset: str, ranks: int) -> float:
    """Most CPU seconds that a preset took for a recording of at most so many ranks."""
    return max(row["cpu_seconds"] for row in rows if row["tool"] == preset and row["n"] <= ranks)


def over_kahip(rows: list[Row], preset: str) -> float:
    """Largest J of a preset, geometric mean over seeds, over that of KaHIP's global multisection."""
    ratios: dict[str, list[float]] = {}
    for row in rows:
        if row["preset"] == preset and not row["error"]:
            ratio = row["comm_cost"] / deep.KAHIP[row["instance"]]
            ratios.setdefault(row["instance"], []).append(ratio)
    return max(statistics.geometric_mean(each) for each in ratios.values())


def mean_gap(rows: list[Row]) -> float:
    """Mean gap to the best known cost, in per cent."""
    return 100 * statistics.fmean(row["gap"] for row in rows)


def largest_gap(rows: list[Row]) -> float:
    """Largest gap to the best known cost, in per cent."""
    return 100 * max(row["gap"] for row in rows)


def median(rows: list[Row], name: str, of: str) -> float:
    """Median of a measure over the runs of one command."""
    return statistics.median(row[of] for row in rows if row["command"] == name)


def on_gpu(rows: list[Row], of: str, vertices: int) -> float:
    """Largest mean over seeds of seconds or J over that of the CPU, of graphs with so many vertices."""
    return max(float(statistics.geometric_mean(row[of])) for row in rows if row["n"] == vertices)


def behind(rows: list[Row], contender: str, objective: str) -> float:
    """On how many networks a preset is behind a simpler tool or a preset of less effort."""
    found = network_cases.of_objective(rows, objective)
    return sum(bool(network_cases.behind(values, contender)) for values in found.values())


NUMBERS: dict[str, Callable[..., float]] = {
    "ratio": ratio, "worst_family": worst_family, "ahead": ahead, "over_bound": over_bound,
    "gap": gap_to_best, "broken": broken, "time_growth": time_growth, "recordings": recordings,
    "over_kahip": over_kahip,
    "slowest": slowest, "mean_gap": mean_gap, "largest_gap": largest_gap, "median": median, "behind": behind,
    "least_speed_up": least_speed_up, "on_gpu": on_gpu, "beside_metis": beside_metis,
}  # fmt: skip


def compute(rows: list[Row], computed: Row) -> float:
    """Return the number that a target's ``computed`` describes, from these rows."""
    arguments: dict[str, Any] = dict(computed)
    arguments.pop("from")
    arguments.pop("what")
    return float(NUMBERS[computed["what"]](rows, **arguments))


def _standing(comparison: Comparison, contender: str) -> Standing:
    return next(each for each in comparison.overall if each.contender == contender)
