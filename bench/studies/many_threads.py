"""Presets and rivals with more and more threads on large graphs: J, CPU and wall seconds, work and span.

    python -m bench.studies.many_threads FOLDER --tools fast,eco,sharedmap:fast --threads 1,2 --seeds 1,2
    python -m bench.studies.many_threads GRAPH.bin … --tools fast,kaminpar:default --out many_threads.jsonl
    python -m bench.studies.many_threads FOLDER --threads 1,2 --machine 'node:64@100 package:64@10 core:32@1'

Files may be given one by one; of a FOLDER all ``*.graph``, ``*.graph.xz``, ``*.bin`` and ``*.parhip`` are
taken. ``bench.instances.large_graphs`` writes such graphs. A tool is a preset, or NAME:MODE of a rival
(bench/rivals/run_threads.py). H is 4:8:6, D 1:10:100, imbalance 3 %; ``--machine`` gives a machine with a
core for every task, on which every core gets one task and no rival runs.

Every run of a preset reads the graph anew, so that its seconds include symmetrising and the final
verification; reading is given on its own. Prints a line of JSON per run, then a table of seconds and one of
scanned edges and their span. ``--out`` adds the lines to a file. The mappings of a preset on all numbers of
threads are compared, and the command fails if they differ. Graphs of 2^20 vertices take about a minute per
preset on 16 cores; rivals may take longer.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import hopbytes as hb

MACHINE = "island:6@100 node:8@10 core:4@1"
ENDINGS = (".graph", ".graph.xz", ".bin", ".parhip")
Row = dict[str, Any]
#: Rows by number of threads.
Runs = dict[int, Row]


def graph_files(given: Sequence[Path]) -> list[Path]:
    """Return the files that are given, and all graphs of the folders among them, sorted by name."""
    found: list[Path] = []
    for path in given:
        inside = (
            sorted(each for each in path.iterdir() if each.name.endswith(ENDINGS)) if path.is_dir() else None
        )
        if inside == []:
            raise SystemExit(f"{path} has no file that ends with {', '.join(ENDINGS)}")
        found += [path] if inside is None else inside
    return found


def timed(
    graph: hb.CommGraph, preset: str, seed: int, threads: int, machine: str = MACHINE
) -> tuple[hb.Mapping, float, float]:
    """Return a mapping, and the CPU and wall seconds that it took."""
    cpu, wall = time.process_time(), time.perf_counter()
    mapping = hb.map_tasks(graph, machine, preset, seed=seed, threads=threads, partition=machine == MACHINE)
    return mapping, time.process_time() - cpu, time.perf_counter() - wall


def of_preset(path: Path, preset: str, seed: int, threads: int, machine: str) -> tuple[Row, np.ndarray]:
    """Return what a preset takes and finds, and the PE of every task; the graph is read anew."""
    start = time.perf_counter()
    graph = hb.read(path)
    read = time.perf_counter() - start
    mapping, cpu, wall = timed(graph, preset, seed, threads, machine)
    work = mapping.info["work"]
    row = {
        "comm_cost": int(mapping.info["comm_cost"]), "cpu_seconds": cpu, "wall_seconds": wall,
        "read_seconds": read, "n": graph.n, "arcs": len(graph.symmetric().targets),
        "scanned": work.get("arcs", 0), "span": work.get("span", 0),
    }  # fmt: skip
    return row, mapping.pe


def of_rival(path: Path, tool: str, seed: int, threads: int) -> Row:
    """Return what a rival takes and finds, in a process of its own."""
    command = [sys.executable, "-m", "bench.rivals.run_threads", str(path), tool, str(threads), str(seed)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{tool} on {threads} threads failed: {done.stderr.strip()[-300:]}")
    found: Row = json.loads(done.stdout.splitlines()[-1])
    return found


def by_threads(rows: list[Row]) -> Iterator[tuple[tuple[str, str, int], Runs]]:
    """Yield graph, tool and seed, and their rows by number of threads, fewest first."""
    found: dict[tuple[str, str, int], Runs] = {}
    for row in rows:
        found.setdefault((row["graph"], row["tool"], row["seed"]), {})[row["threads"]] = row
    yield from ((key, dict(sorted(runs.items()))) for key, runs in found.items())


def labelled(rows: list[Row]) -> Iterator[tuple[str, Runs]]:
    """Yield a label for a picture and rows by number of threads; the seed is named if there are several."""
    several = len({row["seed"] for row in rows}) > 1
    for (graph, tool, seed), runs in by_threads(rows):
        yield f"{graph} {tool}" + (f", seed {seed}" if several else ""), runs


def markdown(heads: list[str], lines: list[list[str]]) -> str:
    """Return a table."""
    return "\n".join(f"| {' | '.join(cells)} |" for cells in [heads, ["---"] * len(heads), *lines])


def table(rows: list[Row]) -> str:
    """Return a row per graph, tool and seed: seconds on every number of threads and their ratios."""
    counts = sorted({row["threads"] for row in rows})
    walls = [f"wall s, {count}" for count in counts]
    heads = [
        "graph", "tool", "seed", "J", f"CPU s, {counts[0]}", *walls, "speed-up", "CPU s over one thread"
    ]  # fmt: skip
    lines = []
    for (graph, tool, seed), runs in by_threads(rows):
        one, most = runs[min(runs)], runs[max(runs)]
        cells = [graph, f"`{tool}`", str(seed), f"{most['comm_cost']:,}"]
        cells.append(f"{one['cpu_seconds']:.2f}" if one["threads"] == counts[0] else "")
        cells += [f"{runs[count]['wall_seconds']:.2f}" if count in runs else "" for count in counts]
        cells.append(f"{one['wall_seconds'] / most['wall_seconds']:.2f}")
        cells.append(f"{most['cpu_seconds'] / one['cpu_seconds']:.2f}")
        lines.append(cells)
    return markdown(heads, lines)


def work_table(rows: list[Row]) -> str:
    """Return a row per graph, preset and seed: scanned edges and their span, which are exact."""
    lines = []
    for (graph, tool, seed), runs in by_threads([row for row in rows if row.get("span")]):
        row = runs[min(runs)]
        arcs, scanned, span = row["arcs"], row["scanned"], row["span"]
        cells = [graph, f"{row['n']:,}", f"{arcs:,}", f"`{tool}`", str(seed)]
        lines.append([*cells, f"{scanned / arcs:.1f}", f"{span / arcs:.2f}", f"{scanned / span:.1f}"])
    heads = ["graph", "vertices", "arcs", "preset", "seed", "scanned edges per arc", "span per arc"]
    return markdown([*heads, "work over span"], lines)


def speed_ups(rows: list[Row]) -> dict[str, list[tuple[int, float]]]:
    """Return by graph and tool the speed-ups over one thread that were measured."""
    return {
        label: [(threads, runs[1]["wall_seconds"] / row["wall_seconds"]) for threads, row in runs.items()]
        for label, runs in labelled(rows)
    }


def possible_speed_ups(rows: list[Row]) -> dict[str, list[tuple[int, float]]]:
    """Return by graph and preset the speed-ups with 1 to 64 threads that work and span allow."""
    curves = {}
    for label, runs in labelled([row for row in rows if row.get("span")]):
        work, span = (runs[min(runs)][name] for name in ("scanned", "span"))
        powers = (2**power for power in range(7))
        curves[label] = [(threads, work / ((work - span) / threads + span)) for threads in powers]
    return curves


def main() -> None:
    """Measure, print and compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("graphs", type=Path, nargs="+", metavar="GRAPH", help="a file or a folder of files")
    parser.add_argument("--tools", default="fast,eco")
    parser.add_argument("--threads", default="1,2,4,8,16")
    parser.add_argument("--seeds", default="1")
    parser.add_argument("--machine", default=MACHINE)
    parser.add_argument("--out", type=Path, help="results file; rows are appended")
    options = parser.parse_args()
    tools = options.tools.split(",")
    if options.machine != MACHINE and any(":" in tool for tool in tools):
        parser.error("rivals map to 4:8:6 only: leave them or --machine out")
    warnings.simplefilter("ignore", hb.HopbytesWarning)
    # The first mapping of a process also loads modules.
    hb.map_tasks(hb.read("stencil:100x100"), MACHINE, "fast", seed=1, partition=True)
    rows: list[Row] = []
    differing: list[str] = []
    for path in graph_files(options.graphs):
        name = path.name.split(".")[0]
        for tool in tools:
            for seed in map(int, options.seeds.split(",")):
                mappings: list[np.ndarray] = []
                for threads in map(int, options.threads.split(",")):
                    if ":" in tool:
                        found = of_rival(path, tool, seed, threads)
                    else:
                        found, pe = of_preset(path, tool, seed, threads, options.machine)
                        mappings.append(pe)
                    row = {"graph": name, "machine": options.machine, "tool": tool, "seed": seed}
                    rows.append({**row, "threads": threads, **found})
                    print(json.dumps(rows[-1]), flush=True)
                    if options.out:
                        with options.out.open("a") as file:
                            file.write(json.dumps(rows[-1]) + "\n")
                if not all(np.array_equal(mappings[0], other) for other in mappings):
                    differing.append(f"{name} {tool}, seed {seed}")
    print(table(rows), work_table(rows), sep="\n\n")
    if differing:
        raise SystemExit(f"mappings that depend on the number of threads: {'; '.join(differing)}")


if __name__ == "__main__":
    main()
