"""Benchmark runs beside a baseline: geometric means, wins, failures, violated bounds.

    python -m hopbytes_laboratory.compare_runs RESULTS.jsonl --baseline sharedmap:strong
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from hopbytes.errors import HopbytesError
from hopbytes_laboratory.standings import compare, describe, read_results


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare the runs of a file and print the table; an error is one line."""
    parser = argparse.ArgumentParser(prog="compare_runs", description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "results", type=Path, help="JSON lines written by bench/run.py, compressed or not"
    )
    parser.add_argument(
        "--baseline", metavar="TOOL[:PRESET]", default="sharedmap",
        help="what to compare with; TOOL alone compares presets of the same name",
    )  # fmt: skip
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args(arguments)
    try:
        comparison = compare(read_results(options.results), options.baseline)
    except HopbytesError as error:
        print(f"compare_runs: {error}", file=sys.stderr)
        return 1
    print(json.dumps(comparison.to_dict(), indent=2) if options.json else describe(comparison))
    return 0


if __name__ == "__main__":
    sys.exit(main())
