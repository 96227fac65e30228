"""Child process: one run of Mt-KaHyPar's Steiner-tree mapping on a METIS file, with its inner seconds.

Started by bench/papers/paper001.py. The machine is the complete graph of its PEs with their distances as
weights, so for the edges of a graph (two ends) the objective is J / 2. Prints one JSON object.
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
    parser.add_argument("--mode", required=True, help="a preset of the library in lower case")
    parser.add_argument("--imbalance", type=float, required=True)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--threads", type=int, required=True)
    parser.add_argument("--out", required=True)
    options = parser.parse_args()

    start = time.perf_counter()
    import mtkahypar
    import numpy as np

    imported = time.perf_counter()
    library = mtkahypar.initialize(options.threads, False)
    mtkahypar.set_seed(options.seed)
    context = library.context_from_preset(getattr(mtkahypar.PresetType, options.mode.upper()))
    hierarchy = [int(part) for part in options.hierarchy.split(":")]
    distance = np.array([0, *(int(part) for part in options.distance.split(":"))])
    k = int(np.prod(hierarchy))
    pe = np.arange(k)
    # How many levels of subtrees two PEs do not share says how far they are.
    parted = sum((pe[:, None] // size != pe // size).astype(int) for size in np.cumprod([1, *hierarchy[:-1]]))
    near, far = np.triu_indices(k, 1)
    context.set_mapping_parameters(k, options.imbalance)
    context.logging = False
    edges = list(zip(near.tolist(), far.tolist(), strict=True))
    target = library.create_target_graph(context, k, len(edges), edges, distance[parted[near, far]].tolist())
    graph = library.graph_from_file(options.graph, context, mtkahypar.FileFormat.METIS)
    read = time.perf_counter()
    result = graph.map_onto_graph(target, context)
    mapped = time.perf_counter()
    np.asarray(result.get_partition(), dtype=np.int32).tofile(options.out)
    seconds = {"import": imported - start, "read": read - imported, "map": mapped - read}
    print(json.dumps({"comm_cost": 2 * int(result.steiner_tree(target)), "seconds": seconds}))


if __name__ == "__main__":
    main()
