"""How fast exchanges are judged: per second, and beside a compiled update over dense rows.

``python -m bench.papers.swaps --out bench/results/swaps.jsonl`` prints a line per row and writes it as JSON.
CPU seconds of one thread.

1. *Rate*: the search N_p (blocks of 64) from Müller-Merbach on random geometric patterns of mean degree
   about 10 (best of five runs for small n), on a tree (implicit distances) and through a table of 512
   PEs: evaluations per second, whole search included.
2. *Speed-up* (Table 2 of Schulz, Träff and von Kirchbach): the search N_p with sparse gains against the same
   number of evaluations at the speed of a compiled dense update (``dense_update.cpp``, -O3), of which a
   sample is timed: the whole would take hours. Machine 4:16:k, distances 1:10:100, n = 64 to 32 768
   (``--largest 15``). What the dense update says is checked against costs from scratch first. It holds two
   n x n matrices of 32 bits: 8 GB at n = 32 768; ``--bits 16`` halves that and is quicker to read.
3. *Scale*: Müller-Merbach, and Top-Down with N_1, on 4:16:128:k for n = 2^14 to ``--scale`` (19): CPU
   seconds, and the most memory the process has held so far.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import resource
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import hopbytes as hb
from bench import BENCH
from bench.instances.graphs import random_geometric
from hopbytes.cost.objectives.comm_cost import CommCost
from hopbytes.engine.problem import SearchProblem
from hopbytes.engine.slots import BLOCKS, pair_search, place_greedily
from hopbytes.machines.distances import kernel_distances
from hopbytes.machines.kinds.table import Table

#: n: seconds of the sparse search and speed-up in Table 2 of the paper.
PAPER = {
    64: (0.003, 5.3), 128: (0.006, 10.7), 256: (0.014, 19.1), 512: (0.029, 37.0), 1024: (0.059, 72.3),
    2048: (0.124, 137.8), 4096: (0.26, 262.9), 8192: (0.54, 498.0), 16384: (1.158, 928.4),
    32768: (2.472, 1759.1),
}
BLOCK = 64
#: Exchanges the dense update is timed on.
SAMPLE = 2000


def machine(k: int) -> hb.Allocation:
    """Return nodes of 16 packages of 4 cores; one node's share of that for less than 64 cores."""
    return hb.allocate(f"node:{k // 64}@100 package:16@10 core:4@1")


def table(k: int, seed: int) -> hb.Allocation:
    """Return k PEs with distances between random points, as a table."""
    points = np.random.default_rng(seed).random((k, 3))
    apart = np.sqrt(((points[:, None] - points[None, :]) ** 2).sum(axis=2))
    return hb.Allocation.whole(Table((100 * apart).round().astype(np.int64)))


def pattern(log_n: int, seed: int) -> hb.CommGraph:
    """Return a random geometric pattern with volumes 1 to 20; small ones are two laid over each other."""
    layers = [random_geometric(log_n, seed + i) for i in range(2 if log_n < 14 else 1)]
    near = np.concatenate([np.repeat(np.arange(each.n), np.diff(each.indptr)) for each in layers])
    far = np.concatenate([each.targets for each in layers])
    low, high = near[near < far], far[near < far]
    volumes = np.random.default_rng(seed).integers(1, 21, len(low))
    return hb.CommGraph.from_edges(
        np.concatenate([low, high]), np.concatenate([high, low]), np.tile(volumes, 2), n=2**log_n
    )


def cpu_seconds(work: Callable[[], Any]) -> tuple[float, Any]:
    """Time one call."""
    began = time.process_time()
    result = work()
    return time.process_time() - began, result


def search(graph: hb.CommGraph, where: hb.Allocation) -> dict[str, Any]:
    """Run N_p from Müller-Merbach and time it."""
    problem = SearchProblem(graph.symmetric(), distances=kernel_distances(where))
    one_each = np.ones(where.k, np.int64)
    start = place_greedily(problem, one_each, linked=False)
    runs = [
        cpu_seconds(lambda: pair_search(BLOCKS, problem, start, one_each, reach=BLOCK))
        for _ in range(5 if graph.n < 2**14 else 1)
    ]
    seconds, found = min(runs, key=lambda run: run[0])
    return {
        "n": graph.n, "degree": round(graph.m / graph.n, 2), "evaluations": found.evaluations,
        "swaps": found.swaps, "seconds": seconds, "per_second": found.evaluations / seconds, "start": start,
    }


def dense_update(folder: Path, bits: int) -> Any:
    """Compile the rival and return its function for numbers of so many bits."""
    library = folder / "dense_update.so"
    subprocess.run(
        ["c++", "-O3", "-std=c++20", "-shared", "-fPIC", "-o", library, BENCH / "papers/dense_update.cpp"],
        check=True,
    )
    function = getattr(ctypes.CDLL(str(library)), f"judge_{bits}")
    function.restype = ctypes.c_int64
    return function


def dense_distances(where: hb.Allocation, kind: type[np.signedinteger]) -> np.ndarray:
    """Return all distances of a tree, [k, k], filled row by row: the rest needs no such matrix."""
    tree = where.distance
    filled = np.empty((where.k, where.k), kind)
    for row, label in enumerate(tree.labels):
        width = np.frexp((tree.labels ^ label).astype(np.float64))[1]  # labels are far below 2^53
        filled[row] = tree.bit_costs[width]
    return filled


def dense_seconds(
    function: Any, kind: type[np.signedinteger], graph: hb.CommGraph, where: hb.Allocation, pe: np.ndarray
) -> float:
    """Return seconds per evaluation of the dense update, after checking what it says."""
    n = graph.n
    volume = np.zeros((n, n), kind)
    volume[np.repeat(np.arange(n), np.diff(graph.indptr)), graph.targets] = graph.arc_volumes()
    distance = dense_distances(where, kind)
    rng = np.random.default_rng(n)
    first = rng.integers(0, n, SAMPLE)
    pairs = np.column_stack([first, (first + rng.integers(1, n, SAMPLE)) % n]).astype(np.int32)

    def pointer(array: np.ndarray) -> ctypes.c_void_p:
        return ctypes.c_void_p(array.ctypes.data)

    def judge(count: int) -> int:
        return int(function(
            ctypes.c_int64(n), pointer(volume), pointer(distance), pointer(pe), pointer(pairs),
            ctypes.c_int64(count),
        ))

    cost = CommCost()
    for count in (1, 5):
        change = 0
        for u, v in pairs[:count]:
            other = pe.copy()
            other[[u, v]] = pe[[v, u]]
            change += cost.value(graph, where, other) - cost.value(graph, where, pe)
        if change != 2 * judge(count):  # J counts both arcs of an edge
            raise SystemExit(f"the dense update is wrong at n = {n}")
    seconds, _ = cpu_seconds(lambda: judge(SAMPLE))
    return seconds / SAMPLE


def rates(seed: int) -> list[dict[str, Any]]:
    """Part 1."""
    rows = []
    for name, log_n, where in (
        ("tree", 15, machine(2**15)), ("tree", 19, machine(2**19)), ("table", 9, table(512, seed)),
    ):
        row = {"part": "rate", "distances": name, **search(pattern(log_n, seed), where)}
        del row["start"]
        rows.append(row)
        print(
            f"{name:6} n {row['n']:7} degree {row['degree']:5} {row['evaluations']:10} evaluations in "
            f"{row['seconds']:.3f} s = {row['per_second'] / 1e6:.2f} M/s"
        )
    return rows


def speedups(largest: int, seed: int, bits: int) -> list[dict[str, Any]]:
    """Part 2."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        rival, kind = dense_update(Path(folder), bits), np.int32 if bits == 32 else np.int16
        for log_n in range(6, largest + 1):
            graph, where = pattern(log_n, seed), machine(2**log_n)
            row = {"part": "speed-up", **search(graph, where)}
            each = dense_seconds(rival, kind, graph, where, row.pop("start"))
            row |= {"bits": bits, "dense_seconds": each * row["evaluations"]}
            row |= {"speed_up": row["dense_seconds"] / row["seconds"]}
            rows.append(row)
            print(
                f"n {row['n']:6} degree {row['degree']:5} sparse {row['seconds']:.4f} s, dense "
                f"{row['dense_seconds']:.3f} s (from {SAMPLE} evaluations): {row['speed_up']:.1f} times; "
                "paper: {:.3f} s, {:.1f} times".format(*PAPER[row["n"]])
            )
    return rows


def scale(largest: int, seed: int) -> list[dict[str, Any]]:
    """Part 3."""
    rows = []
    for log_n in range(14, largest + 1):
        graph = pattern(log_n, seed)
        where = hb.allocate(f"rack:{2**log_n // 8192}@1000 node:128@100 package:16@10 core:4@1")
        for mapper, refine in (("mueller_merbach", ()), ("top_down", ("n_cd:d=1",))):
            began = time.process_time()
            mapping = hb.map_tasks(graph, where, [mapper, *refine], partition=False, threads=1, seed=seed)
            seconds = time.process_time() - began
            held = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
            rows.append({
                "part": "scale", "n": graph.n, "mapper": mapper, "refine": list(refine), "seconds": seconds,
                "comm_cost": mapping.info["comm_cost"], "gibibytes": held,
            })  # fmt: skip
            print(
                f"n {graph.n:7} {mapper:15} {' '.join(refine):8} {seconds:7.2f} s, "
                f"J {mapping.info['comm_cost']}, at most {held:.2f} GiB"
            )
    return rows


def main() -> None:
    """Run all parts."""
    form = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=form)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--seed", type=int, default=31)
    parser.add_argument("--largest", type=int, default=15, help="log2 of the largest n beside dense rows")
    parser.add_argument("--scale", type=int, default=19, help="log2 of the largest n of part 3")
    parser.add_argument("--bits", type=int, choices=(16, 32), default=32, help="of dense numbers")
    options = parser.parse_args()
    rows = rates(options.seed) + scale(options.scale, options.seed)
    rows += speedups(options.largest, options.seed, options.bits)
    if options.out:
        options.out.parent.mkdir(parents=True, exist_ok=True)
        options.out.write_text("".join(json.dumps(row) + "\n" for row in rows))


if __name__ == "__main__":
    main()
