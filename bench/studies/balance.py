"""Thousands of runs on tasks of load 1: how many have a PE over the exact bound. Asked: none.

    python -m bench.studies.balance --runs 2000 --out bench/results/balance.jsonl

Graphs of 200 to 3000 tasks (Delaunay, random geometric, grids, random trees, random graphs, stars, power-law
degrees, pieces without a connection), machines of 4 to 256 PEs whose number often does not divide the tasks,
imbalance 0, 0.5, 1, 3 and 10 %, presets fast, eco and strong, all drawn from one seed, which is printed. The
bound is that of the judge (bench/evaluate.py), max(floor((1 + eps) n / k), ceil(n / k)). Besides, no
PE may be empty and J must be what the judge finds. Resumable.
"""

from __future__ import annotations

import argparse
import json
import secrets
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import hopbytes as hb
from bench.evaluate import evaluate
from bench.instances.graphs import Arrays, from_edges, points_along_curve
from bench.rivals.tools import code_digest
from bench.run import read_rows

HIERARCHIES = ((4,), (7,), (4, 4), (3, 5), (2, 3, 5), (4, 8, 2), (4, 8, 6), (2, 2, 2, 2, 2, 2), (16, 16))
IMBALANCES = (0.0, 0.005, 0.01, 0.03, 0.1)
#: Most runs are quick ones.
PRESETS = ("fast", "fast", "eco", "eco", "strong")
BROKEN = ("over_bound", "empty", "wrong_cost", "relaxed")
Row = dict[str, Any]
Draw = np.random.Generator


def delaunay(n: int, rng: Draw) -> Arrays:
    from scipy.spatial import Delaunay

    corners = Delaunay(points_along_curve(n, int(rng.integers(2**31)))).simplices.astype(np.int64)
    return from_edges(n, corners.ravel(), np.roll(corners, -1, axis=1).ravel())


def geometric(n: int, rng: Draw) -> Arrays:
    from scipy.spatial import cKDTree

    near = cKDTree(rng.random((n, 2))).query_pairs(0.55 * np.sqrt(np.log(n) / n), output_type="ndarray")
    return from_edges(n, near[:, 0], near[:, 1])


def grid(n: int, rng: Draw) -> Arrays:
    side = int(rng.integers(2, int(n**0.5) + 2))
    cells = np.arange(n)
    right = cells[(cells + 1) % side != 0]
    near, far = np.concatenate([right, cells]), np.concatenate([right + 1, cells + side])
    return from_edges(n, near[far < n], far[far < n])


def tree(n: int, rng: Draw) -> Arrays:
    child = np.arange(1, n)
    return from_edges(n, child, (rng.random(n - 1) * child).astype(np.int64))


def random_graph(n: int, rng: Draw) -> Arrays:
    return from_edges(n, rng.integers(0, n, 4 * n), rng.integers(0, n, 4 * n))


def star(n: int, rng: Draw) -> Arrays:
    hubs = int(rng.integers(1, 6))
    return from_edges(n, np.arange(n), rng.integers(0, hubs, n))


def power_law(n: int, rng: Draw) -> Arrays:
    ends = np.minimum((n * rng.random((2, 4 * n)) ** 3).astype(np.int64), n - 1)
    return from_edges(n, ends[0], ends[1])


def pieces(n: int, rng: Draw) -> Arrays:
    size = int(rng.integers(3, 40))
    near = rng.integers(0, n, 3 * n)
    far = np.minimum(near // size * size + rng.integers(0, size, 3 * n), n - 1)
    return from_edges(n, near, far)


KINDS: tuple[Callable[[int, Draw], Arrays], ...] = (
    delaunay, geometric, grid, tree, random_graph, star, power_law, pieces,
)  # fmt: skip


def one(seed: int, number: int) -> Row:
    """Draw a run, do it, judge it."""
    rng = np.random.default_rng((seed, number))
    make = KINDS[number % len(KINDS)]
    hierarchy = HIERARCHIES[rng.integers(len(HIERARCHIES))]
    imbalance, preset = IMBALANCES[rng.integers(len(IMBALANCES))], PRESETS[rng.integers(len(PRESETS))]
    graph = make(int(rng.integers(max(200, 2 * int(np.prod(hierarchy))), 3000)), rng)
    distance = tuple(10**level for level in range(len(hierarchy)))
    where = hb.allocate(hierarchy=":".join(map(str, hierarchy)), distance=":".join(map(str, distance)))
    sources = np.repeat(np.arange(graph.n), np.diff(graph.indptr))
    mapping = hb.map_tasks(
        hb.CommGraph.from_edges(sources, graph.targets, n=graph.n), where, preset, imbalance=imbalance,
        seed=int(rng.integers(2**31)), threads=1, partition=True
    )  # fmt: skip
    judged = evaluate(graph, mapping.pe, hierarchy, distance, imbalance)
    return {
        "number": number, "kind": make.__name__, "n": graph.n, "hierarchy": ":".join(map(str, hierarchy)),
        "imbalance": imbalance, "preset": preset, "over_bound": judged["over_rounded_down"],
        "empty": judged["empty_pes"], "wrong_cost": judged["comm_cost"] != mapping.info["comm_cost"],
        "relaxed": mapping.info["balance"] != "met",
    }  # fmt: skip


def report(rows: list[Row]) -> None:
    """Print how many runs of every kind broke what."""

    def line(name: str, of: list[Row]) -> str:
        cells = " | ".join(str(sum(bool(row[what]) for row in of)) for what in BROKEN)
        return f"| {name} | {len(of)} | {cells} |"

    print("| | runs | over the bound | with an empty PE | wrong J | relaxed |\n|---|---|---|---|---|---|")
    for name in ("imbalance", "preset", "kind"):
        for value in sorted(Counter(row[name] for row in rows)):
            print(line(f"{name} {value}", [row for row in rows if row[name] == value]))
    print(line("all", rows))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--runs", type=int, default=2000)
    parser.add_argument("--seed", type=int, help="by default that of the rows there are, else a fresh one")
    options = parser.parse_args()
    options.out.parent.mkdir(parents=True, exist_ok=True)
    code = code_digest("hopbytes")
    rows = [row for row in read_rows(options.out) if row["code"] == code]
    seed = options.seed if options.seed is not None else rows[0]["seed"] if rows else secrets.randbelow(2**31)
    print(f"seed {seed}", file=sys.stderr)
    rows = [row for row in rows if row["seed"] == seed]
    done, began = {row["number"] for row in rows}, time.process_time()
    with open(options.out, "a") as file:
        for number in range(options.runs):
            if number not in done:
                rows.append({"seed": seed, "code": code, **one(seed, number)})
                file.write(json.dumps(rows[-1]) + "\n")
    print(f"{time.process_time() - began:.0f} s of CPU time", file=sys.stderr)
    report(rows)
    sys.exit(any(row["over_bound"] or row["wrong_cost"] for row in rows))


if __name__ == "__main__":
    main()
