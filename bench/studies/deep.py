"""A deep hierarchy: 2048 PEs as 4:16:32 under 2^17 tasks, beside KaHIP's global multisection.

    python -m bench.studies.deep --out bench/results/deep.jsonl [--seeds 3] [--threads 2]

Runs what has no row yet (bench/run.py) and prints J relative to KaHIP's and seconds: of the mapping alone,
of the process, and of the CPU. Asked: J at most 0.95 of KaHIP's in at most 2 s. With three seeds and two
threads about five minutes.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from pathlib import Path
from typing import Any

from bench import run
from bench.rivals.tools import TOOLS

#: J of KaHIP's global multisection, preset eco, imbalance 3 %, distances 1:10:100, in 12 to 18 s.
KAHIP = {"del17": 1_714_080, "rgg17": 1_895_850, "grid50": 4_597_818}
Row = dict[str, Any]


def report(rows: list[Row]) -> None:
    """Print means over seeds."""
    found: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for row in rows:
        if row["instance"] in KAHIP and not row["error"]:
            found[row["preset"], row["instance"]].append(row)
    print("| preset | instance | runs | J / KaHIP's | map s | wall s | CPU s | over bound |")
    print("|---|---|---|---|---|---|---|---|")
    for (preset, instance), of in found.items():
        ratio = mean(of, "comm_cost") / KAHIP[instance]
        seconds = (f"{mean(of, name):.2f}" for name in ("inner_seconds", "wall_seconds", "cpu_seconds"))
        over = sum(row["over_bound"] for row in of)
        print(f"| `{preset}` | {instance} | {len(of)} | {ratio:.3f} | {' | '.join(seconds)} | {over} |")


def mean(rows: list[Row], name: str) -> float:
    """Arithmetic mean of a column."""
    return sum(float(row[name]) for row in rows) / len(rows)


def latest(path: Path) -> list[Row]:
    """Return the rows of the code that is installed."""
    versions = TOOLS["hopbytes"].versions()
    return [row for row in run.read_rows(path) if row["versions"] == versions]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--presets", default="fast,eco,strong")
    parser.add_argument("--seeds", default="3")
    parser.add_argument("--threads", default="2")
    options = parser.parse_args()
    run.main([
        "--suite", "deep", "--hierarchy", "4:16:32", "--tools", "hopbytes", "--presets", options.presets,
        "--seeds", options.seeds, "--threads", options.threads, "--out", str(options.out),
    ])  # fmt: skip
    report(latest(options.out))


if __name__ == "__main__":
    main()
