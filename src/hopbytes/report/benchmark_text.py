"""Text tables of a comparison of benchmark runs."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import TYPE_CHECKING

from hopbytes.report.benchmark_comparison import Comparison, Standing

if TYPE_CHECKING:
    from rich.console import Console

#: Column heads of the ratios, by measure.
RATIO_HEADS = {"comm_cost": "J", "wall_seconds": "wall", "inner_seconds": "map", "cpu_seconds": "CPU"}


def describe(comparison: Comparison) -> str:
    """Return a comparison as tables: all instances, families, single instances, notes.

    The columns J, wall (whole process), map (mapping alone) and CPU are ratios to the baseline,
    geometric means; below 1 is better. `mean J` and `mean s` are the contender's own geometric means.

    Examples
    --------
    >>> from hopbytes.report.benchmark_comparison import compare
    >>> rows = [{"instance": "mesh", "tool": "ours", "preset": "eco", "seed": 1, "comm_cost": 5}]
    >>> "ours:eco" in describe(compare(rows, "ours"))
    True
    """
    from rich.console import Console

    text = io.StringIO()
    # The width suffices for every table: a terminal may wrap lines, but numbers are never cut.
    console = Console(file=text, width=250, color_system=None)
    _print_table(console, "all instances", comparison.overall, group=None)
    if len({standing.scope for standing in comparison.families}) > 1:
        _print_table(console, "by family", _without_baselines(comparison.families), group="family")
    _print_table(console, "by instance", _without_baselines(comparison.instances), group="instance")
    for note in comparison.notes:
        console.print(f"note: {note}", soft_wrap=True)
    return "\n".join(line.rstrip() for line in text.getvalue().splitlines())


def _without_baselines(standings: Sequence[Standing]) -> list[Standing]:
    return [standing for standing in standings if standing.contender != standing.baseline]


def _print_table(console: Console, title: str, standings: Sequence[Standing], group: str | None) -> None:
    from rich import box
    from rich.table import Table

    if not standings:
        return
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    for head in (*([group] if group else []), "contender", "against"):
        table.add_column(head)
    for head in (*RATIO_HEADS.values(), "mean J", "mean s", "won-tied-lost", "runs", "failed", "over bound"):
        table.add_column(head, justify="right")
    for standing in standings:
        table.add_row(*([standing.scope] if group else []), *_cells(standing))
    console.print(table)


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
