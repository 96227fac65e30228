"""Child process: one SharedMap run on a METIS file, with its inner seconds.

Started by bench/rivals/tools.py. Reads with the library's own compiled METIS reader, so that neither side
of a comparison of whole processes carries a slow loader. Prints one JSON object.
"""

from __future__ import annotations

import argparse
import json
import time


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("graph")
    parser.add_argument("--hierarchy", required=True)
    parser.add_argument("--distance", required=True)
    parser.add_argument("--mode", required=True)
    parser.add_argument("--imbalance", type=float, required=True)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--threads", type=int, required=True)
    parser.add_argument("--out", required=True)
    options = parser.parse_args()

    start = time.perf_counter()
    import numpy as np
    from chszlablib import Decomposition, Graph

    imported = time.perf_counter()
    graph = Graph.from_metis(options.graph)
    read = time.perf_counter()
    result = Decomposition.process_map(
        graph,
        [int(part) for part in options.hierarchy.split(":")],
        [int(part) for part in options.distance.split(":")],
        mode=options.mode,
        imbalance=options.imbalance,
        threads=options.threads,
        seed=options.seed,
    )
    mapped = time.perf_counter()
    np.asarray(result.assignment, dtype=np.int32).tofile(options.out)
    print(json.dumps({
        "comm_cost": int(result.comm_cost),
        "seconds": {"import": imported - start, "read": read - imported, "map": mapped - read},
    }))


if __name__ == "__main__":
    main()
