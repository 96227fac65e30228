"""Partitions on tori and meshes beside those of Scotch: J, CPU time and balance.

    python -m bench.studies.scotch_on_networks --graphs FOLDER --names 4elt,cs4 --out scotch_networks.jsonl

FOLDER holds ``*.graph.xz`` without loads. Scotch (``scotch_gmap``, Debian package ``scotch``) runs with its
default strategy and with the one for quality (``-cq``), once, since its seed is fixed, and with the same
imbalance of 3 %. Its targets are ``torus3D`` and ``mesh2D``; a torus with cores in its nodes is a table of
distances (``deco``) whose PEs are halved by number, which cuts a torus along its dimensions. Where 3 % of the
tasks are fewer than the PEs, ours hold equal numbers of tasks, to one.

One JSON line per run, and a run that has a line is not repeated. Then a row per machine and preset: J over
each of Scotch's as geometric means over graphs and seeds with the largest ratio, CPU seconds (of mapping
alone) over its strategy for quality, and the largest load over the mean on either side.
"""

from __future__ import annotations

import argparse
import json
import math
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

import hopbytes as hb
from bench.rivals import scotch_gmap

MACHINES = ("torus:8x8x4", "mesh:12x12", "torus:4x4x4 / core:8")
IMBALANCE = 0.03
#: Words of its command line.
STRATEGIES = {"scotch": (), "scotch -cq": ("-cq",)}


def target_of(where: hb.Allocation) -> str:
    """Return the machine in Scotch's words: a grid, or a table of distances."""
    if where.machine.spec().count("/") == 0:
        return scotch_gmap.target_text(where)
    return scotch_gmap.table_text(where.distance.matrix())


def measured(graph: hb.CommGraph, where: hb.Allocation, tool: str, seed: int) -> tuple[hb.Mapping, float]:
    """Return a mapping and the CPU seconds of mapping alone."""
    if tool in STRATEGIES:
        words = (f"-b{IMBALANCE}", *STRATEGIES[tool])
        answer = scotch_gmap.place(graph, where, "plain", target=target_of(where), options=words)
        return hb.Mapping(answer.pe.astype(np.int32), where, {}), answer.map_seconds
    began = time.process_time()
    found = hb.map_tasks(graph, where, tool, seed=seed, threads=1, partition=True, imbalance=IMBALANCE)
    return found, time.process_time() - began


def row_of(graph: hb.CommGraph, spec: str, tool: str, seed: int) -> dict[str, Any]:
    """Return the numbers of one run; J and the load of the fullest PE are computed from the mapping."""
    where = hb.allocate(spec)
    found, seconds = measured(graph, where, tool, seed)
    cost = int(hb.evaluate(graph, found, baselines=False).mapping.comm_cost)
    most = int(np.bincount(found.pe, minlength=where.k).max())
    return {"comm_cost": cost, "seconds": seconds, "most": most * where.k / graph.n}


def mean(values: list[float]) -> float:
    """Return the geometric mean."""
    return math.exp(sum(map(math.log, values)) / len(values))


def table(rows: dict[tuple[Any, ...], dict[str, Any]], options: argparse.Namespace) -> None:
    """Print the rows of every machine and preset that have Scotch's beside them."""
    print("| machine | preset | J over `scotch` | worst | J over `-cq` | worst | CPU over `-cq` | "
          "fullest PE, ours | `scotch` | `-cq` |")  # fmt: skip
    print("|---" * 10 + "|")
    for spec in options.machines:
        for preset in options.presets:
            ours = [(key[1], row) for key, row in rows.items() if (key[0], key[2]) == (spec, preset)]
            if not ours:
                continue
            over: dict[str, list[float]] = {}
            for tool in STRATEGIES:
                over[tool] = [row["comm_cost"] / rows[spec, name, tool, 1]["comm_cost"] for name, row in ours]
            times = [row["seconds"] / rows[spec, name, "scotch -cq", 1]["seconds"] for name, row in ours]
            words = [f"{mean(each):.3f} | {max(each):.3f}" for each in over.values()]
            fullest = [max(row["most"] for _, row in ours)]
            fullest += [max(rows[spec, name, tool, 1]["most"] for name, _ in ours) for tool in STRATEGIES]
            print(f"| `{spec}` | `{preset}` | {' | '.join(words)} | {mean(times):.2f} | "
                  f"{' | '.join(f'{each:.3f}' for each in fullest)} |", flush=True)  # fmt: skip


def main() -> None:
    """Measure what is missing, then print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--graphs", type=Path, required=True)
    parser.add_argument("--names", required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--presets", default="fast,eco,strong")
    parser.add_argument("--seeds", default="1,2")
    parser.add_argument("--machines", default=";".join(MACHINES), help="separated by semicolons")
    options = parser.parse_args()
    warnings.simplefilter("ignore", hb.HopbytesWarning)
    options.machines = options.machines.split(";")
    options.presets = [each for each in options.presets.split(",") if each]
    rows: dict[tuple[Any, ...], dict[str, Any]] = {}
    if options.out.exists():
        for line in options.out.read_text().splitlines():
            row = json.loads(line)
            rows[row["machine"], row["graph"], row["tool"], row["seed"]] = row
    runs = [(tool, 1) for tool in STRATEGIES]
    runs += [(preset, int(seed)) for preset in options.presets for seed in options.seeds.split(",")]
    for name in options.names.split(","):
        graph = hb.read(options.graphs / f"{name}.graph.xz")
        graph.symmetric()
        for spec in options.machines:
            for tool, seed in runs:
                key = (spec, name, tool, seed)
                if key in rows:
                    continue
                rows[key] = dict(zip(("machine", "graph", "tool", "seed"), key, strict=True))
                rows[key] |= row_of(graph, spec, tool, seed)
                with options.out.open("a") as out:
                    out.write(json.dumps(rows[key]) + "\n")
    table(rows, options)


if __name__ == "__main__":
    main()
