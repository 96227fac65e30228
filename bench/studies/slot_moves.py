"""One task per slot: what each kind of move adds, over recordings, quotient graphs, grids and point sets.

``python -m bench.studies.slot_moves --out bench/results/slot_moves.jsonl`` maps every pattern by every chain
of :data:`CHAINS` (chains given by ``--chain "MAPPER / REFINER / REFINER"`` instead), writes a JSON line each
and prints per family and over all: J over that of the first chain (geometric mean, largest), on how many
patterns it is less and more, arcs looked at and CPU seconds over those of the first chain. Started again it
does what is missing.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import hopbytes as hb
from bench.instances.graphs import Arrays, random_geometric, shared_folder
from bench.papers import paper000
from bench.studies import mpi_patterns
from hopbytes.patterns.base import pattern
from hopbytes.solve.presets import presets

#: Quotient graphs: of these, cut into so many blocks by recursive bisection.
GRAPHS = ("delaunay_n16", "brack2", "t60k", "copter2", "finan512", "ibm13_c8", "wing", "rgg_n_2_15_s0")
BLOCKS = (512, 1024)
#: Grids (a pattern each) and the machine they are mapped on.
GRIDS = {
    "stencil:16x16x4": "node:32@100 package:2@20 core:16@4",
    "stencil:10x10x10": "node:25@20 package:2@5 l3:5@3 core:4@2",
    "stencil:32x36:periodic=xy": "node:24@20 package:2@5 l3:6@3 core:4@2",
    "stencil:8x8x8:periodic=xyz": "node:8@100 package:16@10 core:4@1",
    "stencil:27x18x2": "node:27@20 package:3@5 core:12@2",
}
#: Random geometric patterns: log2 of their tasks, and machines.
POINTS = {
    9: "node:8@100 package:16@10 core:4@1", 10: "node:16@20 package:2@5 l3:8@3 core:4@2",
    11: "node:32@100 package:16@10 core:4@1",
}
START = "multisection:repetitions=2,coarse_recombinations=1,recombinations=1,flow_rounds=1 / vcycle:cycles=1"
CHAINS = tuple(
    f"{START}{more}" for more in (
        " / swap", " / swap / subtrees", " / swap / chains", " / swap / resplit", " / swap:perturbations=500",
        " / swap / subtrees / resplit / swap:perturbations=500",
    )
)

Record = dict[str, Any]


def as_graph(arrays: Arrays, seed: int) -> hb.CommGraph:
    """Return a pattern with volumes 1 to 20."""
    near = np.repeat(np.arange(arrays.n), np.diff(arrays.indptr))
    low = near < arrays.targets
    volumes = np.random.default_rng(seed).integers(1, 21, int(low.sum()))
    one, other = near[low], arrays.targets[low]
    return hb.CommGraph.from_edges(
        np.concatenate([one, other]), np.concatenate([other, one]), np.tile(volumes, 2), n=arrays.n
    )


def patterns(seed: int) -> Iterator[tuple[str, str, Callable[[], hb.CommGraph], Callable[[], hb.Allocation]]]:
    """Yield family, name, and how to make pattern and machine."""
    folder = shared_folder()
    if folder is None:
        raise SystemExit("no folder of developers' graphs: set HOPBYTES_SHARED")
    for kind, machines in mpi_patterns.MACHINES.items():
        for name in mpi_patterns.RECORDINGS:
            graph = hb.read(str(folder.parent / name), holds="pattern")
            if graph.n >= 64:
                yield (f"recorded, {kind}", Path(name).name.split(".")[0], lambda graph=graph: graph,
                       lambda graph=graph, machines=machines: hb.allocate(machines[graph.n]))  # fmt: skip
    for name in GRAPHS:
        for k in BLOCKS:
            def quotient(name: str = name, k: int = k) -> hb.CommGraph:
                whole = hb.read(str(folder / f"{name}.graph.xz"))
                return paper000.model_of(whole, "rb", paper000.machine(k), seed)
            yield "quotient", f"{name} {k}", quotient, lambda k=k: paper000.machine(k)
    for name, spec in GRIDS.items():
        yield "grid", name, lambda name=name: pattern(name), lambda spec=spec: hb.allocate(spec)
    for log_n, spec in POINTS.items():
        for draw in range(3):
            def points(log_n: int = log_n, draw: int = seed + draw) -> hb.CommGraph:
                return as_graph(random_geometric(log_n, draw), draw)
            yield "points", f"2^{log_n} draw {draw}", points, lambda spec=spec: hb.allocate(spec)


def one_run(graph: hb.CommGraph, where: hb.Allocation, chain: str, seed: int) -> Record:
    """Map by a preset or by a mapper and refiners with strokes between them."""
    first, *steps = [part.strip() for part in chain.split("/")]
    method = first if first in presets else [first, *steps]
    began = time.process_time()
    mapping = hb.map_tasks(graph, where, method, partition=False, threads=1, seed=seed)
    seconds = time.process_time() - began
    return {
        "seed": seed, "n": graph.n, "comm_cost": mapping.info["comm_cost"],
        "arcs": mapping.info["work"].get("arcs", 0), "cpu_seconds": seconds,
    }


def measure(chains: list[str], seed: int, done: set[tuple[str, str, str]], only: str) -> Iterator[Record]:
    """Yield a record per pattern and chain that is not done yet."""
    for family, name, make, where in patterns(seed):
        missing = [chain for chain in chains if (family, name, chain) not in done]
        if not missing or only not in family:
            continue
        graph, machine = make(), where()
        for chain in missing:
            yield {"family": family, "name": name, "chain": chain, **one_run(graph, machine, chain, seed)}


def table(records: list[Record], chains: list[str]) -> str:
    """Ratios to the first chain."""
    value = {(r["family"], r["name"], r["chain"]): r for r in records}
    lines = ["family | chain | patterns | J (largest) | less, more | arcs | CPU"]
    families = list(dict.fromkeys(r["family"] for r in records))
    for family in [*families, ""]:
        names = list(dict.fromkeys((r["family"], r["name"]) for r in records if family in ("", r["family"])))
        for chain in chains:
            pairs = [(value.get((*name, chain)), value.get((*name, chains[0]))) for name in names]
            found = [(one, base) for one, base in pairs if one and base]
            if not found:
                continue
            ratio = np.array([
                [one[key] / max(base[key], 1e-9) for key in ("comm_cost", "arcs", "cpu_seconds")]
                for one, base in found
            ])
            mean = np.exp(np.log(ratio).mean(axis=0))
            less, more = int((ratio[:, 0] < 1).sum()), int((ratio[:, 0] > 1).sum())
            lines.append(
                f"{family or 'all'} | {chain.removeprefix(START)} | {len(found)} | {mean[0]:.4f} "
                f"({ratio[:, 0].max():.4f}) | {less}, {more} | {mean[1]:.2f} | {mean[2]:.2f}"
            )
    return "\n".join(lines)


def main() -> None:
    """Measure what is missing, print the table."""
    form = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=form)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--chain", action="append", default=[], help="mapper and refiners, or a preset")
    parser.add_argument("--family", default="", help="part of the names of families to measure")
    options = parser.parse_args()
    chains = options.chain or list(CHAINS)
    options.out.parent.mkdir(parents=True, exist_ok=True)
    text = options.out.read_text() if options.out.exists() else ""
    records = [r for r in map(json.loads, text.splitlines()) if r["seed"] == options.seed]
    done = {(r["family"], r["name"], r["chain"]) for r in records}
    with options.out.open("a") as out:
        for record in measure(chains, options.seed, done, options.family):
            records.append(record)
            out.write(json.dumps(record) + "\n")
            out.flush()
    print(table(records, chains))


if __name__ == "__main__":
    main()
