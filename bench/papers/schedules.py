"""The four schedules of multisection: measured with few workers, counted with many.

    python -m bench.papers.schedules --suite smoke --hierarchies 4:8:2,4:8:6 --workers 1,2 \
        --counted 1,16,64,80

One line of JSON per instance, hierarchy and schedule: seconds of the cuts with each number of workers (from
the traces), and the counted length of the run for numbers of threads this machine does not have. What is
counted are arcs looked at, from a trace, so it repeats exactly; threads given to a piece are tries side by
side (`tries`), or divide the work of any piece evenly (`linear`, the other end). The table at the end has,
for every number, geometric means of the speed over `layer` and how often a schedule was first.
"""

from __future__ import annotations

import argparse
import heapq
import json
import math
import tempfile
from collections import defaultdict

import numpy as np

import hopbytes as hb
from bench.instances.graphs import DEFAULT_SEED, prepare
from bench.instances.suites import SUITES
from hopbytes.algorithms.multisection.hierarchy import Subproblem
from hopbytes.algorithms.multisection.scheduling import SCHEDULES
from hopbytes.kernels.records import Csr


def traced(graph: hb.CommGraph, where: hb.Allocation, schedule: str, workers: int, runs: int) -> list[dict]:
    """Return the trace of one run."""
    with tempfile.NamedTemporaryFile("r", suffix=".jsonl") as file:
        method = f"multisection:repetitions={runs},schedule={schedule},trace={file.name}"
        hb.map_tasks(graph, where, method, threads=workers, seed=1, partition=True)
        return [json.loads(line) for line in file]


def counted(schedule: str, threads: int, trace: list[dict], runs: int, model: str) -> float:
    """Length of a run in arcs looked at one after the other."""
    work = {tuple(part for part in line["path"].split("/") if part): line for line in trace}
    below = defaultdict(list)
    for path in sorted(work, key=lambda path: [int(part) for part in path]):
        if path:
            below[path[:-1]].append(path)
    schedule_ = SCHEDULES[schedule](threads)
    clock, running = 0.0, []

    def start(orders) -> None:
        for order in orders:
            path = tuple(map(str, order.subproblem.path))
            share = math.ceil(runs / order.threads) / runs if model == "tries" else 1 / order.threads
            heapq.heappush(running, (clock + work[path]["arcs"] * share, path, order))

    start(schedule_.begin(_piece((), work[()]["vertices"])))
    while running:
        clock, path, order = heapq.heappop(running)
        children = [_piece(tuple(map(int, child)), work[child]["vertices"]) for child in below[path]]
        start(schedule_.finished(order, children))
    return clock


def _piece(path: tuple[int, ...], vertices: int) -> Subproblem:
    # Schedules ask for the number of vertices and the path; a broadcast array takes no memory for that.
    indptr = np.broadcast_to(np.int64(0), vertices + 1)
    return Subproblem(len(path), 0, path, None, Csr(indptr, np.empty(0, np.int32), None), None, None)


def critical_path(trace: list[dict], runs: int) -> float:
    """Arcs that have to be looked at one after the other with any number of threads, tries side by side."""
    arcs = {line["path"].rstrip("/"): line["arcs"] / runs for line in trace}
    return max(
        sum(arcs["/".join(path.split("/")[:depth])] for depth in range(1, len(path.split("/")) + 1))
        for path in arcs
    )


def main() -> None:
    """Measure, count, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--suite", choices=sorted(SUITES), default="smoke")
    parser.add_argument("--hierarchies", default="4:8:2,4:8:6")
    parser.add_argument("--workers", default="1,2")
    parser.add_argument("--counted", default="1,16,64,80")
    parser.add_argument("--runs", type=int, default=4, help="tries of every decisive cut")
    parser.add_argument("--seed", type=int, default=DEFAULT_SEED)
    options = parser.parse_args()
    table: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for instance in SUITES[options.suite]():
        graph = hb.read(str(prepare(instance, options.seed).path))
        for hierarchy in options.hierarchies.split(","):
            where = hb.allocate(hierarchy=hierarchy)
            base = traced(graph, where, "naive", 1, options.runs)
            for schedule in SCHEDULES:
                row: dict[str, float] = {}
                for workers in map(int, options.workers.split(",")):
                    trace = traced(graph, where, schedule, workers, options.runs)
                    row[f"{workers} workers, seconds"] = max(line["end"] for line in trace)
                for threads in map(int, options.counted.split(",")):
                    for model in ("tries", "linear"):
                        length = counted(schedule, threads, base, options.runs, model)
                        row[f"{threads} threads, counted, {model}"] = length
                for what, value in row.items():
                    table[what][schedule].append(value)
                record = {"instance": instance.name, "hierarchy": hierarchy, "schedule": schedule, **row}
                record["critical_path"] = critical_path(base, options.runs)
                print(json.dumps(record), flush=True)
    print_table(table)


def print_table(table: dict[str, dict[str, list[float]]]) -> None:
    """Print geometric means of the speed over `layer`, and how often each schedule was (also) first."""
    print(f"\n{'':32}" + "".join(f"{name:>18}" for name in SCHEDULES))
    for what, columns in table.items():
        values = np.array([columns[name] for name in SCHEDULES])
        speed = np.exp(np.mean(np.log(columns["layer"] / values), axis=1))
        first = np.mean(values <= values.min(axis=0), axis=1)
        cells = (f"{s:.3f} ({f:4.0%})" for s, f in zip(speed, first, strict=True))
        print(f"{what:32}" + "".join(f"{cell:>18}" for cell in cells))


if __name__ == "__main__":
    main()
