"""Partitions on networks: presets beside themselves without the placement of blocks and without annealing.

    python -m bench.studies.blocks_on_networks --graphs FOLDER --names 4elt,cs4 --presets fast,eco,strong

FOLDER holds ``*.graph.xz`` with more tasks than eight times the PEs of the machines. Prints a row per machine
and preset: J over J of the same chain without the refiner ``place_blocks`` and without ``annealing_sweeps``
under distances, as geometric means over graphs and seeds, the largest and the least ratio, and the ratio of
CPU times. Imbalance 3 %, one thread.
"""

from __future__ import annotations

import argparse
import dataclasses
import math
import time
import warnings
from pathlib import Path

import hopbytes as hb
from hopbytes.algorithms.refiners.place_blocks import PlaceBlocks
from hopbytes.algorithms.refiners.vcycle import VCycle
from hopbytes.solve.presets import presets

MACHINES = (
    "torus:8x8x4",
    "torus:4x4x4x4",
    "torus:4x4x4 / core:8",
    "mesh:12x12",
    "dragonfly:9x4x4",
    "fattree:4x8x6",
    "island:6@3 node:8@2 core:4@1",
    "island:6@100 node:8@10 core:4@1",
)


def without(chain: hb.Chain) -> hb.Chain:
    """Return the chain without what is measured."""
    steps = tuple(
        dataclasses.replace(step, annealing_sweeps=0) if isinstance(step, VCycle) else step
        for step in chain.refiners if not isinstance(step, PlaceBlocks)
    )  # fmt: skip
    return dataclasses.replace(chain, refiners=steps)


def measured(graph: hb.CommGraph, spec: str, chain: hb.Chain, seed: int) -> tuple[int, float]:
    """Return J and CPU seconds of one run."""
    began = time.process_time()
    found = hb.map_tasks(graph, spec, chain, seed=seed, threads=1, partition=True)
    return found.info["comm_cost"], time.process_time() - began


def mean(values: list[float]) -> float:
    """Return the geometric mean."""
    return math.exp(sum(map(math.log, values)) / len(values))


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--graphs", type=Path, required=True)
    parser.add_argument("--names", required=True)
    parser.add_argument("--presets", default="fast,eco,strong")
    parser.add_argument("--seeds", default="1")
    parser.add_argument("--machines", default=";".join(MACHINES), help="separated by semicolons")
    options = parser.parse_args()
    warnings.simplefilter("ignore", hb.HopbytesWarning)
    graphs = [hb.read(options.graphs / f"{name}.graph.xz") for name in options.names.split(",")]
    for graph in graphs:
        graph.symmetric()
    print("| machine | preset | J | best | worst | CPU |")
    print("|---" * 6 + "|")
    for spec in options.machines.split(";"):
        for name in options.presets.split(","):
            chain = presets[name]()
            costs, seconds = [], []
            for graph in graphs:
                for seed in map(int, options.seeds.split(",")):
                    plain = measured(graph, spec, without(chain), seed)
                    placed = measured(graph, spec, chain, seed)
                    costs.append(placed[0] / plain[0])
                    seconds.append(placed[1] / plain[1])
            found = f"{mean(costs):.3f} | {min(costs):.3f} | {max(costs):.3f} | {mean(seconds):.2f}"
            print(f"| `{spec}` | `{name}` | {found} |", flush=True)


if __name__ == "__main__":
    main()
