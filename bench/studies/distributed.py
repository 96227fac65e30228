"""Distributed mapping: J, time, memory and bytes of `map --distributed` beside the presets on one process.

    python -m bench.studies.distributed --out bench/results/distributed.jsonl
    python -m bench.studies.distributed --out big.jsonl --graphs "delaunay 2^20" --ranks 2
    python -m bench.studies.distributed --out each.jsonl --one-each --ranks 2 3 4 7 16

Grids, Delaunay and random geometric graphs, one of them with its vertices in random order, and a grid with a
hub that is a neighbour of every vertex, on island:6@100 node:8@10 core:4@1; presets turbo, fast and eco with
one thread, then `mpirun -n P hopbytes map --distributed` on the same ParHIP file. Every result is evaluated
again by `eval --distributed` on two processes. Writes a line of JSON per run and goes on where it was; prints
a table, or with --phases one of bytes by phase. With --one-each there is a PE for every vertex, on a
machine of its own for every graph. Asked: J within 5 % of eco. Times are wall-clock, of as many
processes as fit on the cores there are.
"""

from __future__ import annotations

import argparse
import functools
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import hopbytes as hb
from bench.instances import graphs

MACHINE = "island:6@100 node:8@10 core:4@1"
PRESETS = ("turbo", "fast", "eco")
RANKS = (1, 2, 4, 7)
#: No run may take longer, in seconds.
LIMIT = 900
PROGRAM = [sys.executable, "-m", "hopbytes"]
LAUNCHER = [os.path.join(os.path.dirname(sys.executable), "mpirun"), "--oversubscribe", "--bind-to", "none"]
AS_ROOT = {f"{tool}_ALLOW_RUN_AS_ROOT{more}": "1" for tool in ("OMPI", "PRTE") for more in ("", "_CONFIRM")}


def with_hub(side: int) -> graphs.Arrays:
    """Return a grid and one more vertex that is a neighbour of all others."""
    grid = graphs.grid(side, side)
    tails = np.repeat(np.arange(grid.n), np.diff(grid.indptr))
    once = tails < grid.targets
    every, hub = np.arange(grid.n), np.full(grid.n, grid.n)
    near, far = np.append(tails[once], every), np.append(grid.targets[once], hub)
    return graphs.from_edges(grid.n + 1, near, far)


INSTANCES: dict[str, Callable[[], graphs.Arrays]] = {
    "grid 512x512": functools.partial(graphs.grid, 512, 512),
    "grid 64x64x64": functools.partial(graphs.grid, 64, 64, 64),
    "delaunay 2^17": functools.partial(graphs.delaunay, 17, 1),
    "geometric 2^17": functools.partial(graphs.random_geometric, 17, 1),
    "delaunay 2^17 shuffled": lambda: graphs.renumbered(graphs.delaunay(17, 1), 1),
    "grid 256x256 and a hub": functools.partial(with_hub, 256),
    "delaunay 2^20": functools.partial(graphs.delaunay, 20, 1),
    "grid 1024x1024 and a hub": functools.partial(with_hub, 1024),
}


def recorded() -> graphs.Arrays:
    """Return the pattern of a recorded program on 1024 ranks, from the developers' samples."""
    folder = graphs.shared_folder()
    if folder is None:
        raise SystemExit("the recorded pattern is a sample of the developers: set HOPBYTES_SHARED")
    graph = hb.read(str(folder.parent / "samples/graphs/npb_sp_D_1024.topo"), holds="pattern").symmetric()
    return graphs.Arrays(graph.indptr, graph.targets.astype(np.int64), graph.weights)


#: With a PE for every vertex: graphs and their machines.
ONE_EACH: dict[str, tuple[Callable[[], graphs.Arrays], str]] = {
    "grid 128x128": (functools.partial(graphs.grid, 128, 128), "island:4@100 node:64@10 core:64@1"),
    "grid 24x24x32": (functools.partial(graphs.grid, 24, 24, 32), "island:6@100 node:48@10 core:64@1"),
    "delaunay 2^14": (functools.partial(graphs.delaunay, 14, 1), "island:8@100 node:32@10 core:64@1"),
    "geometric 2^14": (
        functools.partial(graphs.random_geometric, 14, 1), "island:4@100 node:64@10 core:64@1",
    ),
    "delaunay 2^14 shuffled": (
        lambda: graphs.renumbered(graphs.delaunay(14, 1), 1), "island:8@100 node:32@10 core:64@1",
    ),
    "sp.D, recorded": (recorded, "island:4@100 node:16@10 core:16@1"),
    "grid 1000x1000": (functools.partial(graphs.grid, 1000, 1000), "island:10@1000 node:1000@100 core:100@1"),
}


def run(words: list[str], folder: str) -> tuple[dict[str, Any], float, int]:
    """Return what a program prints as JSON, its seconds, and the peak bytes of the largest process."""
    began = time.perf_counter()
    with subprocess.Popen(
        words, cwd=folder, env={**os.environ, **AS_ROOT}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as child:  # fmt: skip
        said, complaints = child.communicate(timeout=LIMIT)
    if child.returncode:
        raise RuntimeError(complaints.decode()[-500:])
    record = json.loads(said)
    peak = max(record["peak_bytes"]) if "peak_bytes" in record else 0
    return record, time.perf_counter() - began, peak


def alone(folder: str, preset: str, machine: str) -> dict[str, Any]:
    """Return J, seconds and peak memory of a preset on one process."""
    program = (
        "import json, resource, hopbytes as hb\n"
        "graph = hb.read('g.parhip')\n"
        f"found = hb.map_tasks(graph, {machine!r}, {preset!r}, partition=True, threads=1)\n"
        "peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024\n"
        "print(json.dumps({'comm_cost': found.comm_cost, 'imbalance': found.info['imbalance'],\n"
        "                  'peak_bytes': [peak], 'map_seconds': found.info['seconds']['map']}))\n"
    )
    record, seconds, peak = run([sys.executable, "-W", "ignore", "-c", program], folder)
    return {"way": preset, "ranks": 1, "J": record["comm_cost"], "imbalance": record["imbalance"],
            "map_seconds": record["map_seconds"], "seconds": seconds, "peak": peak, "sent": 0}  # fmt: skip


def together(folder: str, ranks: int, way: str, machine: str) -> dict[str, Any]:
    """Return the same of map-distributed, whose result is evaluated from the file that it wrote.

    A way is a strategy, and after a blank what makes the first cuts, unless that is our own coarsening.
    """
    strategy, _, cutter = way.partition(" ")
    program = PROGRAM if not cutter else [sys.executable, "-m", "hopbytes_laboratory.ptscotch"]
    words = [*LAUNCHER, "-n", str(ranks), *program, *(["both"] if cutter == "both" else [])]
    words += ["map", "--distributed", "g.parhip", "--on", machine, "--strategy", strategy]
    words += ["-o", "m.npy", "--force", "--json"]
    record, seconds, peak = run(words, folder)
    judge = ["eval", "--distributed", "g.parhip", "m.npy", "--on", machine, "--json"]
    again = [*LAUNCHER, "-n", "2", *PROGRAM, *judge]
    judged, _, _ = run(again, folder)
    assert judged["comm_cost"] == record["comm_cost"]
    assert judged["largest_load"] <= record["bound_asked"]
    spent = record["seconds"][0]
    return {
        "way": way, "ranks": ranks, "J": record["comm_cost"], "imbalance": record["imbalance"],
        "map_seconds": sum(spent[name] for name in ("read", "verify", *record["strategies"])),
        "seconds": seconds,
        "peak": peak, "sent": sum(sum(each.values()) for each in record["sent"]), "phases": spent,
        "sent_by_phase": {name: sum(each[name] for each in record["sent"]) for name in record["sent"][0]},
        "held": record["held"], "history": record["history"],
    }


def measured(options: argparse.Namespace) -> list[dict[str, Any]]:
    """Return the rows that are there and those that are missing."""
    rows = []
    if options.out.exists():
        rows = [json.loads(line) for line in options.out.read_text().splitlines()]
    done = {(row["graph"], row["way"], row["ranks"]) for row in rows}
    known = ONE_EACH if options.one_each else {name: (make, MACHINE) for name, make in INSTANCES.items()}
    for name in options.graphs or known:
        make, machine = known[name]
        wanted = [(preset, 1) for preset in options.presets]
        wanted += [(way, ranks) for ranks in options.ranks for way in options.ways]
        missing = [each for each in wanted if (name, *each) not in done]
        if not missing:
            continue
        with tempfile.TemporaryDirectory() as folder:
            _write(make(), Path(folder) / "g.parhip")
            for way, ranks in missing:
                row = alone(folder, way, machine) if way in PRESETS else together(folder, ranks, way, machine)
                rows.append({"graph": name, **row})
                options.out.parent.mkdir(parents=True, exist_ok=True)
                with options.out.open("a") as file:
                    file.write(json.dumps(rows[-1]) + "\n")
    return rows


def _write(graph: graphs.Arrays, path: Path) -> None:
    targets = graph.targets.astype(np.int32)
    hb.write(hb.CommGraph(graph.indptr, targets, graph.volumes, loads=graph.loads, undirected=True), path)


def show(rows: list[dict[str, Any]]) -> None:
    """Print the table."""
    print("| graph | way | ranks | J | over eco | seconds | peak MiB per rank | MB sent |")
    print("|---" * 8 + "|")
    best = {row["graph"]: row["J"] for row in rows if row["way"] == "eco"}
    for row in rows:
        over = 100 * (row["J"] / best[row["graph"]] - 1) if row["graph"] in best else float("nan")
        print(
            f"| {row['graph']} | {row['way']} | {row['ranks']} | {row['J']:,} | {over:+.1f} % | "
            f"{row['map_seconds']:.1f} | {row['peak'] / 2**20:.0f} | {row['sent'] / 1e6:.1f} |"
        )


def show_phases(rows: list[dict[str, Any]]) -> None:
    """Print the bytes that all ranks sent by phase, and the largest part of a rank beside an even one."""
    shared = [row for row in rows if row["way"] not in PRESETS]
    names = list(dict.fromkeys(name for row in shared for name in row["sent_by_phase"]))
    print("| graph | way | ranks |", *(f"{name} |" for name in names), "arcs / even | ghosts | peak MiB |")
    print("|---" * (6 + len(names)) + "|")
    for row in shared:
        sent = [f"{row['sent_by_phase'].get(name, 0) / 1e6:.1f} |" for name in names]
        arcs = [each["arcs"] for each in row["held"]]
        ghosts = max(each["ghosts"] for each in row["held"])
        even = f"{max(arcs) * len(arcs) / sum(arcs):.2f} | {ghosts:,} | {row['peak'] / 2**20:.0f} |"
        print(f"| {row['graph']} | {row['way']} | {row['ranks']} |", *sent, even)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--graphs", nargs="*", choices=[*INSTANCES, *ONE_EACH], help="by default all")
    parser.add_argument("--one-each", action="store_true", help="a PE for every vertex")
    parser.add_argument("--presets", nargs="*", choices=PRESETS, default=PRESETS, help="on one process")
    parser.add_argument("--ranks", nargs="*", type=int, default=RANKS)
    parser.add_argument("--ways", nargs="*", default=["auto"], help='strategy, or "auto ptscotch"')
    parser.add_argument("--phases", action="store_true", help="bytes by phase, and what a rank holds")
    options = parser.parse_args()
    (show_phases if options.phases else show)(measured(options))


if __name__ == "__main__":
    main()
