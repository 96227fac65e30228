"""``hopbytes compare-runs``: benchmark results against a baseline."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from hopbytes.cli.common_options import Json
from hopbytes.cli.declare import argument, option


def compare_runs(
    results: Annotated[
        Path,
        argument(
            metavar="RESULTS", values="files", help="JSON lines written by bench/run.py, compressed or not."
        ),
    ],
    baseline: Annotated[
        str,
        option(
            "--baseline", metavar="TOOL[:PRESET]",
            help="What to compare with; TOOL alone compares presets of the same name.",
        ),
    ] = "sharedmap",
    json: Json = False,
) -> None:
    """Compare benchmark runs with a baseline: geometric means, wins, failures, violated bounds."""
    from hopbytes.cli.output import print_json, print_text
    from hopbytes.report.benchmark_comparison import compare as standings
    from hopbytes.report.benchmark_text import describe
    from hopbytes.report.results import read_results

    comparison = standings(read_results(results), baseline)
    if json:
        print_json(comparison.to_dict())
    else:
        print_text(describe(comparison))
