"""How long small commands take as whole processes: median and range of several runs.

    python -m bench.studies.startup [--out bench/results/startup.jsonl]

Wall time says something on a quiet machine only; CPU time (user and system) also on a busy one.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any

from bench import ROOT
from bench.rivals.measure import fingerprint, run_measured

RUNS = 11
HOPBYTES = str(Path(sys.executable).parent / "hopbytes")
EXAMPLE = str(ROOT / "examples" / "lammps_lj_64.csv")
Row = dict[str, Any]


def commands(folder: str) -> dict[str, list[str]]:
    """Return what is timed: a name for people and the command."""
    machine = "node:8@10 package:2@3 core:4@1"
    return {
        "python -c pass": [sys.executable, "-c", "pass"],
        "hopbytes --help": [HOPBYTES, "--help"],
        "map of the 64-rank example": [
            HOPBYTES, "map", EXAMPLE, "--on", machine,
            "-o", str(Path(folder, "rankfile")), "--format", "openmpi", "--force",
        ],
    }


def measure() -> list[Row]:
    """Time every command; a first run of each, which finds files cold, is left out."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for name, command in commands(folder).items():
            for measured in [run_measured(command, timeout=60) for _ in range(RUNS + 1)][1:]:
                if measured.error:
                    raise SystemExit(f"{name} failed: {measured.error.strip().splitlines()[-1]}")
                rows.append({
                    "command": name, "wall_seconds": measured.wall_seconds,
                    "cpu_seconds": measured.cpu_seconds, "other_cpu_seconds": measured.other_cpu_seconds,
                    "machine": fingerprint(),
                })  # fmt: skip
    return rows


def table(rows: list[Row]) -> str:
    """Return medians and ranges, one line a command."""
    lines = [
        "| command | runs | wall s (range) | CPU s (range) | cores used by others |",
        "|---|---|---|---|---|",
    ]
    for name in dict.fromkeys(row["command"] for row in rows):
        own = [row for row in rows if row["command"] == name]
        cells = []
        for measure in ("wall_seconds", "cpu_seconds"):
            found = [row[measure] for row in own]
            cells.append(f"{statistics.median(found):.3f} ({min(found):.3f} to {max(found):.3f})")
        others = sum(row["other_cpu_seconds"] for row in own) / sum(row["wall_seconds"] for row in own)
        lines.append(f"| `{name}` | {len(own)} | {' | '.join(cells)} | {others:.2f} |")
    return "\n".join(lines)


def main() -> None:
    """Measure and print."""
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("--out", type=Path, help="write a line of JSON per run, in place of what is there")
    options = parser.parse_args()
    rows = measure()
    if options.out:
        options.out.parent.mkdir(parents=True, exist_ok=True)
        options.out.write_text("".join(json.dumps(row) + "\n" for row in rows))
    print(table(rows))


if __name__ == "__main__":
    main()
