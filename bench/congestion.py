"""The experiments of PTRAM (Fig. 5, 6 and 8) on a generated fat tree, and the way to those of UMPA.

``python bench/congestion.py fattree --out fattree.jsonl``: one JSON line a run; the table at the end holds
geometric means of ratios to DEF (tasks in order), with CPU seconds of mapping alone.
``python bench/congestion.py torus --graphs DIR --out torus.jsonl`` runs ``paper003.py``.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path

import numpy as np

import hopbytes as hb
import paper003
from hopbytes.objectives.base import objectives
from hopbytes.objectives.hybrid import four_terms
from hopbytes.objectives.links import traffic

#: 103 leaf switches of 30 nodes, 3 cables to a line switch of each of two cores (18 line, 9 spine switches).
FATTREE = "fattree:30x6x18:up=1x2x9:cables=1x3x2:nodes=3090@10 / core:8@1"

FATTREE_CHAINS = {
    "DEF": ("identity", ()), "partition": ("ug:seeds=0", ()), "PTRAM": ("ptram", ("ptram",)),
    "PTRAM raw": ("ptram:raw=true", ("ptram",)), "congestion": ("ug", ("uwh", "congestion")),
}


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
    if sys.argv[1:2] == ["torus"]:
        paper003.main(sys.argv[2:])
        return
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("experiment", choices=("torus", "fattree"))
    parser.add_argument("--draws", type=int, default=5, help="the first nodes, then scattered ones")
    parser.add_argument("--out", type=Path, required=True)
    asked = parser.parse_args()
    cases: list[tuple[str, hb.CommGraph, hb.Allocation]] = []
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
