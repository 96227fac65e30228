"""J of the presets on graphs like road and power networks, over the least J that was ever seen there.

    python -m bench.studies.roads [--seeds 1,2,3] [--instances bremen,feeders] [--matpower FOLDER]

Means over the seeds, one thread. ``--matpower`` names the folder ``data`` of MATPOWER, whose large cases
(ACTIVSg10k, ACTIVSg70k, 13659pegase) are then read too. The last column says whether ``strong`` is above
``eco``.
"""

from __future__ import annotations

import argparse
import re
from functools import partial
from pathlib import Path

import numpy as np

import hopbytes as hb
from bench.instances.graphs import DEFAULT_SEED, Arrays, from_edges
from bench.instances.roads import suite

PRESETS = ("fast", "eco", "strong")
CASES = ("case13659pegase", "case_ACTIVSg10k", "case_ACTIVSg70k")
#: Graphs with too few vertices for 192 PEs.
SMALL = ("uk", "case_ACTIVSg10k")
#: Found by any preset and seed, or in minutes of ``best``.
KNOWN = {
    "bremen": 15_086, "streets": 30_870, "ACTIVSg25k": 34_978, "country": 22_852, "feeders": 7_930,
    "lanes": 22_202, "case13659pegase": 22_560, "tree_and_more": 14_988, "uk": 6_848,
    "case_ACTIVSg10k": 7_846, "case_ACTIVSg70k": 58_638,
}  # fmt: skip


def matpower(path: Path) -> Arrays:
    """Buses and branches of a case, parallel branches once."""
    text = path.read_text()

    def numbers(name: str, columns: int) -> np.ndarray:
        found = re.search(rf"mpc\.{name}\s*=\s*\[(.*?)\];", text, re.S)
        lines = [] if found is None else [line.split("%")[0].split() for line in found[1].split("\n")]
        rows = [[int(float(word.rstrip(";"))) for word in line[:columns]] for line in lines if line]
        return np.array(rows)

    bus, ends = np.unique(numbers("bus", 1)[:, 0]), numbers("branch", 2)
    graph = from_edges(len(bus), *np.searchsorted(bus, ends).T)
    return Arrays(graph.indptr, graph.targets)


def means(arrays: Arrays, nodes: int, seeds: list[int]) -> dict[str, float]:
    """Return the mean J of every preset."""
    graph = hb.CommGraph(
        arrays.indptr, arrays.targets.astype(np.int32), volumes=arrays.volumes, undirected=True
    )
    where = hb.allocate(f"node:{nodes}@100 package:8@10 core:4@1")

    def cost(preset: str, seed: int) -> int:
        mapping = hb.map_tasks(graph, where, preset, seed=seed, threads=1, partition=True)
        return int(mapping.info["comm_cost"])

    return {preset: sum(cost(preset, seed) for seed in seeds) / len(seeds) for preset in PRESETS}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", default="1,2,3")
    parser.add_argument("--instances", type=lambda text: text.split(","), default=[])
    parser.add_argument("--matpower", type=Path)
    options = parser.parse_args()
    seeds = [int(each) for each in options.seeds.split(",")]
    makers = {each.name: partial(each.make, DEFAULT_SEED) for each in suite()}
    if options.matpower is not None:
        makers |= {case: partial(matpower, options.matpower / f"{case}.m") for case in CASES}
    print("| graph | vertices | " + " | ".join(f"`{each}`" for each in PRESETS) + " | `strong` above `eco` |")
    print("|---" * (3 + len(PRESETS)) + "|")
    for name in options.instances or makers:
        arrays = makers[name]()
        mean = means(arrays, 2 if name in SMALL else 6, seeds)
        known = KNOWN.get(name, min(mean.values()))
        cells = " | ".join(f"{cost:,.0f} ({100 * (cost / known - 1):+.1f} %)" for cost in mean.values())
        above = "yes" if mean["strong"] > mean["eco"] else "no"
        print(f"| {name} | {arrays.n:,} | {cells} | {above} |", flush=True)


if __name__ == "__main__":
    main()
