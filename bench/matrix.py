"""The matrix of bench/run.py --suite engine in one table: all, halves, families, machines, numberings.

    python -m bench.matrix bench/results/engine.jsonl

Every preset against SharedMap's strong: geometric means of J and of seconds, instances won, answers over the
bound. Instances whose SharedMap runs failed are left out of the means and counted. Settings are chosen on
the even half of the list of instances; the odd half is only looked at. Of several
rows of one run the last counts.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench.instances.suites import engine_suite
from bench.run import read_rows
from hopbytes_laboratory.standings import Standing, compare

BASELINE = "sharedmap:strong"
HEAD = (
    "| group | preset | J | wall | map | CPU | won-tied-lost | runs | failed | over bound |\n"
    "|---|---|---|---|---|---|---|---|---|---|"
)
HOW = "they need pip install '.[bench]', then python -m bench.run with --tools sharedmap,hopbytes"
Row = dict[str, Any]


def base_name(row: Row) -> str:
    """Name of the instance without seed and order of numbering."""
    return str(row["instance"]).partition("-s")[0].removesuffix(".shuffled")


def groups(rows: list[Row]) -> dict[str, Callable[[Row], bool]]:
    """Name of a group and what belongs to it."""
    plain = [instance.name for instance in engine_suite()[::2]]
    place = {name: position for position, name in enumerate(plain)}
    found: dict[str, Callable[[Row], bool]] = {
        "all": lambda row: True,
        "even half": lambda row: place.get(base_name(row), 0) % 2 == 0,
        "odd half": lambda row: place.get(base_name(row), 0) % 2 == 1,
        "own order": lambda row: ".shuffled" not in row["instance"],
        "renumbered": lambda row: ".shuffled" in row["instance"],
    }
    for name in ("family", "hierarchy"):
        for value in sorted({row[name] for row in rows}):
            found[value] = lambda row, name=name, value=value: row[name] == value
    return found


def line(group: str, standing: Standing) -> str:
    """One row of the table, in Markdown."""

    def number(measure: str) -> str:
        value = standing.ratios[measure]
        return "-" if value is None else f"{value:.3f}"

    won = f"{standing.wins}-{standing.ties}-{standing.losses}"
    cells = (
        group, f"`{standing.contender}`",
        *map(number, ("comm_cost", "wall_seconds", "inner_seconds", "cpu_seconds")),
        won, standing.runs, standing.failures, standing.over_bound,
    )
    return "| " + " | ".join(map(str, cells)) + " |"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("results", type=Path)
    path = parser.parse_args().results
    rows = read_rows(path)
    if not rows:
        raise SystemExit(f"{path}: no rows; bench/README.md says how to make them")
    if not any(f"{row['tool']}:{row['preset']}" == BASELINE for row in rows):
        raise SystemExit(f"{path}: no rows of {BASELINE}; {HOW}")
    print(HEAD)
    for group, belongs in groups(rows).items():
        chosen = [row for row in rows if belongs(row)]
        if not chosen:  # of --instances some groups have none
            continue
        for standing in compare(chosen, BASELINE).overall:
            if standing.contender != BASELINE or group == "all":
                print(line(group, standing))


if __name__ == "__main__":
    main()
