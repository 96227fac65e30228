"""Work and span of presets: how much of a mapping has to be done in turn with any number of threads.

    python -m bench.studies.span --graphs FOLDER --presets fast,eco,strong --seeds 1

FOLDER holds ``*.graph`` or ``*.graph.xz``; the machine is H 4:8:6, D 1:10:100, imbalance 3 %. With
``--machine SPEC`` it is one with a core for every task, and every core gets one task. Prints a row
per graph and preset: J, scanned edges and their span per arc of the symmetric graph, and work over span, the
average parallelism. All are exact and the same on every computer and for every number of threads, so that
they can be counted on a busy one. Reading and passes over all vertices that decide nothing are not counted.
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path

import hopbytes as hb

MACHINE = "island:6@100 node:8@10 core:4@1"


def main() -> None:
    """Count and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--graphs", type=Path, required=True)
    parser.add_argument("--presets", default="fast,eco,strong")
    parser.add_argument("--seeds", default="1")
    parser.add_argument("--machine", default=MACHINE)
    options = parser.parse_args()
    warnings.simplefilter("ignore", hb.HopbytesWarning)
    print("| graph | vertices | arcs | preset | seed | J | work per arc | span per arc | parallelism |")
    print("|---" * 9 + "|")
    for path in sorted([*options.graphs.glob("*.graph"), *options.graphs.glob("*.graph.xz")]):
        graph = hb.read(path)
        arcs = len(graph.symmetric().targets)
        for preset in options.presets.split(","):
            for seed in map(int, options.seeds.split(",")):
                found = hb.map_tasks(
                    graph, options.machine, preset=preset, seed=seed, threads=1,
                    partition=options.machine == MACHINE,
                )  # fmt: skip
                work, span = (found.info["work"][name] for name in ("arcs", "span"))
                head = f"| {path.name.split('.')[0]} | {graph.n:,} | {arcs:,} | `{preset}` | {seed} |"
                counted = f"{work / arcs:.1f} | {span / arcs:.2f} | {work / span:.1f} |"
                print(head, f"{found.info['comm_cost']:,} |", counted, flush=True)


if __name__ == "__main__":
    main()
