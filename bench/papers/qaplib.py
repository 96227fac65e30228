"""Quadratic assignment problems of QAPLIB as mapping problems: gap to the best known cost.

``python -m bench.papers.qaplib --out qaplib.jsonl`` runs, for every ``*.dat`` file of the developers' folder,

    hopbytes map flow.mat --on table:distance.mat --preset best --threads 1 --time-limit 10

one after another in fresh processes, recomputes the cost of each answer from the matrices, and prints
a table with means by family. A file holds n and the best known cost in its first line, then two
matrices; exchanging them changes no optimum, so the one with more zeros is taken for the pattern.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bench import ROOT
from hopbytes._arrays import Int64


@dataclass(frozen=True)
class Instance:
    """A problem: cost of p is the sum of flow[i, j] * distance[p[i], p[j]]."""

    name: str
    best_known: int
    flow: Int64
    distance: Int64

    @property
    def family(self) -> str:
        """Letters of the name up to the number, and the letter after it for generated families."""
        letters, _, kind = re.match(r"([a-z]+)(\d+)([a-z]*)", self.name).groups()
        return f"{letters}*{kind}" if letters == "tai" else letters

    def cost(self, place: Int64) -> int:
        """Cost of a permutation."""
        return int((self.flow * self.distance[np.ix_(place, place)]).sum())


def read_instance(path: Path) -> Instance:
    """Read a ``.dat`` file."""
    numbers = np.array(path.read_text().split(), dtype=np.int64)
    n = int(numbers[0])
    one, other = numbers[2 : 2 + 2 * n * n].reshape(2, n, n)
    flow, distance = (one, other) if np.count_nonzero(one) <= np.count_nonzero(other) else (other, one)
    return Instance(path.stem, int(numbers[1]), flow, distance)


def folder() -> Path:
    """Folder with the instances (``HOPBYTES_SHARED`` or ``../shared``)."""
    found = Path(os.environ.get("HOPBYTES_SHARED", ROOT.parent / "shared")) / "qaplib"
    if not found.is_dir():
        raise SystemExit("no folder of instances: set HOPBYTES_SHARED")
    return found


def run(
    instance: Instance, options: list[str], seed: int, limit: float, work: int = 0
) -> dict[str, object]:
    """Map once; the row says what was asked, what came out and what it took."""
    with tempfile.TemporaryDirectory() as place:
        names = {"flow.mat": instance.flow, "distance.mat": instance.distance}
        for name, matrix in names.items():
            np.savetxt(Path(place, name), matrix, fmt="%d")
        until = ["--work-limit", str(work)] if work else ["--time-limit", str(limit)]
        command = [
            sys.executable, "-m", "hopbytes", "map", "flow.mat", "--on", "table:distance.mat", *options,
            "--threads", "1", "--seed", str(seed), *until, "--format", "plain",
            "-o", "out",
        ]
        before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
        done = subprocess.run(command, cwd=place, capture_output=True, text=True)
        wall, after = time.monotonic() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        row: dict[str, object] = {
            "instance": instance.name, "family": instance.family, "n": len(instance.flow),
            "best_known": instance.best_known, "options": options, "seed": seed,
            "time_limit": None if work else limit, "work_limit": work or None,
            "wall_seconds": wall, "cpu_seconds": cpu,
            "error": done.stderr.strip() if done.returncode else None,
        }
        if done.returncode == 0:
            answer = np.loadtxt(Path(place, "out"), dtype=np.int64, comments="#")
            if sorted(answer.tolist()) != list(range(len(instance.flow))):
                row["error"] = "not a permutation"
            row["cost"] = instance.cost(answer)
            row["gap"] = instance.cost(answer) / instance.best_known - 1
    return row


def table(rows: list[dict[str, object]]) -> Iterator[str]:
    """One line an instance, then means by family: of the gap in per cent, and geometric ones of the cost."""
    good = [row for row in rows if row["error"] is None]
    yield f"{'instance':10} {'best known':>12} {'best':>12} {'mean gap %':>10} {'worst %':>8} {'CPU s':>6}"
    for name in sorted({row["instance"] for row in good}):
        own = [row for row in good if row["instance"] == name]
        gaps = [100 * row["gap"] for row in own]
        yield (
            f"{name:10} {own[0]['best_known']:12} {min(row['cost'] for row in own):12} {np.mean(gaps):10.3f} "
            f"{max(gaps):8.3f} {np.mean([row['cpu_seconds'] for row in own]):6.1f}"
        )
    groups = {"n >= 30": [row for row in good if row["n"] >= 30], "all": good}
    for family in sorted({row["family"] for row in good}):
        groups[family] = [row for row in good if row["family"] == family]
    yield f"\n{'group':10} {'runs':>5} {'mean gap %':>10} {'geometric %':>11} {'worst %':>8}"
    for name, own in groups.items():
        gaps = [100 * row["gap"] for row in own]
        if gaps:
            geometric = 100 * math.expm1(np.mean([math.log1p(row["gap"]) for row in own]))
            yield f"{name:10} {len(gaps):5} {np.mean(gaps):10.3f} {geometric:11.3f} {max(gaps):8.3f}"
    failed = [row for row in rows if row["error"] is not None]
    yield f"\n{len(failed)} of {len(rows)} runs failed"
    for row in failed:
        yield f"{row['instance']}: {row['error']}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--out", type=Path, help="JSONL to append rows to")
    parser.add_argument("--time-limit", type=float, default=10.0)
    parser.add_argument("--work-limit", type=int, default=0, help="arcs, instead of seconds: repeatable")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--only", default="", help="names, separated by commas")
    parser.add_argument("--least-n", type=int, default=0)
    parser.add_argument("--with", dest="options", default="--preset best", help="options of hopbytes map")
    chosen = parser.parse_args()
    rows = []
    for path in sorted(folder().glob("*.dat")):
        instance = read_instance(path)
        if (chosen.only and path.stem not in chosen.only.split(",")) or len(instance.flow) < chosen.least_n:
            continue
        for seed in range(chosen.first_seed, chosen.first_seed + chosen.seeds):
            row = run(instance, chosen.options.split(), seed, chosen.time_limit, chosen.work_limit)
            rows.append(row)
            gap = 100 * row.get("gap", math.nan)
            print(f"{row['instance']:10} seed {seed} gap {gap:.3f} %", file=sys.stderr)
            if chosen.out is not None:
                with open(chosen.out, "a") as file:
                    file.write(json.dumps(row) + "\n")
    print("\n".join(table(rows)))


if __name__ == "__main__":
    main()
