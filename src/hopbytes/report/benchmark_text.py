"""Text tables of a comparison of benchmark runs."""

from __future__ import annotations

from collections.abc import Sequence

from hopbytes.errors import printable
from hopbytes.report.benchmark_comparison import Comparison, Standing
from hopbytes.text.columns import table_lines

#: Column heads of the ratios, by measure.
RATIO_HEADS = {"comm_cost": "J", "wall_seconds": "wall", "inner_seconds": "map", "cpu_seconds": "CPU"}


def describe(comparison: Comparison) -> str:
    """Return a comparison as tables: all instances, families, single instances, notes.

    The columns J, wall (whole process), map (mapping alone) and CPU are ratios to the baseline,
    geometric means; below 1 is better. `mean J` and `mean s` are the contender's own geometric means.

    >>> from hopbytes.report.benchmark_comparison import compare
    >>> rows = [{"instance": "mesh", "tool": "ours", "preset": "eco", "seed": 1, "comm_cost": 5}]
    >>> "ours:eco" in describe(compare(rows, "ours"))
    True
    """
    tables = [_table("all instances", comparison.overall, group=None)]
    if len({standing.scope for standing in comparison.families}) > 1:
        tables.append(_table("by family", _without_baselines(comparison.families), group="family"))
    tables.append(_table("by instance", _without_baselines(comparison.instances), group="instance"))
    notes = [f"note: {note}" for note in comparison.notes]
    # Lines are as wide as they need to be: a terminal may wrap them, but numbers are never cut.
    return printable("\n\n".join("\n".join(lines) for lines in (*tables, notes) if lines), "\n")


def _without_baselines(standings: Sequence[Standing]) -> list[Standing]:
    return [standing for standing in standings if standing.contender != standing.baseline]


def _table(title: str, standings: Sequence[Standing], group: str | None) -> list[str]:
    """Return the lines of a table under its title, none if it has no rows."""
    if not standings:
        return []
    heads = ["contender", "against", *RATIO_HEADS.values(), "mean J", "mean s", "won-tied-lost", "runs"]
    rows = [[*([group] if group else []), *heads, "failed", "over bound"]]
    rows += [[*([standing.scope] if group else []), *_cells(standing)] for standing in standings]
    return [title, *(f"  {line}" for line in table_lines(rows, "<<<>" if group else "<<>"))]


def _cells(standing: Standing) -> list[str]:
    return [
        standing.contender,
        "-" if standing.contender == standing.baseline else standing.baseline,
        *(_number(standing.ratios[measure], ".3f") for measure in RATIO_HEADS),
        _number(standing.means["comm_cost"], ".0f"),
        _number(standing.means["wall_seconds"], ".2f"),
        f"{standing.wins}-{standing.ties}-{standing.losses}",
        str(standing.runs), str(standing.failures), str(standing.over_bound),
    ]


def _number(value: float | None, form: str) -> str:
    return "-" if value is None else format(value, form)
