"""Schulz, Träff and von Kirchbach, "Better Process Mapping and Sparse Quadratic Assignment", repeated.

``python -m bench.papers.paper000 --out bench/results/paper000.jsonl`` cuts each graph into k blocks (model RB
by recursive bisection, model RMS by multisection along the machine), maps the graph of the blocks on the
machine 4:16:k/64 with distances 1:10:100 by every construction and local search of the paper and by ours, and
prints what the paper prints: improvement over Müller-Merbach on the RB model, J(Müller-Merbach) / J - 1 in
per cent, as geometric means, and CPU seconds of one thread (of a search relative to those of Müller-Merbach).
J of every run stands in the JSON lines. Started again it goes on where it was.

The paper's graphs are not at hand; the default ones are meshes, circuits and point sets of the
developers' graph folder and, ``rgg18`` and ``del18``, generated ones of the kind the paper has, which go to
the paper's largest n. Models of graphs with fewer than eight vertices per block are left out.

What stands where in the paper: Table 3 and Fig. 2 are the rows with Müller-Merbach and a search (N², N_p,
N_d for d = 1, 2, 3, 5, 10), Fig. 3 those of model RB without and with N_10 (LibTopoMap there is
``dual_recursive_bipartitioning``), Fig. 4 those of model RMS. The paper's numbers for these two are means
over n = 64 k for every k from 1 to 128, which ``--sizes all`` names; the default sizes are powers of two, at
which bisections and tasks in order are at their best. Table 2, Fig. 1 and the scaling to 2^19 PEs are in
``bench/papers/swaps.py``. After the table come the curves of performance plots: the share of instances on
which a row is within so many per cent of the best one.

``--quick`` does four sizes, of which two are no powers of two, of two generated graphs.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import hopbytes as hb
from bench.instances.graphs import delaunay, random_geometric, shared_folder
from bench.papers import swaps
from bench.papers.quick import Report
from hopbytes.algorithms.base import Bounds, Effort, mappers, refiners
from hopbytes.algorithms.mappers.two_phase import TwoPhase
from hopbytes.algorithms.shared.quotient_graph import quotient_graph
from hopbytes.cost.objectives.comm_cost import CommCost
from hopbytes.solve.feasible import enforce_bounds
from hopbytes.solve.formulate import formulate
from hopbytes.solve.problem import Request
from hopbytes.util.options import build

GRAPHS = (
    "brack2", "copter2", "crankshaft_n", "pump_n", "wing", "t60k", "delaunay_n16", "rgg_n_2_15_s0",
    "finan512", "linkrods_d", "naca4412_turb", "ibm13_c8", "rgg18", "del18",
)
GENERATED = {"rgg18": lambda: random_geometric(18, 1), "del18": lambda: delaunay(18, 1)}
SIZES = tuple(2**i for i in range(6, 16))
#: Vertices per block that a graph must have.
LEAST_PER_BLOCK = 8
#: Sizes of Fig. 3 and 4, and graphs and sizes of --quick.
EVERY_SIZE = tuple(range(64, 64 * 129, 64))
QUICK_GRAPHS, QUICK_SIZES = {"rgg15": lambda: random_geometric(15, 1), "del15": lambda: delaunay(15, 1)}, (
    128, 192, 256, 448,
)
#: N² looks at all pairs of tasks again and again: minutes a run beyond.
ALL_PAIRS_UP_TO = 8192
BASELINE = ("rb", "mueller_merbach", "")
#: Bottom-up cuts everything into n/4 blocks at once; the paper stops it at 50 nodes, too.
BOTTOM_UP_UP_TO = 3200

#: As in the presets fast and eco.
QUICK = "swap:starts=1,perturbations=100"
OURS = "swap:starts=1,subtrees=1,repartitionings=4,perturbations=300"

#: Model, mapper, refiner, and the paper's improvement in per cent (None: not in the paper).
ROWS: tuple[tuple[str, str, str, float | None], ...] = (
    (*BASELINE, 0.0),
    ("rb", "mueller_merbach", "n_square", 19.7),
    ("rb", "mueller_merbach", "n_p", 9.7),
    ("rb", "mueller_merbach", "n_cd:d=1", 3.9),
    ("rb", "mueller_merbach", "n_cd:d=2", 9.5),
    ("rb", "mueller_merbach", "n_cd:d=3", None),
    ("rb", "mueller_merbach", "n_cd:d=5", None),
    ("rb", "mueller_merbach", "n_cd:d=10", 19.1),
    ("rb", "random", "", -67.0),
    ("rb", "identity", "", 18.2),
    ("rb", "greedy_all_c", "", 1.0),
    ("rb", "rcm", "", None),
    ("rb", "dual_recursive_bipartitioning", "", 8.0),
    ("rb", "bottom_up", "", None),
    ("rb", "top_down", "", 52.0),
    ("rb", "top_down", "n_cd:d=10", None),
    ("rms", "identity", "", 51.6),
    ("rms", "identity", "n_cd:d=10", 55.4),
    ("rms", "top_down", "", 54.1),
    ("rms", "top_down", "n_cd:d=10", 56.1),
    ("rb", "multisection:initial_partitions=4", QUICK, None),
    ("rb", "multisection:repetitions=2,recombinations=1", OURS, None),
    ("rms", "multisection:initial_partitions=4", QUICK, None),
    ("rms", "multisection:repetitions=2,recombinations=1", OURS, None),
)


def machine(k: int) -> hb.Allocation:
    """Return the paper's machine."""
    return hb.allocate(f"node:{k // 64}@100 package:16@10 core:4@1")


def model_of(graph: hb.CommGraph, kind: str, where: hb.Allocation, seed: int) -> hb.CommGraph:
    """Return the graph of k blocks of at most 3 per cent more than their share."""
    problem = formulate(graph, where, Request(partition=True))
    effort = Effort(seed=seed)
    block = TwoPhase(model=kind, mapping="identity", refine="none").map(graph, where, problem.bounds, effort)
    return quotient_graph(graph, enforce_bounds(problem, block, effort)[0], where.k)


class Runs:
    """All rows of one model graph; a construction that several rows share is made once."""

    def __init__(self, where: hb.Allocation, models: dict[str, hb.CommGraph], seed: int) -> None:
        one_each = np.ones(where.k, np.int64)
        self.where, self.models, self.seed = where, models, seed
        self.bounds = Bounds(one_each, one_each, exact=True)
        self._made: dict[tuple[str, str], tuple[np.ndarray, float]] = {}

    def run(self, model: str, mapper: str, refiner: str) -> dict[str, Any]:
        """Return J and CPU seconds."""
        graph = self.models[model]
        graph.symmetric_positive()
        if (model, mapper) not in self._made:
            began = time.process_time()
            pe = build(mappers, mapper).map(graph, self.where, self.bounds, Effort(seed=self.seed))
            self._made[model, mapper] = (pe, time.process_time() - began)
        pe, seconds = self._made[model, mapper]
        search = 0.0
        if refiner:
            began = time.process_time()
            pe = build(refiners, refiner).refine(graph, self.where, pe, self.bounds, Effort(seed=self.seed))
            search = time.process_time() - began
        if sorted(pe.tolist()) != list(range(self.where.k)):
            raise SystemExit(f"{model} {mapper} {refiner}: not one task per PE")
        return {"comm_cost": CommCost().value(graph, self.where, pe), "seconds": seconds, "search": search}


def read_graph(name: str, folder: Path | None) -> hb.CommGraph:
    """Return one of the developers' graphs or a generated one."""
    if name not in GENERATED and folder is not None:
        return hb.read(str(folder / f"{name}.graph.xz"))
    arrays = GENERATED[name]()
    return hb.CommGraph(arrays.indptr, arrays.targets.astype(np.int32), None, undirected=True)


def measure(options: argparse.Namespace, done: set[tuple[Any, ...]]) -> Iterator[dict[str, Any]]:
    """Yield one record per graph, size, seed and row that is not done yet."""
    folder = shared_folder()
    if folder is None and not GENERATED.keys() >= set(options.graphs):
        raise SystemExit("no folder of developers' graphs: set HOPBYTES_SHARED")
    for k in options.sizes:
        where = machine(k)
        for name in options.graphs:
            graph = read_graph(name, folder)
            for seed in range(1, options.seeds + 1):
                rows = [row for row in ROWS if (name, k, seed, *row[:3]) not in done]
                rows = [row for row in rows if row[1] != "bottom_up" or k <= BOTTOM_UP_UP_TO]
                rows = [row for row in rows if row[2] != "n_square" or k <= options.all_pairs_up_to]
                if not rows or graph.n < LEAST_PER_BLOCK * k:
                    continue
                models = {kind: model_of(graph, kind, where, seed) for kind in ("rb", "rms")}
                runs = Runs(where, models, seed)
                for model, mapper, refiner, _ in rows:
                    record = {"graph": name, "k": k, "seed": seed, "model": model, "mapper": mapper}
                    yield {**record, "refiner": refiner, **runs.run(model, mapper, refiner)}


def geometric(values: list[float]) -> float:
    """Geometric mean."""
    return float(np.exp(np.mean(np.log(values))))


def table(records: list[dict[str, Any]]) -> str:
    """Improvement over the baseline and time, per row, by size and over all."""
    value = {
        (r["graph"], r["k"], r["seed"], r["model"], r["mapper"], r["refiner"]): r for r in records
    }
    sizes = sorted({r["k"] for r in records})
    by_size = " ".join(map(str, sizes))
    lines = [f"model mapper refiner | improvement % at {by_size} | all | paper | seconds | search/baseline"]
    for *row, paper in ROWS:
        per_size, ratios, seconds, search = [], [], [], []
        for k in sizes:
            here = []
            for (graph, size, seed, *which), record in value.items():
                base = value.get((graph, size, seed, *BASELINE))
                if size == k and which == row and base is not None:
                    here.append(base["comm_cost"] / record["comm_cost"])
                    seconds.append(record["seconds"] + record["search"])
                    search.append((record["search"] + 1e-9) / (base["seconds"] + 1e-9))
            per_size.append(f"{100 * geometric(here) - 100:.1f}" if here else "-")
            ratios += here
        if ratios:
            lines.append(
                f"{' '.join(row):75} | {' '.join(per_size)} | {100 * geometric(ratios) - 100:.1f} | "
                f"{'' if paper is None else paper} | {geometric([s + 1e-6 for s in seconds]):.4f} | "
                f"{geometric(search):.2f}"
            )
    return "\n".join(lines)


def performance(records: list[dict[str, Any]]) -> str:
    """Share of instances on which each row is within some per cent of the best one."""
    limits = (1.01, 1.02, 1.05, 1.1, 1.2, 1.5)
    instances: dict[tuple[Any, ...], dict[tuple[str, ...], int]] = {}
    for r in records:
        key = (r["graph"], r["k"], r["seed"])
        instances.setdefault(key, {})[r["model"], r["mapper"], r["refiner"]] = r["comm_cost"]
    within = ", ".join(f"{100 * limit - 100:.0f}" for limit in limits)
    lines = ["\nmodel mapper refiner | instances | % within " + within]
    for *row, _ in ROWS:
        name = tuple(row)
        ratios = [costs[name] / min(costs.values()) for costs in instances.values() if name in costs]
        if ratios:
            shares = " ".join(f"{100 * np.mean(np.array(ratios) <= limit):.0f}" for limit in limits)
            lines.append(f"{' '.join(row):75} | {len(ratios)} | {shares}")
    return "\n".join(lines)


def sizes_of(text: str) -> list[int]:
    """Parse ``64,128`` or ``all``."""
    return list(EVERY_SIZE) if text == "all" else [int(k) for k in text.split(",")]


def quick() -> Report:
    """Measure two generated graphs on four machines."""
    report = Report("Better process mapping: improvement over Müller-Merbach in per cent, below 0: worse")
    GENERATED.update(QUICK_GRAPHS)
    asked = argparse.Namespace(sizes=QUICK_SIZES, graphs=tuple(QUICK_GRAPHS), seeds=1, all_pairs_up_to=448)
    records = list(measure(asked, set()))
    cost = {(r["graph"], r["k"], r["model"], r["mapper"], r["refiner"]): r["comm_cost"] for r in records}
    for model, mapper, refiner, paper in ROWS[1:]:
        figure = "Table 3" if mapper == BASELINE[1] else "Fig. 3" if model == "rb" else "Fig. 4"
        cells = []
        for powers in (True, False):
            ratios = [
                cost[(graph, k, *BASELINE)] / cost[graph, k, model, mapper, refiner]
                for graph in QUICK_GRAPHS for k in QUICK_SIZES if (k & (k - 1) == 0) == powers
            ]
            cells.append(100 * geometric(ratios) - 100)
        what = f"{model} {mapper.partition(':')[0]} {refiner}".strip()
        ours = f"{cells[0]:.1f} (k a power of two), {cells[1]:.1f} (others)"
        report.row(figure, what, "" if paper is None else paper, ours)
    for n in (256, 1024):
        found = swaps.search(swaps.pattern(n.bit_length() - 1, 1), machine(n))
        what = f"N_p with sparse gains, n = {n}: seconds"
        report.row("Table 2", what, swaps.PAPER[n][0], f"{found['seconds']:.4f}")
    report.missing("Table 1", "graphs that the paper does not publish; two generated ones as it describes")
    report.missing("Table 2, Fig. 1", "speed-ups need a compiled dense update: python -m bench.papers.swaps")
    report.missing("Fig. 2", "a plot without numbers; without --quick its curves are printed")
    report.missing("scaling to 2^19", "python -m bench.papers.swaps --scale 19")
    return report


def main() -> None:
    """Measure what is missing, print the table."""
    form = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=form)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--quick", action="store_true", help="a small part in a minute, beside the paper")
    parser.add_argument("--graphs", type=lambda text: text.split(","), default=GRAPHS)
    parser.add_argument("--sizes", type=sizes_of, default=SIZES, help="all: every k of the paper")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--all-pairs-up-to", type=int, default=ALL_PAIRS_UP_TO, help="largest n of N²")
    options = parser.parse_args()
    if options.quick:
        print(quick().text())
        return
    if options.out is None:
        parser.error("--out or --quick is needed")
    options.out.parent.mkdir(parents=True, exist_ok=True)
    text = options.out.read_text() if options.out.exists() else ""
    records = [json.loads(line) for line in text.splitlines()]
    names = ("graph", "k", "seed", "model", "mapper", "refiner")
    done = {tuple(record[name] for name in names) for record in records}
    with options.out.open("a") as out:
        for record in measure(options, done):
            records.append(record)
            out.write(json.dumps(record) + "\n")
            out.flush()
    print(table(records) + "\n" + performance(records))


if __name__ == "__main__":
    main()
