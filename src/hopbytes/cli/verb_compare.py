"""``hopbytes compare``: benchmark results against a baseline."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hopbytes.cli.common_options import Json


def compare(
    results: Annotated[Path, typer.Argument(metavar="RESULTS", help="JSON lines written by bench/run.py.")],
    baseline: Annotated[
        str,
        typer.Option(metavar="TOOL[:PRESET]", help="A tool alone: each preset against its namesake."),
    ] = "sharedmap",
    json: Json = False,
) -> None:
    """Compare benchmark results with a baseline: geometric means, wins, failures, broken bounds."""
    from hopbytes.cli.output import print_json, print_text
    from hopbytes.report.benchmark_comparison import compare as standings
    from hopbytes.report.benchmark_text import describe
    from hopbytes.report.results import read_results

    comparison = standings(read_results(results), baseline)
    if json:
        print_json(comparison.to_dict())
    else:
        print_text(describe(comparison))
