"""Presets and rivals with more and more threads, on one machine in one run.

    python -m bench.studies.many_threads GRAPH.bin … --tools fast,kaminpar:default --out many_threads.jsonl

A tool is a preset, or NAME:MODE of a rival (bench/rivals/run_threads.py). H is 4:8:6, D 1:10:100, imbalance
3 %, seed 1. Every run of a preset reads the graph anew, so that its seconds include symmetrising and the
final verification; reading is given on its own. Graphs of 2^20 vertices take about a minute per preset on 16
cores; rivals may take longer. ``bench.instances.large_graphs`` writes such graphs.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import hopbytes as hb
from bench.studies.parallel_threads import MACHINE, work_and_span

Row = dict[str, Any]


def of_preset(path: Path, preset: str, threads: int) -> Row:
    """Return what a preset takes and finds; the graph is read anew."""
    start = time.perf_counter()
    graph = hb.read(path)
    read = time.perf_counter() - start
    cpu, wall = time.process_time(), time.perf_counter()
    mapping = hb.map_tasks(graph, MACHINE, preset=preset, seed=1, threads=threads, partition=True)
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    scanned, span = work_and_span(mapping)
    return {
        "comm_cost": int(mapping.info["comm_cost"]), "cpu_seconds": cpu, "wall_seconds": wall,
        "read_seconds": read, "n": graph.n, "arcs": len(graph.symmetric().targets), "scanned": scanned,
        "span": span,
    }  # fmt: skip


def of_rival(path: Path, tool: str, threads: int) -> Row:
    """Return what a rival takes and finds, in a process of its own."""
    command = [sys.executable, "-m", "bench.rivals.run_threads", str(path), tool, str(threads)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{tool} on {threads} threads failed: {done.stderr.strip()[-300:]}")
    found: Row = json.loads(done.stdout.splitlines()[-1])
    return found


def table(rows: list[Row]) -> str:
    """Return a row per graph and tool: seconds on every number of threads, their ratio, that of CPU times."""
    counts = sorted({row["threads"] for row in rows})
    heads = [
        "graph",
        "tool",
        "J",
        *(f"wall s, {count}" for count in counts),
        "speed-up",
        "CPU s over one thread",
    ]
    lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    for graph, tool in dict.fromkeys((row["graph"], row["tool"]) for row in rows):
        found = {row["threads"]: row for row in rows if (row["graph"], row["tool"]) == (graph, tool)}
        one, most = found[min(found)], found[max(found)]
        cells = [graph, f"`{tool}`", f"{most['comm_cost']:,}"]
        cells += [f"{found[count]['wall_seconds']:.2f}" if count in found else "" for count in counts]
        cells.append(f"{one['wall_seconds'] / most['wall_seconds']:.1f}")
        cells.append(f"{most['cpu_seconds'] / one['cpu_seconds']:.2f}")
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def speed_ups(rows: list[Row]) -> dict[str, list[tuple[int, float]]]:
    """Return by graph and tool the speed-ups that were measured."""
    curves: dict[str, list[tuple[int, float]]] = {}
    alone = {(row["graph"], row["tool"]): row["wall_seconds"] for row in rows if row["threads"] == 1}
    for row in rows:
        speed = alone[row["graph"], row["tool"]] / row["wall_seconds"]
        curves.setdefault(f"{row['graph']} {row['tool']}", []).append((row["threads"], speed))
    return curves


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("graphs", type=Path, nargs="+")
    parser.add_argument("--tools", default="fast,eco")
    parser.add_argument("--threads", default="1,2,4,8,16")
    parser.add_argument("--out", type=Path, help="results file; rows are appended")
    options = parser.parse_args()
    warnings.simplefilter("ignore", hb.HopbytesWarning)
    # The first mapping of a process also loads modules.
    hb.map_tasks(hb.read("stencil:100x100"), MACHINE, preset="fast", seed=1, partition=True)
    rows: list[Row] = []
    for path in options.graphs:
        for tool in options.tools.split(","):
            for threads in map(int, options.threads.split(",")):
                found = (of_rival if ":" in tool else of_preset)(path, tool, threads)
                row = {"graph": path.name.split(".")[0], "tool": tool, "threads": threads, **found}
                rows.append(row)
                print(json.dumps(row), flush=True)
                if options.out:
                    with options.out.open("a") as file:
                        file.write(json.dumps(row) + "\n")
    print(table(rows))


if __name__ == "__main__":
    main()
