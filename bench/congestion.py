"""The experiments of UMPA (Fig. 2 and 3) and PTRAM (Fig. 5, 6 and 8) on generated networks.

``python bench/congestion.py torus --graphs DIR/a.graph.xz DIR/b.graph.xz --out torus.jsonl`` and
``python bench/congestion.py fattree --out fattree.jsonl``. One JSON line a run; the table at the end holds
geometric means of ratios to DEF (tasks in order), with CPU seconds of mapping alone.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import numpy as np

import hopbytes as hb
from hopbytes.nodal import quotient
from hopbytes.objectives.base import objectives
from hopbytes.objectives.hybrid import four_terms
from hopbytes.objectives.links import traffic

#: One router of three dimensions with two nodes of 16 slots each, as the machine of UMPA's experiments.
TORUS = "torus:17x8x24@10:nodes=2 / core:16@1"
#: 103 leaf switches of 30 nodes, 3 cables to a line switch of each of two cores (18 line, 9 spine switches).
FATTREE = "fattree:30x6x18:up=1x2x9:cables=1x3x2:nodes=3090@10 / core:8@1"

TORUS_CHAINS = {
    "DEF": ("identity", ()), "UG": ("ug", ()), "UWH": ("ug", ("uwh",)), "UMC": ("ug", ("uwh", "umc")),
    "UMC paper": ("ug", ("umc:rule=paper",)), "UMMC": ("ug", ("uwh", "ummc")),
    "congestion": ("ug", ("uwh", "congestion")),
}
FATTREE_CHAINS = {
    "DEF": ("identity", ()), "partition": ("ug:seeds=0", ()), "PTRAM": ("ptram", ("ptram",)),
    "PTRAM raw": ("ptram:raw=true", ("ptram",)), "congestion": ("ug", ("uwh", "congestion")),
}


def sparse_nodes(where: hb.Allocation, count: int, seed: int) -> hb.Allocation:
    """Take `count` nodes along a snake through the torus, between runs that other jobs hold."""
    sizes, per = (17, 8, 24), 2
    grid = np.stack(np.unravel_index(np.arange(int(np.prod(sizes))), sizes), axis=1)
    y = np.where(grid[:, 0] % 2, sizes[1] - 1 - grid[:, 1], grid[:, 1])
    z = np.where((grid[:, 0] * sizes[1] + y) % 2, sizes[2] - 1 - grid[:, 2], grid[:, 2])
    routers = np.lexsort((z, y, grid[:, 0]))
    nodes = (routers[:, None] * per + np.arange(per)).reshape(-1)
    rng, free, at = np.random.default_rng(seed), np.ones(len(nodes), bool), 0
    while at < len(nodes):
        at += int(rng.geometric(1 / 40))
        held = int(rng.geometric(1 / 40))
        free[at : at + held] = False
        at += held
    left = nodes[free]
    first = int(rng.integers(0, len(left) - count + 1))
    return where.select(np.flatnonzero(np.isin(where.node_of_pe, left[first : first + count])))


def parts(path: Path, count: int) -> hb.CommGraph:
    """Partition a mesh by recursive bisection; parts are numbered as the bisections go."""
    graph = hb.read(path)
    levels = count.bit_length() - 1
    spec = " ".join(f"l{levels - i}:2@{levels - i}" for i in range(levels))
    where = hb.map_tasks(graph, hb.machine(spec), mapper="multisection", partition=True)
    return quotient(graph, where.pe, count)


def shuffled(graph: hb.CommGraph, seed: int) -> hb.CommGraph:
    """Renumber the tasks at random."""
    new = np.random.default_rng(seed).permutation(graph.n)
    return hb.CommGraph.from_edges(
        new[graph.sources()], new[graph.targets], graph.arc_volumes(), graph.arc_messages(), n=graph.n
    )


def patterns() -> dict[str, hb.CommGraph]:
    """The three patterns of PTRAM's experiments for 4096 processes, one unit of volume a message."""
    return {"2-D 5-point": _grid((64, 64), _axes(2)),
            "3-D 15-point": _grid((16, 16, 16), [*_axes(3), *_corners()]),
            "all-to-all": _columns(64)}


def _axes(dimensions: int) -> list[tuple[int, ...]]:
    steps = np.vstack([np.eye(dimensions, dtype=int), -np.eye(dimensions, dtype=int)])
    return [tuple(int(c) for c in step) for step in steps]


def _corners() -> list[tuple[int, ...]]:
    return [(x, y, z) for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]


def _grid(sizes: tuple[int, ...], steps: list[tuple[int, ...]]) -> hb.CommGraph:
    places = np.stack(np.unravel_index(np.arange(int(np.prod(sizes))), sizes), axis=1)
    sources, targets = [], []
    for step in steps:
        there = places + np.array(step)
        inside = np.all((there >= 0) & (there < np.array(sizes)), axis=1)
        sources.append(np.flatnonzero(inside))
        targets.append(np.ravel_multi_index(tuple(there[inside].T), sizes))
    return hb.CommGraph.from_edges(np.concatenate(sources), np.concatenate(targets))


def _columns(side: int) -> hb.CommGraph:
    rows = np.arange(side)
    a, b = (pair.reshape(-1) for pair in np.meshgrid(rows, rows, indexing="ij"))
    a, b = a[a != b], b[a != b]
    columns = np.arange(side)[:, None]
    return hb.CommGraph.from_edges((a * side + columns).reshape(-1), (b * side + columns).reshape(-1))


def measured(
    graph: hb.CommGraph, where: hb.Allocation, mapper: str, refine: tuple[str, ...]
) -> dict[str, float]:
    """Map and measure everything the two papers show."""
    began = time.process_time()
    found = hb.map_tasks(graph, where, mapper=mapper, refine=refine, threads=1)
    cpu = time.process_time() - began
    names = ("hop_bytes", "hops", "max_congestion", "max_messages")
    row = {name: float(objectives[name]().value(graph, where, found.pe)) for name in names}
    terms = four_terms(traffic(graph, graph.volumes, where, found.pe, "bench", priced=True))
    return row | {"avg_congestion": terms[2], "var_congestion": terms[3], "cpu": cpu}


def run(cases: list[tuple[str, hb.CommGraph, hb.Allocation]], chains: dict[str, tuple[str, tuple[str, ...]]],
        out: Path) -> None:
    """Run all chains on all cases; print geometric means of ratios to DEF."""
    table: dict[tuple[str, str], list[dict[str, float]]] = {}
    with out.open("a") as file:
        for case, graph, where in cases:
            base = None
            for name, (mapper, refine) in chains.items():
                row = measured(graph, where, mapper, refine)
                base = row if base is None else base
                ratio = {key: row[key] / base[key] if base[key] else 1.0 for key in row if key != "cpu"}
                table.setdefault((case.split("|")[0], name), []).append(ratio | {"cpu": row["cpu"]})
                file.write(json.dumps({"case": case, "chain": name, **row}) + "\n")
                file.flush()
    keys = ("hop_bytes", "hops", "max_congestion", "max_messages", "avg_congestion", "var_congestion")
    print(f"{'case':24s} {'chain':12s} " + " ".join(f"{key[:12]:>12s}" for key in keys) + f" {'cpu s':>8s}")
    for (case, name), rows in table.items():
        means = [float(np.exp(np.mean([np.log(max(row[key], 1e-12)) for row in rows]))) for key in keys]
        cpu = float(np.mean([row["cpu"] for row in rows]))
        print(f"{case:24s} {name:12s} " + " ".join(f"{mean:12.3f}" for mean in means) + f" {cpu:8.2f}")


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("experiment", choices=("torus", "fattree"))
    parser.add_argument("--graphs", nargs="*", type=Path, default=[])
    parser.add_argument("--parts", nargs="*", type=int, default=[1024, 2048, 4096, 8192, 16384])
    parser.add_argument("--draws", type=int, default=5, help="allocations per size")
    parser.add_argument("--out", type=Path, required=True)
    asked = parser.parse_args()
    cases: list[tuple[str, hb.CommGraph, hb.Allocation]] = []
    if asked.experiment == "torus":
        whole = hb.machine(TORUS)
        for count in asked.parts:
            for path in asked.graphs:
                graph = parts(path, count)
                for draw in range(asked.draws):
                    where = sparse_nodes(whole, count // 16, draw)
                    cases.append((f"{count} in order|{path.name}|{draw}", graph, where))
                    cases.append((f"{count} shuffled|{path.name}|{draw}", shuffled(graph, draw), where))
        run(cases, TORUS_CHAINS, asked.out)
        return
    whole = hb.machine(FATTREE)
    nodes = np.unique(whole.node_of_pe)
    for name, graph in patterns().items():
        for draw in range(asked.draws):
            scattered = np.random.default_rng(draw).choice(nodes, 512, replace=False)
            chosen = scattered if draw else nodes[:512]
            kind = "first 512" if draw == 0 else "scattered"
            where = whole.select(np.flatnonzero(np.isin(whole.node_of_pe, chosen)))
            cases.append((f"{name} {kind}|{draw}", graph, where))
    run(cases, FATTREE_CHAINS, asked.out)


if __name__ == "__main__":
    main()
