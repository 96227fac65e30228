"""Preset `best` in the time SharedMap's strong takes, beside restarts of our `strong` in that time.

    python -m bench.studies.equal_time --out bench/results/equal_time.jsonl [--suite engine] [--every 2]

Per instance: SharedMap strong once as a whole process; `best` with the time limit that makes its process
take as long (what starting and reading take is measured first, with `fast`); `strong` with one seed after the
other until the same time is up, of which the best counts. One JSON line each; a table at the end.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import tempfile
from pathlib import Path
from typing import Any

from bench.evaluate import evaluate
from bench.instances import graphs
from bench.instances.suites import SUITES
from bench.rivals.measure import run_measured
from bench.rivals.needed import need
from bench.rivals.tools import TOOLS, Hopbytes, SharedMap, Task

SEED = 7193
Row = dict[str, Any]


class Best(Hopbytes):
    """Preset `best` with a time limit."""

    def __init__(self, limit: float) -> None:
        self.limit = limit

    def command(self, task: Task, out: Path) -> list[str]:
        """As any preset, with the limit."""
        return [*super().command(task, out), "--time-limit", f"{self.limit:.3f}"]


def once(tool: Hopbytes | SharedMap, task: Task, graph: graphs.Arrays) -> Row:
    """Run a tool; return J by the judge, seconds of the process and of the mapping alone."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder, "mapping")
        run = run_measured(tool.command(task, out), timeout=3600)
        if run.error:
            raise RuntimeError(f"{task.graph.name}: {task.preset}: {run.error.splitlines()[-1]}")
        answer = tool.answer(out, run.stdout)
        judged = evaluate(graph, answer.pe, task.hierarchy, task.distance, task.imbalance)
    return {
        "comm_cost": judged["comm_cost"], "over_bound": judged["over_bound"], "wall": run.wall_seconds,
        "map": answer.inner_seconds, "other_cpu": run.other_cpu_seconds,
    }


def compared(prepared: graphs.Prepared, options: argparse.Namespace) -> Row:
    """Run all three on one instance."""
    graph = prepared.arrays()

    def task(preset: str, seed: int = SEED) -> Task:
        return Task(prepared.path, tuple(options.hierarchy), (1, 10, 100), preset, seed, 2)

    rival = once(TOOLS["sharedmap"], task("strong"), graph)
    quick = once(TOOLS["hopbytes"], task("fast"), graph)
    limit = max(0.1, rival["wall"] - (quick["wall"] - quick["map"]))
    best = once(Best(limit), task("best"), graph)
    tries: list[Row] = []
    while not tries or sum(row["map"] for row in tries) + min(row["map"] for row in tries) <= limit:
        tries.append(once(TOOLS["hopbytes"], task("strong", SEED + len(tries)), graph))
    restarts = min(row["comm_cost"] for row in tries)
    return {
        "instance": prepared.name, "family": prepared.family, "hierarchy": options.hierarchy, "limit": limit,
        "sharedmap": rival, "best": best, "restarts": restarts, "tries": len(tries),
        "versions": TOOLS["hopbytes"].versions(),
    }


def report(rows: list[Row]) -> None:
    """Print every instance, then geometric means."""
    heads = ("limit s", "took", "tries", "best/SharedMap", "best/restarts")
    print(f"{'instance':24} {heads[0]:>8} {heads[1]:>8} {heads[2]:>5} {heads[3]:>15} {heads[4]:>14}")
    against, restarts = [], []
    for row in rows:
        against.append(row["best"]["comm_cost"] / row["sharedmap"]["comm_cost"])
        restarts.append(row["best"]["comm_cost"] / row["restarts"])
        print(
            f"{row['instance']:24} {row['limit']:8.2f} {row['best']['map']:8.2f} {row['tries']:5}"
            f" {against[-1]:15.4f} {restarts[-1]:14.4f}"
        )
    late = sum(row["best"]["map"] > max(1.05 * row["limit"], row["limit"] + 0.2) for row in rows)
    gained = sum(ratio <= 0.995 for ratio in restarts)
    print(
        f"{len(rows)} instances: best / SharedMap strong {mean(against):.4f};"
        f" best / restarts {mean(restarts):.4f}, at least 0.5 % better on {gained};"
        f" limit exceeded by more than 5 % and 0.2 s on {late};"
        f" over the bound {sum(bool(row['best']['over_bound']) for row in rows)}"
    )


def mean(values: list[float]) -> float:
    """Geometric mean."""
    return math.exp(math.fsum(map(math.log, values)) / len(values))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--suite", choices=sorted(SUITES), default="engine")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--every", type=int, default=2, help="2 leaves out the renumbered ones")
    parser.add_argument("--hierarchy", type=lambda text: [int(x) for x in text.split(":")], default=[4, 8, 6])
    parser.add_argument("--report", action="store_true", help="only print the table of what is there")
    options = parser.parse_args()
    if not options.report:
        need("chszlablib")
    options.out.parent.mkdir(parents=True, exist_ok=True)
    rows = [json.loads(line) for line in options.out.read_text().splitlines()] if options.out.exists() else []
    if not options.report:
        done = {(row["instance"], row["versions"]["code"]) for row in rows}
        code = TOOLS["hopbytes"].versions()["code"]
        for instance in SUITES[options.suite]()[:: options.every]:
            prepared = graphs.prepare(instance)
            if (prepared.name, code) in done:
                continue
            try:
                rows.append(compared(prepared, options))
            except RuntimeError as error:  # SharedMap ends on volumes beyond 32 bits
                print(f"left out: {error}", file=sys.stderr, flush=True)
                continue
            with open(options.out, "a") as file:
                file.write(json.dumps(rows[-1]) + "\n")
            print(prepared.name, file=sys.stderr, flush=True)
    report(rows)


if __name__ == "__main__":
    main()
