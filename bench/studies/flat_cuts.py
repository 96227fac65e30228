"""Edge cuts and CPU time of presets beside METIS: partitions into equal blocks, one thread, one process.

    python -m bench.studies.flat_cuts --graphs FOLDER --presets turbo,fast --seeds 3
    python -m bench.studies.flat_cuts --summary bench/results/flat_cuts.jsonl

FOLDER holds ``*.graph`` or ``*.graph.xz``. METIS 5 (k-way) and the presets take turns on every graph and
seed, so that other work on the machine slows all of them. A row of JSON has the graph, the tool, the seed,
the cut, the largest block over the mean one and the CPU seconds of the call, reading not counted. The
summary takes per graph the mean cut and the least time of all seeds over those of METIS, then geometric
means. A run with `turbo` on 28 graphs of 11,000 to 1,050,000 vertices takes a minute, with `fast` many.
"""

from __future__ import annotations

import argparse
import json
import math
import time
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from statistics import geometric_mean
from typing import Any

import numpy as np

import hopbytes as hb
from bench.rivals.needed import missing

METIS = "metis"


def cut(graph: hb.CommGraph, block: np.ndarray) -> int:
    """Return the weight of the edges between different blocks."""
    arcs = graph.symmetric()
    source = np.repeat(np.arange(arcs.n), np.diff(arcs.indptr))
    apart = block[source] != block[arcs.targets]
    return int(apart.sum() if arcs.weights is None else arcs.weights[apart].sum()) // 2


def by_metis(graph: hb.CommGraph, k: int, per_cent: int, seed: int) -> np.ndarray:
    """Return the blocks that METIS' k-way partitioner finds."""
    import pymetis

    arcs, options = graph.symmetric(), pymetis.Options(ufactor=10 * per_cent, seed=seed)
    found = pymetis.part_graph(
        k, pymetis.CSRAdjacency(arcs.indptr, arcs.targets), eweights=arcs.weights, vweights=graph.loads,
        recursive=False, options=options,
    )
    return np.asarray(found[1])


def by_preset(preset: str) -> Callable[[hb.CommGraph, int, int, int], np.ndarray]:
    """Return a function with the arguments of `by_metis`."""

    def blocks(graph: hb.CommGraph, k: int, per_cent: int, seed: int) -> np.ndarray:
        where = hb.allocate(f"core:{k}@1")
        mapping = hb.map_tasks(
            graph, where, preset, partition=True, imbalance=per_cent / 100, seed=seed, threads=1
        )
        return np.asarray(mapping.pe)

    return blocks


def rows(
    graphs: Iterable[Path], tools: Iterable[str], *, k: int, per_cent: int, seeds: int
) -> Iterator[dict[str, Any]]:
    """Yield a row per graph, seed and tool."""
    made = {tool: by_metis if tool == METIS else by_preset(tool) for tool in tools}
    for path in graphs:
        graph = hb.read(path)
        loads = np.ones(graph.n, np.int64) if graph.loads is None else graph.loads
        for seed in range(seeds):
            for tool, blocks in made.items():
                began = time.process_time()
                block = blocks(graph, k, per_cent, seed)
                seconds = time.process_time() - began
                largest = int(np.bincount(block, weights=loads, minlength=k).max())
                yield {
                    "graph": path.name.split(".")[0], "tasks": graph.n, "k": k, "tool": tool, "seed": seed,
                    "cut": cut(graph, block), "largest": largest * k / int(loads.sum()),
                    "cpu_seconds": seconds,
                }  # fmt: skip


def ratios(measured: Iterable[dict[str, Any]]) -> dict[str, dict[str, tuple[float, float]]]:
    """Return cut and CPU time over those of METIS by preset and graph."""
    cells: dict[str, dict[str, list[dict[str, Any]]]] = defaultdict(lambda: defaultdict(list))
    for row in measured:
        cells[row["graph"]][row["tool"]].append(row)
    found: dict[str, dict[str, tuple[float, float]]] = defaultdict(dict)
    for graph, tools in cells.items():
        mean = {tool: sum(row["cut"] for row in of) / len(of) for tool, of in tools.items()}
        least = {tool: min(row["cpu_seconds"] for row in of) for tool, of in tools.items()}
        for tool in tools.keys() - {METIS} if METIS in tools else ():
            found[tool][graph] = mean[tool] / mean[METIS], least[tool] / least[METIS]
    return dict(found)


def means(pairs: Iterable[tuple[float, float]]) -> tuple[float, float]:
    """Geometric means of cuts and of times."""
    cuts, times = zip(*pairs, strict=True)
    return geometric_mean(cuts), geometric_mean(times)


def table(measured: Iterable[dict[str, Any]]) -> Iterator[str]:
    """Yield the lines of a table: cut and CPU time over METIS per graph, and their geometric means."""
    found = ratios(measured)
    presets = sorted(found, key=lambda preset: means(found[preset].values())[1])
    yield f"| graph | {' | '.join(f'`{preset}`: cut | CPU' for preset in presets)} |"
    yield "|---" * (1 + 2 * len(presets)) + "|"
    for graph in sorted({graph for own in found.values() for graph in own}):
        cells = (found[preset].get(graph, (math.nan, math.nan)) for preset in presets)
        yield f"| {graph} | {' | '.join(f'{cut:.3f} | {cpu:.2f}' for cut, cpu in cells)} |"
    cells = (means(found[preset].values()) for preset in presets)
    yield f"| geometric mean | {' | '.join(f'{cut:.3f} | {cpu:.2f}' for cut, cpu in cells)} |"


def main() -> None:
    """Measure, append rows, and print the table of all rows of the file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--graphs", type=Path, help="folder of graphs")
    parser.add_argument("--only", default="", help="names of graphs, comma-separated")
    parser.add_argument("--presets", default="turbo,fast")
    parser.add_argument("--k", type=int, default=64)
    parser.add_argument("--imbalance", type=int, default=3, help="in per cent")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--out", type=Path, default=Path("bench/results/flat_cuts.jsonl"))
    parser.add_argument("--summary", type=Path, help="print the table of this file and measure nothing")
    options = parser.parse_args()
    warnings.simplefilter("ignore", hb.HopbytesWarning)
    if options.summary is None:
        if options.graphs is None:
            parser.error("--graphs FOLDER is needed")
        if absent := missing("pymetis"):
            parser.error(absent)
        chosen = set(filter(None, options.only.split(",")))
        found = sorted([*options.graphs.glob("*.graph"), *options.graphs.glob("*.graph.xz")])
        paths = [path for path in found if not chosen or path.name.split(".")[0] in chosen]
        tools = (METIS, *options.presets.split(","))
        options.out.parent.mkdir(parents=True, exist_ok=True)
        with options.out.open("a") as out:
            for row in rows(paths, tools, k=options.k, per_cent=options.imbalance, seeds=options.seeds):
                print(json.dumps(row), file=out, flush=True)
    lines = (options.summary or options.out).read_text().splitlines()
    print(*table(map(json.loads, lines)), sep="\n")


if __name__ == "__main__":
    main()
