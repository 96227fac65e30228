"""Growth: time per edge and memory per vertex and arc from 2^17 to 2^21 vertices.

    python -m bench.studies.growth --out bench/results/growth.jsonl [--presets fast,eco]
    python -m bench.studies.growth --out bench/results/irregular.jsonl --suite irregular --presets fast,eco

Runs what has no row yet (bench/run.py: Delaunay graphs and boxes on 4:8:6, one seed, 2 threads) and prints a
line per run. Asked: time per edge grows less than twofold, memory is linear. Making the inputs takes some
minutes once and 1 GB of disk. ``--suite irregular`` prints the same for irregular and random graphs.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from bench import run
from bench.studies.deep import Row, latest


def report(rows: list[Row]) -> None:
    """Print every run."""
    heads = ("preset", "instance", "vertices", "edges", "J", "map s", "us an edge", "CPU us", "MB", "bytes")
    print(f"| {' | '.join(heads)} |\n{'|---' * len(heads)}|")
    for row in rows:
        time, size = per_edge(row)
        print(
            f"| `{row['preset']}` | {row['instance']} | {row['n']} | {row['m']} | {row['comm_cost']}"
            f" | {row['inner_seconds']:.2f} | {time:.2f} | {1e6 * row['cpu_seconds'] / row['m']:.2f}"
            f" | {row['peak_rss_bytes'] / 2**20:.0f} | {size:.0f} |"
        )


def per_edge(row: Row) -> tuple[float, float]:
    """Microseconds of mapping per edge, bytes of the process per vertex and arc."""
    return 1e6 * row["inner_seconds"] / row["m"], row["peak_rss_bytes"] / (row["n"] + 2 * row["m"])


def report_growth(rows: list[Row]) -> None:
    """Print how much more the largest input of a family takes than the smallest, for its size."""
    for preset, family in dict.fromkeys((row["preset"], row["family"]) for row in rows):
        of = [row for row in rows if (row["preset"], row["family"]) == (preset, family)]
        time, size = (big / small for small, big in zip(per_edge(of[0]), per_edge(of[-1]), strict=True))
        print(
            f"{preset}, {family}, {of[0]['n']} to {of[-1]['n']} vertices: time per edge x {time:.2f},"
            f" memory per vertex and arc x {size:.2f}"
        )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--suite", choices=("growth", "irregular"), default="growth")
    parser.add_argument("--presets", default="fast,eco")
    parser.add_argument("--seeds", default="1")
    parser.add_argument("--threads", default="2")
    parser.add_argument("--instances", default="", help="only these, by name")
    options = parser.parse_args()
    run.main([
        "--suite", options.suite, "--hierarchy", "4:8:6", "--tools", "hopbytes", "--presets", options.presets,
        "--seeds", options.seeds, "--threads", options.threads, "--out", str(options.out),
        "--instances", options.instances, "--timeout", "3000",
    ])  # fmt: skip
    rows = [row for row in latest(options.out) if not row["error"]]
    rows.sort(key=lambda row: (row["preset"], row["family"], row["n"]))
    report(rows)
    if options.suite == "growth":
        report_growth(rows)


if __name__ == "__main__":
    main()
