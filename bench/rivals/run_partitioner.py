"""Child process: one run of a partitioner (`TOOLS`) on a METIS file, with its inner seconds.

Started by bench/rivals/tools.py. Scotch maps to the machine; the others know no machine and partition into
as many blocks as it has PEs. Block i of METIS and HeiStream becomes PE i; blocks of KaMinPar and Mt-KaHyPar
are mapped by preset `fast` of hopbytes, whose time counts as theirs. Prints one JSON object.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from bench.rivals.needed import need

#: Options of METIS; both ways allow the same imbalance.
METIS: dict[str, dict[str, Any]] = {
    "kway": {"recursive": False}, "recursive": {"recursive": True},
    "kway10": {"recursive": False, "ncuts": 10, "niter": 20},
}  # fmt: skip
#: Buffer, batch and passes of HeiStream: one vertex after the other; BuffCut; batches in five passes, the
#: best of thirteen settings on two meshes.
HEISTREAM = {"one_pass": (0, 0, 1), "buffcut": (131072, 131072, 1), "restream": (0, 131072, 5)}

Answer = Callable[[], Any]


def scotch(graph: Any, options: argparse.Namespace) -> Answer:
    """Return a call of Scotch's mapping onto the tree of the machine."""
    import scotchpy

    given = scotchpy.Graph()
    csr = graph.symmetric()
    arcs = csr.indptr.astype(np.int64), csr.targets.astype(np.int64)
    given.build(verttab=arcs[0], edgetab=arcs[1], edlotab=csr.weights)
    arch = scotchpy.Arch()
    # Scotch adds the costs of all levels from that at which two leaves part: each gets what it has over the
    # next one inside.
    outwards = list(zip(options.hierarchy, np.diff([0, *options.distance]).tolist(), strict=True))
    arch.tleaf([size for size, _ in outwards[::-1]], [cost for _, cost in outwards[::-1]])
    strategy = scotchpy.Strat()
    flags = {"default": scotchpy.STRATDEFAULT, "quality": scotchpy.STRATQUALITY, "speed": scotchpy.STRATSPEED}
    strategy.graph_map_build(flags[options.mode], math.prod(options.hierarchy), options.imbalance)
    found = np.zeros(given.vertnbr, np.int64)

    def call() -> Any:
        given.map(arch, strategy, found)
        return found

    return call


def metis(graph: Any, options: argparse.Namespace) -> Answer:
    """Return a call of METIS."""
    import pymetis

    more = dict(METIS[options.mode])
    recursive = more.pop("recursive")
    allowed = round(1000 * options.imbalance)
    given = pymetis.Options(ufactor=allowed, seed=options.seed, **more)
    csr = graph.symmetric()
    return lambda: pymetis.part_graph(
        math.prod(options.hierarchy),
        pymetis.CSRAdjacency(csr.indptr, csr.targets),
        eweights=csr.weights,
        recursive=recursive,
        options=given,
    )[1]


def heistream(graph: Any, options: argparse.Namespace) -> Answer:
    """Return a call of HeiStream, which ignores weights of edges."""
    from chszlablib import Decomposition, Graph

    buffer, batch, passes = HEISTREAM[options.mode]
    csr = graph.symmetric()
    given = Graph.from_csr(csr.indptr.astype(np.int64), csr.targets.astype(np.int64))
    return lambda: (
        Decomposition.stream_partition(
            given,
            math.prod(options.hierarchy),
            100 * options.imbalance,
            options.seed,
            max_buffer_size=buffer,
            batch_size=batch,
            num_streams_passes=passes,
        ).assignment
    )


def kaminpar(graph: Any, options: argparse.Namespace) -> Answer:
    """Return a call of KaMinPar and of the mapping of its blocks."""
    import kaminpar as library

    given = library.load_graph(options.graph, library.GraphFileFormat.METIS)
    library.reseed(options.seed)
    partitioner = library.KaMinPar(options.threads, library.context_by_name(options.mode))
    k = math.prod(options.hierarchy)
    return lambda: mapped_blocks(
        graph, np.asarray(partitioner.compute_partition(given, k, options.imbalance)), options
    )


def mtkahypar(graph: Any, options: argparse.Namespace) -> Answer:
    """Return a call of Mt-KaHyPar's partitioner and of the mapping of its blocks."""
    import mtkahypar as library

    started = library.initialize(options.threads, False)
    library.set_seed(options.seed)
    context = started.context_from_preset(getattr(library.PresetType, options.mode.upper()))
    k = math.prod(options.hierarchy)
    context.set_partitioning_parameters(k, options.imbalance, library.Objective.CUT)
    context.logging = False
    given = started.graph_from_file(options.graph, context, library.FileFormat.METIS)
    return lambda: mapped_blocks(graph, np.asarray(given.partition(context).get_partition()), options)


def mapped_blocks(graph: Any, block: np.ndarray, options: argparse.Namespace) -> np.ndarray:
    """Return the PE of every vertex if preset `fast` maps one block to each PE."""
    import hopbytes as hb

    sizes, distances = (":".join(map(str, each)) for each in (options.hierarchy, options.distance))
    where = hb.allocate(hierarchy=sizes, distance=distances)
    blocks = dataclasses.replace(graph.quotient(block, math.prod(options.hierarchy)), loads=None)
    return hb.map_tasks(blocks, where, "fast", threads=options.threads).pe[block]


TOOLS = {
    "scotch": scotch, "metis": metis, "heistream": heistream, "kaminpar": kaminpar, "mtkahypar": mtkahypar
}
PACKAGES = {"scotch": "scotchpy", "metis": "pymetis", "heistream": "chszlablib"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tool", choices=sorted(TOOLS))
    parser.add_argument("graph")
    for name in ("hierarchy", "distance"):
        parser.add_argument(
            f"--{name}", type=lambda text: [int(part) for part in text.split(":")], required=True
        )
    parser.add_argument("--mode", required=True)
    parser.add_argument("--imbalance", type=float, required=True)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--threads", type=int, required=True, help="of KaMinPar and Mt-KaHyPar")
    parser.add_argument("--out", required=True)
    options = parser.parse_args()
    need(PACKAGES.get(options.tool, options.tool))
    start = time.perf_counter()
    import hopbytes as hb

    graph = hb.read(options.graph, format="metis")
    if graph.loads is not None:
        raise SystemExit("tasks with loads are not handed over")
    call = TOOLS[options.tool](graph, options)
    read = time.perf_counter()
    found = call()
    mapped = time.perf_counter()
    np.asarray(found, dtype=np.int32).tofile(options.out)
    print(json.dumps({"seconds": {"read": read - start, "map": mapped - read}}))


if __name__ == "__main__":
    main()
