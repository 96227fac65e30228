"""Chains of a mapper and refiners beside the first one: J, arcs looked at and CPU seconds, geometric means.

A chain is the name of a preset, or a mapper with its refiners behind ``+``:

    python -m bench.studies.chains fast eco multisection:slack=even+vcycle deep_multisection+vcycle:cycles=0
    python -m bench.studies.chains eco strong --instances delaunay_n16,del17 --largest 200000 --seeds 1

One thread and one process; CPU seconds are user time of mapping alone, without reading. Inputs are the even
half of the suite (``--half odd`` the other one) up to ``--largest`` tasks, in their own order only. With
``--instances`` every input has a line of its own.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

import numpy as np

import hopbytes as hb
from bench.instances import graphs
from bench.instances.suites import SUITES


def chosen(options: argparse.Namespace) -> list[graphs.Prepared]:
    """The inputs asked for, on disk; ends with what to change where one is missing or none is left."""
    suite = {each.name: each for each in SUITES[options.suite]()}
    own = [name for name in suite if not name.endswith(".shuffled")]
    folder = "" if graphs.shared_folder() else " (without HOPBYTES_SHARED there are generated ones only)"
    if unknown := [name for name in options.instances if name not in suite]:
        known = ", ".join(own)
        raise SystemExit(f"suite {options.suite} has no {', '.join(unknown)}{folder}; known: {known}")
    picked = own if options.half == "all" else own[options.half == "odd" :: 2]
    prepared = [graphs.prepare(suite[name], options.instance_seed) for name in options.instances or picked]
    fitting = [each for each in prepared if each.n <= options.largest]
    if not fitting or (options.instances and len(fitting) < len(prepared)):
        sizes = ", ".join(f"{each.name} {each.n}" for each in prepared)
        raise SystemExit(f"tasks beyond --largest {options.largest}{folder}: {sizes or 'no inputs at all'}")
    return fitting


def measure(chain: str, path: Path, where: hb.Allocation, seed: int) -> tuple[int, int, float, bool]:
    """J, arcs looked at, CPU seconds, and whether the bound was kept."""
    graph = hb.read(str(path), format="metis")
    mapper, *refiners = chain.split("+")
    begin = os.times().user
    if mapper in ("fast", "eco", "strong"):
        mapping = hb.map_tasks(graph, where, mapper, seed=seed, threads=1, partition=True)
    else:
        mapping = hb.map_tasks(graph, where, [mapper, *refiners], seed=seed, threads=1, partition=True)
    info = mapping.info
    return info["comm_cost"], info["work"].get("arcs", 0), os.times().user - begin, info["balance"] == "met"


def main() -> None:
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("chains", nargs="+")
    parser.add_argument("--on", default="node:6@100 package:8@10 core:4@1")
    parser.add_argument("--suite", choices=sorted(SUITES), default="engine")
    parser.add_argument("--half", choices=["even", "odd", "all"], default="even")
    parser.add_argument("--instances", type=lambda text: text.split(","), default=[])
    parser.add_argument("--largest", type=int, default=50_000, help="tasks of the largest input")
    parser.add_argument("--seeds", type=lambda text: [int(each) for each in text.split(",")], default=[1, 2])
    parser.add_argument("--instance-seed", type=int, default=graphs.DEFAULT_SEED)
    options = parser.parse_args()
    inputs, where = chosen(options), hb.allocate(options.on)
    first: list[tuple[int, int, float]] = []
    for chain in options.chains:
        rows, kept = [], True
        for each in inputs:
            of_seeds = [measure(chain, each.path, where, seed) for seed in options.seeds]
            for cost, arcs, seconds, met in of_seeds:
                rows.append((cost, arcs, seconds))
                kept &= met
            if options.instances or len(inputs) < 4:
                said = (f"J {row[0]}, {row[1]} arcs, {row[2]:.2f} CPU s;" for row in of_seeds)
                print(f"  {each.name}:", *said, flush=True)
        first = first or rows
        means = np.exp(np.mean(np.log(np.array(rows) / np.array(first)), axis=0))
        ahead = sum(row[0] < other[0] for row, other in zip(rows, first, strict=True))
        print(
            f"{chain}: J {means[0]:.4f}, arcs {means[1]:.3f}, CPU {means[2]:.3f}, "
            f"{sum(row[2] for row in rows):.1f} CPU s, "
            f"ahead on {ahead} of {len(rows)}{'' if kept else ', BOUND NOT KEPT'}", flush=True,
        )


if __name__ == "__main__":
    main()
