"""Child process: one run of Scotch, METIS or HeiStream on a METIS file, with its inner seconds.

Started by bench/rivals/tools.py. Scotch maps to the machine; METIS and HeiStream know no machine and
partition into as many blocks as it has PEs, so that block i becomes PE i. Prints one JSON object.
"""

from __future__ import annotations

import argparse
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
    arcs = graph.indptr.astype(np.int64), graph.targets.astype(np.int64)
    given.build(verttab=arcs[0], edgetab=arcs[1], edlotab=graph.weights)
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
    arrays = graph.indptr, graph.targets
    return lambda: pymetis.part_graph(
        math.prod(options.hierarchy),
        pymetis.CSRAdjacency(*arrays),
        eweights=graph.weights,
        recursive=recursive,
        options=given,
    )[1]


def heistream(graph: Any, options: argparse.Namespace) -> Answer:
    """Return a call of HeiStream, which ignores weights of edges."""
    from chszlablib import Decomposition, Graph

    buffer, batch, passes = HEISTREAM[options.mode]
    given = Graph.from_csr(graph.indptr.astype(np.int64), graph.targets.astype(np.int64))
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


TOOLS = {"scotch": scotch, "metis": metis, "heistream": heistream}
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
    parser.add_argument("--threads", type=int, required=True, help="not used")
    parser.add_argument("--out", required=True)
    options = parser.parse_args()
    need(PACKAGES[options.tool])
    start = time.perf_counter()
    import hopbytes as hb

    graph = hb.read(options.graph, format="metis")
    if graph.loads is not None:
        raise SystemExit("tasks with loads are not handed over")
    call = TOOLS[options.tool](graph.symmetric(), options)
    read = time.perf_counter()
    found = call()
    mapped = time.perf_counter()
    np.asarray(found, dtype=np.int32).tofile(options.out)
    print(json.dumps({"seconds": {"read": read - start, "map": mapped - read}}))


if __name__ == "__main__":
    main()
