"""The whole run on a graph of a million vertices: share of reading, peak memory of all processes.

    python -m bench.studies.end_to_end --out bench/results/scale.jsonl --presets strong --seeds 1

Takes the options of bench/run.py (suite ``scale``, exact memory) and prints, for every good row of
the file, the two numbers that matter at this size.
"""

from __future__ import annotations

import sys

from bench import run


def csr_bytes(n: int, m: int) -> int:
    """Size of an unweighted graph as row pointers and both directions of every edge, 64 bits each."""
    return 8 * (n + 1 + 2 * m)


def report(row: run.Row) -> str:
    """Return one line about a row."""
    seconds = row["claimed"].get("seconds", {})
    share = seconds.get("read", 0.0) / row["wall_seconds"]
    memory = row["peak_memory_bytes"]
    return (
        f"{row['instance']} {row['tool']}:{row['preset']} seed {row['seed']}: "
        f"wall {row['wall_seconds']:.1f} s, reading {100 * share:.1f} %, "
        f"peak memory {memory / 2**20:.0f} MB = "
        f"{memory / csr_bytes(row['n'], row['m']):.2f} x CSR, J {row['comm_cost']}"
    )


def main() -> None:
    """Run what has no row yet, then report."""
    arguments = ["--suite", "scale", "--memory", "--tools", "hopbytes", "--presets", "strong", "--seeds", "1"]
    arguments += sys.argv[1:]
    run.main(arguments)
    for row in run.read_rows(run.parse(arguments).out):
        if not row["error"] and row["peak_memory_bytes"]:
            print(report(row))


if __name__ == "__main__":
    main()
