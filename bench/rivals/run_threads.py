"""Child process: one rival on one undirected graph with some number of threads, on the machine 4:8:6.

    python -m bench.rivals.run_threads GRAPH.bin kaminpar:default 16 1

Started by bench/studies/many_threads.py, because Mt-KaHyPar fixes the number of threads of a process.
SharedMap maps to the machine; KaMinPar and Mt-KaHyPar partition into as many blocks as it has cores, which is
less to do. Prints one JSON object; reading is not counted.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

import hopbytes as hb
from bench.evaluate import evaluate
from bench.instances.graphs import Arrays
from bench.rivals.needed import need
from hopbytes_laboratory.partitioners.parhip import memory_file, write_parhip

HIERARCHY, DISTANCE, IMBALANCE = [4, 8, 6], [1, 10, 100], 0.03
BLOCKS = int(np.prod(HIERARCHY))
Run = Callable[[], np.ndarray]


def weighted(graph: hb.CommGraph) -> Arrays:
    """Return the symmetric graph, in which edges without a volume have 1."""
    csr = graph.symmetric()
    volumes = np.ones(len(csr.targets), np.int64) if csr.weights is None else csr.weights
    return Arrays(csr.indptr.astype(np.int64), csr.targets.astype(np.int64), volumes, graph.loads)


def sharedmap(graph: hb.CommGraph, mode: str, threads: int, seed: int) -> Run:
    """Return a call of SharedMap."""
    need("chszlablib")
    from chszlablib import Decomposition, Graph

    whole = weighted(graph)
    given = Graph.from_csr(
        whole.indptr, whole.targets, node_weights=whole.task_loads(), edge_weights=whole.volumes
    )
    return lambda: (
        Decomposition.process_map(
            given, HIERARCHY, DISTANCE, mode=mode, imbalance=IMBALANCE, threads=threads, seed=seed
        ).assignment
    )


def kaminpar(graph: hb.CommGraph, mode: str, threads: int, seed: int) -> Run:
    """Return a call of KaMinPar."""
    need("kaminpar")
    import kaminpar as library

    file = memory_file()
    write_parhip(file, graph.symmetric(), None if graph.loads is None else graph.loads.astype(np.int32))
    given = library.load_graph(f"/proc/self/fd/{file.fileno()}", library.GraphFileFormat.PARHIP)
    library.reseed(seed)
    partitioner = library.KaMinPar(threads, library.context_by_name(mode))
    return lambda: partitioner.compute_partition(given, BLOCKS, IMBALANCE)


def mtkahypar(graph: hb.CommGraph, mode: str, threads: int, seed: int) -> Run:
    """Return a call of Mt-KaHyPar."""
    need("mtkahypar")
    import mtkahypar as library

    started = library.initialize(threads, False)
    library.set_seed(seed)
    context = started.context_from_preset(getattr(library.PresetType, mode.upper()))
    context.set_partitioning_parameters(BLOCKS, IMBALANCE, library.Objective.CUT)
    context.logging = False
    whole = weighted(graph)
    sources = np.repeat(np.arange(graph.n), np.diff(whole.indptr))
    once = sources < whole.targets
    ends = list(zip(sources[once].tolist(), whole.targets[once].tolist(), strict=True))
    loads, volumes = whole.task_loads().tolist(), whole.volumes[once].tolist()
    given = started.create_graph(context, graph.n, len(ends), ends, loads, volumes)
    return lambda: given.partition(context).get_partition()


RIVALS = {"sharedmap": sharedmap, "kaminpar": kaminpar, "mtkahypar": mtkahypar}


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("graph", type=Path)
    parser.add_argument("tool", help=f"NAME:MODE, where NAME is one of {', '.join(RIVALS)}")
    parser.add_argument("threads", type=int)
    parser.add_argument("seed", type=int)
    options = parser.parse_args()
    name, _, mode = options.tool.partition(":")
    graph = hb.read(options.graph)
    run = RIVALS[name](graph, mode, options.threads, options.seed)
    cpu, wall = time.process_time(), time.perf_counter()
    found = run()
    seconds = {"cpu_seconds": time.process_time() - cpu, "wall_seconds": time.perf_counter() - wall}
    judged = evaluate(weighted(graph), np.asarray(found, np.int64), HIERARCHY, DISTANCE, IMBALANCE)
    print(json.dumps({"comm_cost": judged["comm_cost"], "cut": judged["edge_cut"], **seconds}))


if __name__ == "__main__":
    main()
