"""Are presets ordered: is no mapping of a stronger preset worse than that of a weaker one?

    python -m bench.studies.preset_order --cases 2000            # a fresh seed, which is printed
    python -m bench.studies.preset_order --cases 2000 --seed 7   # the same cases again
    python -m bench.studies.preset_order --case 7000042          # one of them, with the numbers

Every case is a random graph of 16 to 4096 tasks (`--tasks`; half of the default ones have fewer than 64), as
processes or as a partition, on a tree or on a network. J of ``strong`` must not exceed that of ``eco``, which
must not exceed that of ``fast``. ``best`` gets the work of one of them as its limit, or a bit more, and must
not exceed any preset that took no more work; with `--seconds` also a time limit, twice the time of a preset
and half a second, since a clock is inexact. The exit code is 1 where an order is violated. One thread.
"""

from __future__ import annotations

import argparse
import secrets
import time
import warnings
from collections import Counter
from typing import Any

import numpy as np

import hopbytes as hb
from bench.instances.family_graphs import FAMILIES, weighted

PRESETS = ("fast", "eco", "strong")
#: Cases of one seed have numbers from seed times this.
SPAN = 10**6
#: Machines of about k slots; the innermost level is left to :func:`hopbytes.allocate`.
TREES = (
    "core:{k}@1", "node:{a}@10 core:{b}@1", "rack:2@20 node:{a}@10 core:{b}@1",
    "rack:2@30 node:{a}@9 l3:2@2 core:{b}@1",
)
NETWORKS = (
    "torus:{x}x{x}@3 / core:{b}@1", "mesh:{x}x{x}@2 / core:{b}@1", "torus:{y}x{y}x{y}@4 / core:{b}@1",
    "fattree:{x}x{x}@2 / core:{b}@1", "dragonfly:4x2x2@5 / core:{b}@1", "hyperx:{x}x{x} / core:{b}",
)
BOUNDS = (0.0, 0.01, 0.03, 0.03, 0.1, 0.3)


def machine(rng: np.random.Generator, k: int) -> hb.Allocation:
    """Return about k slots of a tree, evenly divided or not, or of a network."""
    text = str(rng.choice([*TREES, *NETWORKS]))
    b = int(rng.choice([each for each in (1, 2, 4, 8, 16) if each <= max(1, k // 4)]))
    nodes = max(2, -(-k // b))
    sides = {"x": max(2, round(nodes**0.5)), "y": max(2, round(nodes ** (1 / 3)))}
    a = max(2, nodes // (text.count(":2") + 1))
    if text.startswith("dragonfly"):
        b = max(1, round(k / 16))
    spec = text.format(k=k, a=a, b=b, **sides)
    where = hb.allocate(spec)
    if rng.random() < 0.3 and where.k > 8:
        where = where.select(np.flatnonzero(rng.random(where.k) < 0.85))
    return where


def drawn(number: int, tasks: tuple[int, int]) -> tuple[str, hb.CommGraph, hb.Allocation, dict[str, Any]]:
    """Return what the case of this number is, its graph, slots and options."""
    rng = np.random.default_rng(number)
    family = list(FAMILIES)[int(rng.integers(len(FAMILIES)))]
    n = int(tasks[0] * (tasks[1] / tasks[0]) ** (rng.random() ** 2))
    arrays, label = weighted(FAMILIES[family](rng, n), rng)
    graph = hb.CommGraph(arrays.indptr, arrays.targets.astype(np.int32), arrays.volumes, loads=arrays.loads)
    options: dict[str, Any] = {"seed": int(rng.integers(1000)), "threads": 1}
    kind = str(rng.choice(["one each", "spare slots", "partition"]))
    if kind == "partition":
        k = int(np.exp(rng.uniform(np.log(2), np.log(max(3, graph.n / 2)))))
        where = machine(rng, k)
        options.update(partition=True, imbalance=float(rng.choice(BOUNDS)))
    else:
        where = machine(rng, graph.n if kind == "one each" else int(graph.n * rng.uniform(1.1, 3)) + 1)
        while where.k < graph.n:
            where = machine(rng, 2 * graph.n)
        if kind == "one each":
            where = where.select(np.arange(graph.n))
    said = f"{family}{label} n={graph.n} m={graph.m}, {kind}, {where.k} slots of {where.machine!r}, {options}"
    return said, graph, where, options


def complaints(
    graph: hb.CommGraph, where: hb.Allocation, options: dict[str, Any], number: int, seconds: bool
) -> tuple[list[str], dict[str, int]]:
    """Return the orders that a case violates, and J of every preset."""
    cost, work, took = {}, {}, {}
    for preset in PRESETS:
        began = time.monotonic()
        info = hb.map_tasks(graph, where, preset, **options).info
        took[preset] = time.monotonic() - began
        cost[preset], work[preset] = info["comm_cost"], info["work"].get("arcs", 0)
    found = [
        f"{stronger} {cost[stronger]} > {weaker} {cost[weaker]}"
        for weaker, stronger in (("fast", "eco"), ("eco", "strong")) if cost[stronger] > cost[weaker]
    ]
    rng = np.random.default_rng(number + 1)
    limit = int(work[str(rng.choice(PRESETS))] * rng.choice([1, 1, 1.1, 1.5]))
    limits = [hb.Limits(work=limit)]
    ended = [{preset for preset in PRESETS if work[preset] <= limit}]
    if seconds:
        most = 2 * took[str(rng.choice(PRESETS))] + 0.5
        limits.append(hb.Limits(time=most))
        ended.append({preset for preset in PRESETS if 2 * took[preset] + 0.5 <= most})
    for given, within in zip(limits, ended, strict=True):
        best = hb.map_tasks(graph, where, "best", limits=given, **options).info
        cost[f"best {given}"] = best["comm_cost"]
        found += [
            f"best {best['comm_cost']} > {preset} {cost[preset]} with {given} (it took {work[preset]})"
            for preset in sorted(within) if best["comm_cost"] > cost[preset]
        ]
    return found, cost


def judged(number: int, tasks: tuple[int, int], seconds: bool) -> tuple[str, list[str], dict[str, int]]:
    """Return what a case is, the orders that it violates, and J of every preset."""
    said, graph, where, options = drawn(number, tasks)
    return said, *complaints(graph, where, options, number, seconds)


def main() -> int:
    """Run cases and report; 1 where an order is violated."""
    raw = argparse.RawDescriptionHelpFormatter
    options = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    options.add_argument("--cases", type=int, default=100)
    options.add_argument("--seed", type=int, help="a fresh one if left out")
    options.add_argument("--case", type=int, help="this one case alone, with its numbers")
    options.add_argument("--tasks", default="16,4096", help="between what their number is drawn")
    options.add_argument("--seconds", action="store_true", help="time limits as well")
    given = options.parse_args()
    warnings.simplefilter("ignore", hb.HopbytesWarning)
    low, high = (int(each) for each in given.tasks.split(","))
    if given.case is not None:
        said, found, cost = judged(given.case, (low, high), given.seconds)
        print(said, cost, *found, sep="\n")
        return bool(found)
    seed = secrets.randbelow(10**6) if given.seed is None else given.seed
    print(f"preset order: --cases {given.cases} --seed {seed} --tasks {low},{high}", flush=True)
    ends: Counter[str] = Counter()
    violated = 0
    for number in range(seed * SPAN, seed * SPAN + given.cases):
        said, found, _ = judged(number, (low, high), given.seconds)
        violated += bool(found)
        ends.update(each.split(" ")[0] for each in found)
        if found:
            print(f"VIOLATED: --case {number}", said, *found, sep="\n", flush=True)
        done = number + 1 - seed * SPAN
        if done % 25 == 0:
            print(f"preset order: {done} done, {violated} violated {dict(ends)}", flush=True)
    print(f"preset order: {given.cases} cases, {violated} violated {dict(ends)}", flush=True)
    return bool(violated)


if __name__ == "__main__":
    raise SystemExit(main())
