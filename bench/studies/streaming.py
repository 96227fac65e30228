"""Streaming: J and CPU time of `map_stream` beside the preset fast, which holds the whole graph.

    python -m bench.studies.streaming --out bench/results/streaming.jsonl
    python -m bench.studies.streaming --out big.jsonl --file huge.parhip --no-fast

Meshes, geometric and irregular graphs, each in its own order and with its vertices in random order, on
island:6@100 node:8@10 core:4@1. Four ways: one vertex after the other (`buffer=0`), then clusters with a
buffer for one pair per 16 arcs (at most 2^20), in one pass and in two, then the default (two passes, 2^22
pairs). Writes a line of JSON per graph and goes on where it was; prints a table with the ratios of J and
their geometric means. "read" is one pass that parses the file and does nothing else. Ten minutes; asked is
J <= 2 x fast after one pass, and <= 1.35 x after a pass with a buffer.
"""

from __future__ import annotations

import argparse
import functools
import json
import math
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import hopbytes as hb
from bench.instances import graphs, shapes
from hopbytes.formats.streaming import open_graph

MACHINE = "island:6@100 node:8@10 core:4@1"
REAL = ("brack2", "wing", "fe_pwt", "fe_sphere", "4elt", "t60k", "delaunay_n16", "rgg_n_2_15_s0")
#: Arcs of a graph for every pair of clusters that the small buffer holds.
ARCS_PER_PAIR = 16
MOST_PAIRS = 1 << 20


def instances() -> Iterator[tuple[str, Callable[[], graphs.Arrays]]]:
    """Yield names and makers of graphs."""
    made: dict[str, Callable[[], graphs.Arrays]] = {
        "delaunay 2^17": functools.partial(graphs.delaunay, 17, 1),
        "geometric 2^16": functools.partial(graphs.random_geometric, 16, 1),
        "grid 50x50x50": functools.partial(graphs.grid, 50, 50, 50),
        "rmat 2^15": functools.partial(shapes.recursive_matrix, 15, 8, 1),
    }
    yield from made.items()
    shared = graphs.shared_folder()
    for name in REAL if shared is not None else ():
        assert shared is not None
        yield name, functools.partial(_real, shared / f"{name}.graph.xz")


def _real(path: Path) -> graphs.Arrays:
    return graphs.read_metis(path)


def ways(arcs: int) -> dict[str, dict[str, int]]:
    """Return the options of `map_stream` by the name of the column."""
    small = max(1000, min(arcs // ARCS_PER_PAIR, MOST_PAIRS))
    return {
        "online": {"buffer": 0, "passes": 1}, "one pass": {"buffer": small, "passes": 1},
        "buffered": {"buffer": small, "passes": 2}, "default": {},
    }


def measured(path: Path, *, fast: bool) -> dict[str, Any]:
    """Return J and CPU seconds of every way on one file."""
    began = time.process_time()
    with open_graph(path) as stream:
        arcs = sum(len(block.targets) for block in stream.blocks())
        row: dict[str, Any] = {"n": stream.n, "arcs": arcs, "read": time.process_time() - began}
    if fast:
        graph = hb.read(path)
        row |= _run(lambda: hb.map_tasks(graph, MACHINE, "fast", partition=True), "fast")
    for name, options in ways(arcs).items():
        row |= _run(functools.partial(hb.map_stream, path, MACHINE, **options), name)
    return row


def _run(work: Callable[[], hb.Mapping], name: str) -> dict[str, Any]:
    began = time.process_time()
    found = work()
    spent = time.process_time() - began
    assert found.info["balance"] == "met"
    return {name: found.comm_cost, f"{name} cpu": spent, f"{name} work": found.info["work"]}


def rows_of(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Yield the rows that are there, then those that are missing."""
    done = {}
    if options.out.exists():
        done = {row["graph"]: row for row in map(json.loads, options.out.read_text().splitlines())}
    if options.file:
        if str(options.file) not in done:
            row = {"graph": str(options.file), **measured(options.file, fast=not options.no_fast)}
            _keep(options.out, row)
            done[row["graph"]] = row
        yield done[str(options.file)]
        return
    with tempfile.TemporaryDirectory() as folder:
        for name, maker in instances():
            for order in ("own order", "shuffled"):
                title = f"{name}, {order}"
                if title not in done:
                    graph = maker() if order == "own order" else graphs.renumbered(maker(), 1)
                    path = Path(folder) / "g.graph"
                    graphs.write_metis(graph, path)
                    done[title] = {"graph": title, **measured(path, fast=True)}
                    _keep(options.out, done[title])
                yield done[title]


def _keep(out: Path, row: dict[str, Any]) -> None:
    out.parent.mkdir(parents=True, exist_ok=True)
    with out.open("a") as file:
        file.write(json.dumps(row) + "\n")


def show(rows: list[dict[str, Any]]) -> None:
    """Print the table."""
    names = list(ways(0))
    print(f"| graph | vertices | arcs | read s | fast s | {' | '.join(f'{n} J | s' for n in names)} |")
    print("|---" * (5 + 2 * len(names)) + "|")
    for row in rows:
        base = row.get("fast")
        cells = []
        for name in names:
            cells += [f"{row[name] / base:.2f}" if base else str(row[name]), f"{row[f'{name} cpu']:.2f}"]
        fast = f"{row['fast cpu']:.2f}" if base else "-"
        facts = [row["graph"], row["n"], row["arcs"], f"{row['read']:.2f}", fast, *cells]
        print(f"| {' | '.join(map(str, facts))} |")
    compared = [row for row in rows if "fast" in row]
    for what, chosen in (
        ("own order", [row for row in compared if "own" in row["graph"]]),
        ("shuffled", [row for row in compared if "shuffled" in row["graph"]]),
    ):
        if chosen:
            means = ", ".join(f"{name} {_mean(chosen, name):.3f}" for name in names)
            print(f"geometric means of J over fast, {what}: {means}")


def _mean(rows: list[dict[str, Any]], name: str) -> float:
    return math.exp(sum(math.log(row[name] / row["fast"]) for row in rows) / len(rows))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--file", type=Path, help="measure this graph instead")
    parser.add_argument("--no-fast", action="store_true", help="with --file: it does not fit into memory")
    options = parser.parse_args()
    warnings.simplefilter("ignore", hb.HopbytesWarning)
    show(list(rows_of(options)))


if __name__ == "__main__":
    main()
