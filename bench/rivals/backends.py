"""Other partitioners inside multisection: J, CPU seconds, and whether the same seed repeats itself.

    python -m bench.rivals.backends --width 128 --hierarchy 4:8:4 > backends.jsonl

One line of JSON per partitioner setting, on a grid of width x width; CPU seconds include the workers'.
"""

from __future__ import annotations

import argparse
import json
import resource

import numpy as np

import hopbytes as hb
import hopbytes_laboratory
from hopbytes_laboratory.partitioners.backends import BACKENDS, available


def grid(width: int) -> hb.CommGraph:
    """Return a square grid with unit volumes."""
    number = np.arange(width * width).reshape(width, width)
    return hb.CommGraph.from_edges(
        np.concatenate([number[:, :-1].ravel(), number[:-1].ravel()]),
        np.concatenate([number[:, 1:].ravel(), number[1:].ravel()]),
    )


def cpu_seconds() -> float:
    """User time of this process and of children that have ended."""
    return sum(
        resource.getrusage(who).ru_utime for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    )


def main() -> None:
    """Measure every setting that is installed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--width", type=int, default=128)
    parser.add_argument("--hierarchy", default="4:8:4")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    hopbytes_laboratory.register()
    graph, where = grid(options.width), hb.allocate(hierarchy=options.hierarchy)
    names = [f"{name}:{each}" for name, it in BACKENDS.items() if available(name) for each in it.settings]
    for partitioner in ["", *names]:
        method = f"multisection:repetitions=0,partitioner={partitioner}" if partitioner else "multisection"
        placed = []
        for threads in (1, 2):
            for _ in range(2):
                before = cpu_seconds()
                mapping = hb.map_tasks(graph, where, method, threads=threads, seed=options.seed)
                placed.append((threads, mapping, cpu_seconds() - before))
        record = {
            "partitioner": partitioner or "built in",
            "comm_cost": [mapping.info["comm_cost"] for _, mapping, _ in placed],
            "balance": sorted({mapping.info["balance"] for _, mapping, _ in placed}),
            "repeats_with_1_thread": np.array_equal(placed[0][1].pe, placed[1][1].pe),
            "repeats_with_2_threads": np.array_equal(placed[2][1].pe, placed[3][1].pe),
            "same_for_1_and_2_threads": np.array_equal(placed[0][1].pe, placed[2][1].pe),
            "said_to_repeat": placed[0][1].info["deterministic"],
            "cpu_seconds": [round(seconds, 2) for _, _, seconds in placed],
        }
        print(json.dumps(record), flush=True)


if __name__ == "__main__":
    main()
