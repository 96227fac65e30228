"""Changing patterns: J plus migrations of `Remapper` beside mapping from scratch after every batch.

    python -m bench.studies.changing_patterns --out bench/results/changing.jsonl
    python -m bench.studies.changing_patterns --growth --out bench/results/changing.jsonl

Four scenarios (bench/instances/changing.py) of 100 batches on island:4@100 node:4@10 core:4@1. Each way
follows its own mapping: `Remapper`, and `map_tasks` under constraints (initial, migration_price) with the
presets fast and eco, which get the same price. Compared are sums over the batches of J plus price x
migrations; a task that arrives costs nothing, one on a lost PE does. Tasks without a PE get that of the
neighbour with which they exchange most as the initial one of `map_tasks`. Asked is a sum within 3 % of
mapping from scratch. With --growth equal batches change a part of meshes of growing size, and the work of a
batch is counted. Rows are
JSON; what is there is not measured again.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import hopbytes as hb
from bench.instances import changing, graphs

BATCHES = 100
#: Settings of `Remapper` by the name of the column.
WAYS: dict[str, dict[str, Any]] = {
    "remapper": {}, "near changes only": {"saved_per_change": 0}, "at most 100 moves": {"most_moves": 100}
}


def followed(scenario: changing.Scenario, options: dict[str, Any], count: int) -> dict[str, Any]:
    """Return the sums over all batches for `Remapper`."""
    remapper = hb.Remapper(
        scenario.graph, scenario.machine, started(scenario), migration_price=scenario.price, **options
    )
    counted = "sum", "migrations", "most_migrations", "work", "repair_work", "repairs", "changes", "forced"
    row: dict[str, Any] = dict.fromkeys(counted, 0) | {"cpu": 0.0}
    for changes in scenario.batches(count):
        began = time.process_time()
        done = remapper.apply(**changes)
        row["cpu"] += time.process_time() - began
        assert done.balance == "met"
        row["sum"] += done.comm_cost + done.migration_cost
        row["migrations"] += done.migrations
        row["most_migrations"] = max(row["most_migrations"], done.migrations)
        row["work"] += done.work
        row["repair_work"] += done.repair_work
        row["repairs"] += done.repair_work > 0
        row["changes"] += size_of(changes)
        row["forced"] += done.forced
    remapper.verify()
    return row


def size_of(changes: dict[str, Any]) -> int:
    """Return the number of changes in the arguments of `apply`."""
    triples = isinstance(changes.get("edges"), tuple)
    edges = len(changes["edges"][0]) if triples else len(changes.get("edges", ()))
    loads = len(changes["loads"][0]) if "loads" in changes else 0
    others = ("arrived", "vanished", "lost", "restored")
    return edges + loads + sum(len(changes.get(name, ())) for name in others)


def started(scenario: changing.Scenario) -> hb.Mapping:
    """Return the mapping before the first batch, the same for all ways."""
    return hb.map_tasks(scenario.graph, scenario.machine, "eco", partition=True, threads=1, seed=1)


def from_scratch(scenario: changing.Scenario, preset: str, count: int) -> dict[str, Any]:
    """Return the same sums for `map_tasks` after every batch."""
    pe = started(scenario).pe.copy()
    keeper = hb.Remapper(  # follows the pattern only
        scenario.graph, scenario.machine, pe, imbalance="300%", work_per_change=0, saved_per_change=0
    )
    row: dict[str, Any] = {"sum": 0, "migrations": 0, "work": 0, "cpu": 0.0}
    for changes in scenario.batches(count):
        keeper.apply(**changes)
        graph, _, tasks = keeper.snapshot()
        usable = keeper.in_use
        number = np.full(keeper.where.k + 1, -1, np.int32)
        number[usable] = np.arange(len(usable))
        before = np.full(int(tasks[-1]) + 1, -1, np.int32)
        before[: len(pe)] = pe[: len(before)]
        came = np.zeros(len(before), np.bool_)
        came[list(changes.get("arrived", ()))] = True
        before[came] = -1
        initial = _nearest(graph, number[before[tasks]])
        where = keeper.where if len(usable) == keeper.where.k else keeper.where.select(usable)
        began = time.process_time()
        found = hb.map_tasks(
            graph, where, preset, partition=True, threads=1, seed=1,
            constraints=hb.Constraints(initial=initial, migration_price=scenario.price)
        )
        row["cpu"] += time.process_time() - began
        assert found.info["balance"] == "met"
        after = usable[found.pe].astype(np.int32)
        migrations = int(np.count_nonzero((before[tasks] >= 0) & (after != before[tasks])))
        row["sum"] += found.comm_cost + migrations * scenario.price
        row["migrations"] += migrations
        row["work"] += found.info["work"]["arcs"]
        pe = np.full(len(before), -1, np.int32)
        pe[tasks] = after
    return row


def _nearest(graph: hb.CommGraph, pe: np.ndarray) -> np.ndarray:
    """Give tasks without a PE that of the neighbour with which they exchange most."""
    pe = pe.copy()
    waiting = np.flatnonzero(pe < 0).tolist()
    for _ in range(len(waiting)):
        for task in waiting:
            row = slice(int(graph.indptr[task]), int(graph.indptr[task + 1]))
            near, weight = pe[graph.targets[row]], graph.arc_volumes()[row]
            if np.any(near >= 0):
                pe[task] = near[np.argmax(np.where(near >= 0, weight, -1))]
        waiting = [task for task in waiting if pe[task] < 0]
        if not waiting:
            break
    pe[pe < 0] = 0
    return pe


def growth(side: int, patch: int, count: int = 30) -> dict[str, Any]:
    """Return the work per batch where `patch` x `patch` tasks of a grid change their volumes."""
    arrays = graphs.grid(side, side)
    graph = hb.CommGraph(arrays.indptr, arrays.targets.astype(np.int32), undirected=True)
    mapping = hb.map_tasks(graph, changing.MACHINE, "fast", partition=True, threads=1)
    began = time.process_time()
    remapper = hb.Remapper(graph, changing.MACHINE, mapping, migration_price=40, saved_per_change=0)
    build = time.process_time() - began
    rng, work, seconds, size = np.random.default_rng(1), [], [], 0
    for _ in range(count):
        row, column = rng.integers(0, side - patch, 2)
        number = (row + np.arange(patch))[:, None] * side + column + np.arange(patch)
        u = np.concatenate([number[:, :-1].ravel(), number[:-1].ravel()])
        v = np.concatenate([number[:, 1:].ravel(), number[1:].ravel()])
        edges = (u, v, rng.integers(1, 9, len(u)))
        began = time.process_time()
        work.append(remapper.apply(edges=edges).work)
        seconds.append(time.process_time() - began)
        size = len(u)
    remapper.verify()
    return {
        "n": graph.n, "changes": size, "work": int(np.mean(work)), "most": max(work),
        "ms": 1000 * float(np.median(seconds)), "build": build,
    }


def rows_of(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Yield the rows that are there, then those that are missing."""
    done = {}
    if options.out.exists():
        done = {row["case"]: row for row in map(json.loads, options.out.read_text().splitlines())}

    def kept(case: str, measure: Any) -> dict[str, Any]:
        if case not in done:
            done[case] = {"case": case, **measure()}
            options.out.parent.mkdir(parents=True, exist_ok=True)
            with options.out.open("a") as file:
                file.write(json.dumps(done[case]) + "\n")
        return done[case]

    if options.growth:
        for side, patch in [(s, 10) for s in (64, 128, 256, 512, 1024)] + [(256, p) for p in (3, 5, 20, 40)]:
            yield kept(f"growth {side} {patch}", lambda side=side, patch=patch: growth(side, patch))
        return
    for name, maker in changing.SCENARIOS.items():
        if options.only and options.only != name:
            continue
        for way, settings in WAYS.items():
            yield kept(
                f"{name}, {way}", lambda maker=maker, s=settings: followed(maker(), s, options.batches)
            )
        for preset in options.presets:
            yield kept(
                f"{name}, {preset}", lambda maker=maker, p=preset: from_scratch(maker(), p, options.batches)
            )


def main() -> None:
    """Measure what is missing and print the rows."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--batches", type=int, default=BATCHES)
    parser.add_argument("--only", help="one scenario")
    parser.add_argument("--presets", nargs="*", default=["fast", "eco"])
    parser.add_argument("--growth", action="store_true")
    warnings.simplefilter("ignore")
    for row in rows_of(parser.parse_args()):
        numbers = {name: value for name, value in row.items() if name != "case"}
        print(row["case"], *(f"{name}={value:,}" for name, value in numbers.items()))


if __name__ == "__main__":
    main()
