"""How work, memory and bytes of map-distributed grow with the number of processes, and what that predicts.

    python -m bench.studies.distributed_scaling --out scaling.jsonl
    python -m bench.studies.distributed_scaling --out scaling.jsonl --ranks 1 2 4 8 --families geometric

Every row is one run of `mpirun -n P hopbytes map --distributed` on a generated graph. *Weak* rows have 2^17
vertices and 128 PEs per process, *strong* ones 2^19 vertices and 512 PEs on all processes together. Where
processes outnumber cores, wall-clock time says nothing, so the rows have the processor seconds of every
process outside collective calls: the largest one is what a process would need on a core of its own, without
its messages. Their slopes are fitted to all rows but those with the most processes, by least squares of
relative errors, and these are predicted: seconds = a arcs / P log2 k + b I + c, and bytes of memory and bytes
sent by a process = u arcs / P + v I + w, where I is the number of islands and k that of PEs. The program goes
on where a file of rows ends.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from bench.studies.distributed import LAUNCHER, PROGRAM, run
from bench.studies.scale_prediction import relative_fit

FAMILIES = ("geometric", "cube")
#: Vertices per process of weak rows, and of all processes of strong rows, as powers of two.
WEAK, STRONG = 17, 19
PER_PE = 1024
RANKS = [1, 2, 4, 8, 16]
#: What is predicted: edges, PEs, units of the outermost level, and processes.
EDGES, PES, ISLANDS, PROCESSES = 10**9, 10**6, 64, (64, 512)


def spec_of(family: str, n: int) -> str:
    """Return the generator's word for a graph of about n vertices, a power of two."""
    if family == "geometric":
        return f"geometric:{n}"
    exponent = n.bit_length() - 1
    sides = [2 ** ((exponent + more) // 3) for more in (2, 1, 0)]
    return f"grid:{sides[0]}x{sides[1]}x{sides[2]}"


def size_of(kind: str, ranks: int) -> int:
    """Return the number of vertices of a row."""
    return 2**STRONG if kind == "strong" else 2**WEAK * ranks


def one(family: str, kind: str, ranks: int) -> dict[str, Any]:
    """Return a row."""
    n = size_of(kind, ranks)
    islands = n // PER_PE // 32
    machine = f"island:{islands}@100 node:8@10 core:4@1"
    words = [*LAUNCHER, "-n", str(ranks), *PROGRAM, "map", "--distributed", spec_of(family, n)]
    words += ["--on", machine]
    with tempfile.TemporaryDirectory() as folder:
        record, seconds, _ = run([*words, "-o", "m.npy", "--json"], folder)
    held = record["held"]
    return {
        "family": family, "kind": kind, "ranks": ranks, "asked": n, "islands": islands, "k": record["pes"],
        "n": record["tasks"], "arcs": sum(each["arcs"] for each in held),
        "most_arcs": max(each["arcs"] for each in held), "ghosts": max(each["ghosts"] for each in held),
        "J": record["comm_cost"], "balance": record["balance"], "wall": seconds,
        "computing": record["computing"], "peak": record["peak_bytes"],
        "sent": [sum(each.values()) for each in record["sent"]],
    }  # fmt: skip


def measured(options: argparse.Namespace) -> list[dict[str, Any]]:
    """Return the rows that are there and those that are missing."""
    path = options.out
    rows = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    done = {(row["family"], row["kind"], row["ranks"]) for row in rows}
    wanted = [(family, kind, ranks) for family in options.families for kind in ("weak", "strong")
              for ranks in options.ranks]  # fmt: skip
    for each in wanted:
        if each not in done:
            family, kind, ranks = each
            here = family, ranks, size_of(kind, ranks)  # weak and strong rows of one size are one run
            same = [row for row in rows if (row["family"], row["ranks"], row["asked"]) == here]
            rows.append({**same[0], "kind": kind} if same else one(*each))
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("a") as file:
                file.write(json.dumps(rows[-1]) + "\n")
    return rows


def show(rows: list[dict[str, Any]]) -> None:
    """Print what was measured, a row per run."""
    print(
        "| family | scaling | ranks | vertices | PEs | J per arc | s of the slowest rank | s of all "
        "| MB sent by a rank, most | ghosts, most | MiB, most |"
    )
    print("|---" * 11 + "|")
    for row in rows:
        print(
            f"| {row['family']} | {row['kind']} | {row['ranks']} | {row['n']:,} | {row['k']:,} "
            f"| {row['J'] / row['arcs']:.3f} | {max(row['computing']):.1f} | {sum(row['computing']):.1f} "
            f"| {max(row['sent']) / 1e6:.1f} | {row['ghosts']:,} | {max(row['peak']) / 2**20:.0f} |"
        )


def terms(m: float, k: float, islands: float, ranks: float) -> dict[str, list[float]]:
    """Return the terms whose factors are fitted, by what they describe."""
    own = m / ranks
    plain = [own, islands, 1.0]
    return {"seconds": [own * float(np.log2(k)), islands, 1.0], "memory": plain, "sent": plain}


VALUES = {"seconds": "computing", "memory": "peak", "sent": "sent"}


def show_fit(rows: list[dict[str, Any]], family: str) -> None:
    """Print the slopes of a family, their error on the rows left out, and what they predict."""
    own = [row for row in rows if row["family"] == family and row["ranks"] > 1]
    most = max(row["ranks"] for row in own)
    fitted = [row for row in own if row["ranks"] < most]
    factors = {}
    for name, value in VALUES.items():
        table = [terms(row["arcs"], row["k"], row["islands"], row["ranks"])[name] for row in fitted]
        factors[name] = relative_fit(table, [max(row[value]) for row in fitted])
        print(f"{family}, {name}: " + ", ".join(f"{each:.3g}" for each in factors[name]))
    for row in (each for each in own if each["ranks"] == most):
        there = terms(row["arcs"], row["k"], row["islands"], row["ranks"])
        errors = {name: float(factors[name] @ there[name]) / max(row[VALUES[name]]) for name in VALUES}
        text = ", ".join(f"{name} {error:.2f}" for name, error in errors.items())
        print(f"  {row['kind']}, {most} ranks, predicted over measured: {text}")
    for ranks in PROCESSES:
        there = terms(2 * EDGES, PES, ISLANDS, ranks)
        seconds, memory, sent = (float(factors[name] @ there[name]) for name in VALUES)
        print(
            f"  10^9 edges, 10^6 PEs in {ISLANDS} islands, {ranks} ranks: {seconds / 60:.1f} min, "
            f"{memory / 2**30:.1f} GiB and {sent / 1e9:.1f} GB sent per rank"
        )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--ranks", nargs="*", type=int, default=RANKS)
    parser.add_argument("--families", nargs="*", default=list(FAMILIES), choices=FAMILIES)
    options = parser.parse_args()
    rows = measured(options)
    show(rows)
    for family in options.families:
        if len({row["ranks"] for row in rows if row["family"] == family}) > 3:
            show_fit(rows, family)


if __name__ == "__main__":
    main()
