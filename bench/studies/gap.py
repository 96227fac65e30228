"""How far results are from the best known mappings of bench/results/best_known.jsonl.

    python -m bench.studies.gap bench/results/engine.jsonl [--every]

Per tool and preset: mean over instances of J / best known - 1 (J: mean over seeds), the worst instance, and
what is asked. A renumbered graph is the same graph: its rows are measured by what is known of the original.
Rows over the bound or that failed do not count; of several rows of one run the last does. J below the best
known says that a better mapping was found and not kept: then bench/studies/best_known.py has work to do.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from pathlib import Path
from typing import Any

from bench.run import read_rows
from bench.studies.best_known import Store, key

ASKED = {"hopbytes:fast": 9.0, "hopbytes:eco": 4.0, "hopbytes:strong": 2.0, "hopbytes:best": 1.0}
Row = dict[str, Any]


def gaps(rows: list[Row], known: dict[str, Row]) -> dict[str, dict[str, float]]:
    """Percent above the best known by tool:preset and instance."""
    last: dict[tuple[str, str, int, int], tuple[str, int]] = {}
    for row in rows:
        original = key(str(row["instance"]).removesuffix(".shuffled"), row["hierarchy"])
        same = known.get(original)
        if same is None or any(row[name] != same[name] for name in ("distance", "imbalance")):
            continue
        if not row["error"] and not row["over_bound"]:
            who, name = f"{row['tool']}:{row['preset']}", key(row["instance"], row["hierarchy"])
            last[who, name, row["seed"], row["threads"]] = original, row["comm_cost"]
    found: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for (who, name, _, _), (original, cost) in last.items():
        found[who][name].append(100 * (cost / known[original]["comm_cost"] - 1))
    return {who: {name: sum(all_) / len(all_) for name, all_ in each.items()} for who, each in found.items()}


def table(found: dict[str, dict[str, float]]) -> str:
    """Return the mean, the largest gap and what was asked, one line per tool and preset."""
    lines = ["| preset | instances | mean gap, % | largest | there | asked |", "|---|---|---|---|---|---|"]
    for who, each in sorted(found.items()):
        worst = max(each, key=lambda name: each[name])
        asked = f"{ASKED[who]:g}" if who in ASKED else ""
        mean = sum(each.values()) / len(each)
        lines.append(f"| `{who}` | {len(each)} | {mean:.2f} | {each[worst]:.2f} | {worst} | {asked} |")
    return "\n".join(lines)


def every(found: dict[str, dict[str, float]]) -> str:
    """Return the gap on every instance."""
    whos = sorted(found)
    lines = ["| instance | " + " | ".join(whos) + " |", "|---" + "|---" * len(whos) + "|"]
    for name in sorted({name for each in found.values() for name in each}):
        cells = (f"{found[who][name]:.2f}" if name in found[who] else "-" for who in whos)
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("results", type=Path, nargs="+")
    parser.add_argument("--every", action="store_true", help="also every instance")
    options = parser.parse_args()
    found = gaps([row for path in options.results for row in read_rows(path)], Store().rows())
    print(table(found))
    if options.every:
        print("\n" + every(found))


if __name__ == "__main__":
    main()
