"""Child process: one rival on one ParHIP file with some number of threads, on the machine 4:8:6.

    python -m bench.rivals.run_threads GRAPH.bin kaminpar:default 16

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
from hopbytes.partitioners.parhip import memory_file, write_parhip

HIERARCHY, DISTANCE, IMBALANCE, SEED = [4, 8, 6], [1, 10, 100], 0.03, 1
BLOCKS = int(np.prod(HIERARCHY))
Run = Callable[[], np.ndarray]


def sharedmap(graph: hb.CommGraph, mode: str, threads: int) -> Run:
    """Return a call of SharedMap."""
    need("chszlablib")
    from chszlablib import Decomposition, Graph

    csr = graph.symmetric()
    given = Graph.from_csr(csr.indptr.astype(np.int64), csr.targets.astype(np.int64))
    return lambda: (
        Decomposition.process_map(
            given, HIERARCHY, DISTANCE, mode=mode, imbalance=IMBALANCE, threads=threads, seed=SEED
        ).assignment
    )


def kaminpar(graph: hb.CommGraph, mode: str, threads: int) -> Run:
    """Return a call of KaMinPar."""
    need("kaminpar")
    import kaminpar as library

    file = memory_file()
    write_parhip(file, graph.symmetric(), None)
    given = library.load_graph(f"/proc/self/fd/{file.fileno()}", library.GraphFileFormat.PARHIP)
    library.reseed(SEED)
    partitioner = library.KaMinPar(threads, library.context_by_name(mode))
    return lambda: partitioner.compute_partition(given, BLOCKS, IMBALANCE)


def mtkahypar(graph: hb.CommGraph, mode: str, threads: int) -> Run:
    """Return a call of Mt-KaHyPar."""
    need("mtkahypar")
    import mtkahypar as library

    started = library.initialize(threads, False)
    library.set_seed(SEED)
    context = started.context_from_preset(getattr(library.PresetType, mode.upper()))
    context.set_partitioning_parameters(BLOCKS, IMBALANCE, library.Objective.CUT)
    context.logging = False
    csr = graph.symmetric()
    sources = np.repeat(np.arange(graph.n), np.diff(csr.indptr))
    once = sources < csr.targets
    ends = list(zip(sources[once].tolist(), csr.targets[once].tolist(), strict=True))
    given = started.create_graph(context, graph.n, len(ends), ends)
    return lambda: given.partition(context).get_partition()


RIVALS = {"sharedmap": sharedmap, "kaminpar": kaminpar, "mtkahypar": mtkahypar}


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("graph", type=Path)
    parser.add_argument("tool", help=f"NAME:MODE, where NAME is one of {', '.join(RIVALS)}")
    parser.add_argument("threads", type=int)
    options = parser.parse_args()
    name, _, mode = options.tool.partition(":")
    graph = hb.read(options.graph)
    run = RIVALS[name](graph, mode, options.threads)
    cpu, wall = time.process_time(), time.perf_counter()
    found = run()
    seconds = {"cpu_seconds": time.process_time() - cpu, "wall_seconds": time.perf_counter() - wall}
    csr = graph.symmetric()
    arrays = Arrays(csr.indptr, csr.targets, np.ones(len(csr.targets), np.int64), np.ones(graph.n, np.int64))
    judged = evaluate(arrays, np.asarray(found, np.int64), HIERARCHY, DISTANCE, IMBALANCE)
    print(json.dumps({"comm_cost": judged["comm_cost"], "cut": judged["edge_cut"], **seconds}))


if __name__ == "__main__":
    main()
