"""The mapping experiments of UMPA (Deveci et al., 2015, Fig. 2 and 3) on a torus with sparse allocations.

``python -m bench.papers.congestion torus --graphs DIR --out torus.jsonl`` partitions eight meshes and
matrices by recursive bisection, takes the communication of a sparse matrix-vector product between the parts
as pattern, and maps it to drawn allocations; one JSON line a placement. A run that was stopped goes on where
it ended. Then it prints geometric means of ratios to DEF (parts in order) beside the published ones, and
draws both figures (``--table`` does only that). CPU seconds are of mapping alone, one thread.

``python -m bench.papers.paper003 --quick`` partitions two generated graphs by every partitioner that is
installed (Fig. 1: metrics of partitions), and maps 1024 parts to one allocation (Fig. 2 and 3).
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import hopbytes as hb
import hopbytes_laboratory
from bench.instances.graphs import delaunay, random_geometric
from bench.papers import paper003_table
from bench.papers import quick as paper_report
from bench.rivals import scotch_gmap
from bench.rivals.needed import missing
from hopbytes.algorithms.base import Effort, mappers, refiners
from hopbytes.cost.objectives.comm_cost import objectives
from hopbytes.cost.objectives.link_sums import traffic
from hopbytes.cost.objectives.on_links import four_terms
from hopbytes.solve.feasible import enforce_bounds
from hopbytes.solve.formulate import formulate
from hopbytes.solve.problem import Request
from hopbytes.util.options import build

SIZES = (17, 8, 24)
NODES_PER_ROUTER, SLOTS = 2, 16
MACHINE = f"torus:17x8x24@10:nodes={NODES_PER_ROUTER} / core:{SLOTS}@1"
#: Large enough for 16384 parts; of finite elements, other simulations, optimisation and circuits.
GRAPHS = ("copter2", "crankshaft_n", "delaunay_n16", "finan512", "ibm13_c8", "linkrods_d", "pump_n", "wing")
MOST_PARTS = 16384
#: Name, what it starts from, what is done; UWH 8 looks at 8 nodes per group. Times add up along the way back
#: to the mapper.
STEPS = (
    ("DEF", "", "identity"), ("UG", "", "ug"), ("UWH", "UG", "uwh"), ("UWH 8", "UG", "uwh:delta=8"),
    ("UMC", "UG", "umc"), ("UMC paper", "UG", "umc:rule=paper"), ("UMMC", "UG", "ummc"),
    ("UWH+UMC", "UWH 8", "umc"), ("congestion", "UWH 8", "congestion"),
)


class Case(NamedTuple):
    """One pattern on one allocation."""

    graph: str
    parts: int
    draw: int
    order: str

    @property
    def name(self) -> str:
        """What JSON lines and resumed runs know it by."""
        return f"{self.order}|{self.parts}|{self.graph}|{self.draw}"


def sparse_nodes(where: hb.Allocation, count: int, seed: int) -> hb.Allocation:
    """Take `count` nodes along a snake through the torus, between runs that other jobs hold."""
    grid = np.stack(np.unravel_index(np.arange(int(np.prod(SIZES))), SIZES), axis=1)
    y = np.where(grid[:, 0] % 2, SIZES[1] - 1 - grid[:, 1], grid[:, 1])
    z = np.where((grid[:, 0] * SIZES[1] + y) % 2, SIZES[2] - 1 - grid[:, 2], grid[:, 2])
    routers = np.lexsort((z, y, grid[:, 0]))
    nodes = (routers[:, None] * NODES_PER_ROUTER + np.arange(NODES_PER_ROUTER)).reshape(-1)
    rng, free, at = np.random.default_rng(seed), np.ones(len(nodes), bool), 0
    while at < len(nodes):
        at += int(rng.geometric(1 / 40))
        held = int(rng.geometric(1 / 40))
        free[at : at + held] = False
        at += held
    left = nodes[free]
    first = int(rng.integers(0, len(left) - count + 1))
    return where.select(np.flatnonzero(np.isin(where.node_of_pe, left[first : first + count])))


@cache
def bisected(path: Path, most: int) -> tuple[hb.CommGraph, np.ndarray]:
    """Read a graph and cut it into `most` parts by recursive bisection, numbered as the bisections go."""
    graph = hb.read(path)
    levels = most.bit_length() - 1
    spec = " ".join(f"l{levels - i}:2@{levels - i}" for i in range(levels))
    where = hb.map_tasks(graph, hb.allocate(spec), "multisection", partition=True, threads=1)
    return graph, np.asarray(where.pe, np.int64)


def product_pattern(graph: hb.CommGraph, part: np.ndarray, count: int) -> hb.CommGraph:
    """Communication of a matrix-vector product: a value goes once to every other part with a neighbour."""
    owner, user = part[graph.sources()], part[graph.targets]
    pairs = np.unique(graph.sources()[owner != user] * np.int64(count) + user[owner != user])
    arcs, volumes = np.unique(part[pairs // count] * np.int64(count) + pairs % count, return_counts=True)
    return hb.CommGraph.from_edges(
        arcs // count, arcs % count, volumes, np.ones(len(arcs), np.int64), n=count
    )


def pattern(case: Case, folder: Path) -> hb.CommGraph:
    """Return the pattern of a case: coarser partitions join halves of finer ones, as bisection made them."""
    most = max(case.parts, MOST_PARTS)
    graph, part = bisected(folder / f"{case.graph}.graph.xz", most)
    parts = part // (most // case.parts)
    if case.order == "shuffled":
        parts = np.random.default_rng(case.draw).permutation(case.parts)[parts]
    return product_pattern(graph, parts, case.parts)


def metrics(graph: hb.CommGraph, where: hb.Allocation, pe: np.ndarray) -> dict[str, float]:
    """WH, TH, MC, MMC, AC and AMC."""
    names = {"WH": "hop_bytes", "TH": "hops", "MC": "max_congestion", "MMC": "max_messages"}
    row = {short: float(objectives[name]().value(graph, where, pe)) for short, name in names.items()}
    row["AC"] = four_terms(traffic(graph, graph.volumes, where, pe, "bench", priced=True))[2]
    row["AMC"] = four_terms(traffic(graph, graph.messages, where, pe, "bench", priced=False))[2]
    return row


def placements(
    graph: hb.CommGraph, where: hb.Allocation, seed: int
) -> Iterator[tuple[str, np.ndarray, float]]:
    """Name, placement and CPU seconds of every step."""
    problem = formulate(graph, where, Request())
    bounds = problem.bounds
    done: dict[str, tuple[np.ndarray, float]] = {}
    for name, start, what in STEPS:
        effort = Effort(seed=seed)
        began = time.process_time()
        if start:
            pe = build(refiners, what).refine(graph, where, done[start][0].copy(), bounds, effort)
        else:
            pe = build(mappers, what).map(graph, where, bounds, effort)
        pe, _, _ = enforce_bounds(problem, pe, effort)
        spent = time.process_time() - began + (done[start][1] if start else 0.0)
        done[name] = pe, spent
        yield name, pe, spent


def by_scotch(graph: hb.CommGraph, where: hb.Allocation) -> tuple[np.ndarray, float]:
    """Map to the routers in use by ``scotch_gmap``; what is too much on a router is moved off afterwards.

    Scotch weighs all routers alike and keeps loads within five percent only.
    """
    routers, of_pe = np.unique(where.node_of_pe // NODES_PER_ROUTER, return_inverse=True)
    target = f"sub\n{len(routers)} {' '.join(map(str, routers))}\ntorus3D {' '.join(map(str, SIZES[::-1]))}\n"
    answer = scotch_gmap.place(graph, where, "plain", target=target)  # as numbers in the list above
    first = np.searchsorted(of_pe, np.arange(len(routers)))
    pe, _, _ = enforce_bounds(formulate(graph, where, Request()), first[answer.pe].astype(np.int32), Effort())
    return pe, answer.cpu_seconds


def parts_by(name: str, graph: hb.CommGraph, parts: int) -> np.ndarray:
    """Return the part of every vertex by METIS, Scotch, a partitioner of the laboratory, or a preset."""
    if name == "metis":
        import pymetis

        return np.array(pymetis.part_graph(parts, pymetis.CSRAdjacency(graph.indptr, graph.targets))[1])
    if name == "scotch":
        import scotchpy

        given, found = scotchpy.Graph(), np.zeros(graph.n, np.int64)
        given.build(verttab=graph.indptr.astype(np.int64), edgetab=graph.targets.astype(np.int64))
        strategy = scotchpy.Strat()
        strategy.graph_map_build(scotchpy.STRATDEFAULT, parts, 0.03)
        given.part(parts, strategy, found)
        return found
    method = f"multisection:repetitions=0,partitioner={name}" if ":" in name else name
    return hb.map_tasks(graph, f"core:{parts}", method, partition=True, threads=1).pe


def partition_metrics(graph: hb.CommGraph, part: np.ndarray, count: int) -> dict[str, float]:
    """Return the metrics of Fig. 1 of a partition of rows, the edge cut, and the balance."""
    product = product_pattern(graph, part, count)
    sources, volumes = product.sources(), product.volumes
    sizes = np.bincount(part, minlength=count)
    return {
        "TV": float(volumes.sum()), "MSV": float(np.bincount(sources, volumes, count).max()),
        "TM": float(product.m), "MSM": float(np.bincount(sources, minlength=count).max()),
        "cut": float(np.count_nonzero(part[graph.sources()] != part[graph.targets])),
        "balance": float(sizes.max() * count / graph.n),
    }


#: Partitioners of --quick, and what each needs.
PARTITIONERS = {
    "metis": "pymetis", "scotch": "scotchpy", "kahip:eco": "kahip", "kaminpar:default": "kaminpar",
    "mtkahypar:default": "mtkahypar", "eco": None,
}
QUICK_PARTS = 256


def quick() -> paper_report.Report:
    """Partition two generated graphs, and map the parts of one of them."""
    hopbytes_laboratory.register()
    report = paper_report.Report("UMPA: partitions over those of METIS, mappings beside parts in order")
    graphs = [
        hb.CommGraph(each.indptr, each.targets.astype(np.int32), None, undirected=True)
        for each in (delaunay(14, 1), random_geometric(14, 1))
    ]
    base: list[dict[str, float]] = []
    for name, package in PARTITIONERS.items():
        if package and (why := missing(package)):
            report.missing(f"Fig. 1, {name}", why)
            continue
        parts = [parts_by(name, graph, QUICK_PARTS) for graph in graphs]
        found = [partition_metrics(*each, QUICK_PARTS) for each in zip(graphs, parts, strict=True)]
        base = base or found
        means = []
        for metric in found[0]:
            logs = [np.log(new[metric] / old[metric]) for new, old in zip(found, base, strict=True)]
            means.append(f"{metric} {np.exp(np.mean(logs)):.2f}")
        report.row("Fig. 1", f"{name}, {QUICK_PARTS} parts", "", ", ".join(means))
    warmed_up()
    where = sparse_nodes(hb.allocate(MACHINE), 1024 // SLOTS, 101)
    halves = hb.allocate("half:2@3 quarter:16@2 core:32@1")
    block = hb.map_tasks(graphs[0], halves, "multisection", partition=True, threads=1)
    graph = product_pattern(graphs[0], block.pe.astype(np.int64), 1024)
    rows = {name: (metrics(graph, where, pe), spent) for name, pe, spent in placements(graph, where, 101)}
    for name, (row, spent) in rows.items():
        if name == "DEF":
            continue
        base_row = rows["DEF"][0]
        change = [f"{m} {100 * row[m] / base_row[m] - 100:+.0f} %" for m in paper003_table.METRICS]
        report.row("Fig. 2", name, paper003_table.PUBLISHED.get(name, ""), ", ".join(change))
        report.row("Fig. 3", f"{name}: seconds", "", f"{spent:.2f}")
    report.missing("Fig. 1, PaToH and UMPA", "no sources; METIS takes the place of PaToH, beside which "
                   "the paper has UMPA-MV 5-10 % lower in MSV, -MM 16-19 % in MSM, -TM 9-10 % in TM")
    report.missing("Fig. 2, SMAP", "needs scotch_gmap: python -m bench.papers.paper003 --graphs FOLDER")
    report.missing("Fig. 2, TMAP", "hopbytes_laboratory has LibTopoMap's greedy and RCM mappers")
    report.missing("Fig. 4, 5, Table I", "times on Hopper; python -m bench.papers.paper_times umpa simulates")
    return report


@cache
def warmed_up() -> None:
    """Run everything once, so that no measurement includes the loading of modules."""
    graph = hb.CommGraph.from_edges(np.arange(64), (np.arange(64) + 1) % 64)
    for _ in placements(graph, sparse_nodes(hb.allocate(MACHINE), 4, 0), seed=0):
        pass


def run_case(case: Case, folder: Path, scotch: bool) -> list[dict[str, Any]]:
    """All placements of a case, measured."""
    warmed_up()
    where = sparse_nodes(hb.allocate(MACHINE), case.parts // SLOTS, case.draw)
    graph = pattern(case, folder)
    about = case._asdict() | {"case": case.name, "arcs": graph.m}
    found = list(placements(graph, where, seed=case.draw))
    if scotch:
        found.append(("scotch_gmap", *by_scotch(graph, where)))
    return [
        about | {"step": name, "cpu": spent} | metrics(graph, where, pe) for name, pe, spent in found
    ]


def main(words: list[str] | None = None) -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--graphs", type=Path, help="folder of the .graph.xz files")
    parser.add_argument("--names", nargs="*", default=list(GRAPHS))
    parser.add_argument("--parts", nargs="*", type=int, default=[1024, 2048, 4096, 8192, 16384])
    draws = [101, 102, 103, 104, 105]
    parser.add_argument("--draws", nargs="*", type=int, default=draws, help="seeds of allocations")
    parser.add_argument("--orders", nargs="*", default=["in order", "shuffled"])
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--no-scotch", action="store_true", help="leave scotch_gmap out")
    parser.add_argument("--table", action="store_true", help="only the table and figures of --out")
    parser.add_argument("--quick", action="store_true", help="generated graphs in a minute, beside the paper")
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args(words)
    if asked.quick:
        print(quick().text())
        return
    if asked.out is None:
        parser.error("--out or --quick is needed")
    if not asked.table:
        known = {row["case"] for row in paper003_table.rows_of(asked.out)}
        cases = [
            Case(name, count, draw, order)
            for name in asked.names for count in asked.parts for draw in asked.draws for order in asked.orders
        ]
        waiting = [case for case in cases if case.name not in known]
        with ProcessPoolExecutor(asked.jobs) as pool, asked.out.open("a") as file:
            jobs = [pool.submit(run_case, case, asked.graphs, not asked.no_scotch) for case in waiting]
            for job in as_completed(jobs):
                file.writelines(json.dumps(row) + "\n" for row in job.result())
                file.flush()
    rows = paper003_table.rows_of(asked.out)
    print(paper003_table.table(rows))
    paper003_table.draw(rows, asked.out)


if __name__ == "__main__":
    main()
