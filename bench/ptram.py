"""PTRAM's own experiments (Mirsadeghi and Afsahi, 2016) on its fat tree, generated: Fig. 5, 6 and 8.

``python bench/ptram.py quality --draws 4 --out ptram.jsonl`` maps the three patterns of 4096 processes onto
512 nodes, the first ones and scattered draws, and prints ratios to tasks in order: geometric means over the
draws, for the highest congestion also the least and the largest. In order means two things: nodes as the
machine numbers them, and nodes as a host list names them that knows nothing of switches (drawn at random).
``python bench/ptram.py time`` prints CPU seconds of mapping for 1024, 2048 and 4096 processes.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import numpy as np

import hopbytes as hb
from congestion import FATTREE, _axes, _corners, _grid
from hopbytes.mappers.base import Bounds, Effort
from hopbytes.mappers.node_level import cut, finish, settings_of
from hopbytes.objectives.hybrid import four_terms
from hopbytes.objectives.links import traffic

CORES = 8
METRICS = ("hop_bytes", "max_congestion", "avg_congestion", "var_congestion")
WIDE = "ptram:rule=count,nearest=31,rounds=1000"
CHAINS = {
    "PTRAM raw": ("ptram:raw=true", ("ptram",)),
    "PTRAM": ("ptram", ("ptram",)),
    "PTRAM wide": ("ptram:guarded=true", (WIDE,)),
}


def patterns(processes: int) -> dict[str, hb.CommGraph]:
    """Return the three patterns, one unit of volume a message; all-to-all in columns of the 2-D grid."""
    bits = processes.bit_length() - 1
    flat = (1 << (bits + 1) // 2, 1 << bits // 2)
    solid = (1 << (bits + 2) // 3, 1 << (bits + 1) // 3, 1 << bits // 3)
    rank = np.arange(processes).reshape(flat)
    a, b = np.nonzero(~np.eye(flat[0], dtype=bool))
    return {
        "2-D 5-point": _grid(flat, _axes(2)),
        "3-D 15-point": _grid(solid, [*_axes(3), *_corners()]),
        "all-to-all": hb.CommGraph.from_edges(rank[a].reshape(-1), rank[b].reshape(-1)),
    }


def allocation(whole: hb.Allocation, count: int, draw: int) -> hb.Allocation:
    """Take the first nodes (draw 0) or some at random."""
    nodes = np.unique(whole.node_of_pe)
    rng = np.random.default_rng(draw)
    chosen = rng.choice(nodes, count, replace=False) if draw else nodes[:count]
    return whole.select(np.flatnonzero(np.isin(whole.node_of_pe, chosen)))


def measured(graph: hb.CommGraph, where: hb.Allocation, pe: np.ndarray) -> dict[str, float]:
    """Return the four metrics of the paper."""
    terms = four_terms(traffic(graph, graph.volumes, where, pe.astype(np.int32), "bench", priced=True))
    return dict(zip(METRICS, terms, strict=True))


def rows_of(graph: hb.CommGraph, where: hb.Allocation, draw: int) -> dict[str, dict[str, float]]:
    """Measure every chain, and tasks and parts in both orders of the nodes."""
    tasks = np.arange(graph.n)
    ones = np.ones(where.k, np.int64)
    bounds, effort = Bounds(ones, ones, exact=True), Effort()
    grouped = cut(graph, where, bounds, effort, settings_of(1, 4))
    parts = finish(graph, grouped, grouped.start, bounds, effort)
    listed = np.random.default_rng(1000 + draw).permutation(where.k // CORES)
    found = {
        "DEF": tasks, "initPart": parts,
        "DEF listed": listed[tasks // CORES] * CORES + tasks % CORES,
        "initPart listed": listed[parts // CORES] * CORES + parts % CORES,
    }
    rows = {name: measured(graph, where, pe) for name, pe in found.items()}
    for name, (mapper, refine) in CHAINS.items():
        began = time.process_time()
        mapping = hb.map_tasks(graph, where, mapper=mapper, refine=refine, threads=1)
        cpu = time.process_time() - began
        rows[name] = measured(graph, where, mapping.pe) | {"cpu": cpu}
    return rows


def quality(draws: int, out: Path) -> None:
    """Run and print Fig. 5 and 6."""
    whole = hb.machine(FATTREE)
    results: dict[tuple[str, str], list[dict[str, dict[str, float]]]] = {}
    with out.open("a") as file:
        for name, graph in patterns(4096).items():
            for draw in range(draws + 1):
                rows = rows_of(graph, allocation(whole, 512, draw), draw)
                results.setdefault((name, "scattered" if draw else "first 512"), []).append(rows)
                file.write(json.dumps({"pattern": name, "draw": draw, "rows": rows}) + "\n")
                file.flush()
    print("Ratios to tasks in order: of the machine | of a host list that knows nothing of switches")
    head = "HB    MC  (least-most)   NZCA  NZCV"
    print(f"{'':41s}{head} | {head}   cpu s")
    for (name, kind), cases in results.items():
        for chain in ("initPart", "initPart listed", *CHAINS):
            sides = []
            for base in ("DEF", "DEF listed"):
                ratios = {key: [rows[chain][key] / rows[base][key] for rows in cases] for key in METRICS}
                means = {key: float(np.exp(np.mean(np.log(each)))) for key, each in ratios.items()}
                low, high = min(ratios["max_congestion"]), max(ratios["max_congestion"])
                sides.append(
                    f"{means['hop_bytes']:5.2f} {means['max_congestion']:5.2f} ({low:4.2f}-{high:4.2f})  "
                    f"{means['avg_congestion']:5.2f} {means['var_congestion']:5.2f}"
                )
            cpu = float(np.mean([rows[chain].get("cpu", 0.0) for rows in cases]))
            print(f"{name:13s} {kind:10s} {chain:15s} {sides[0]} | {sides[1]}  {cpu:5.1f}")


def times(repeats: int) -> None:
    """Print Fig. 8: CPU seconds of the mapper and of the refiner's chain, least of some repeats."""
    whole = hb.machine(FATTREE)
    print(f"{'processes':>9s} {'pattern':13s} " + " ".join(f"{name:>10s}" for name in (*CHAINS, "partition")))
    for processes in (1024, 2048, 4096):
        where = allocation(whole, processes // CORES, 1)
        for name, graph in patterns(processes).items():
            least = []
            for mapper, refine in [*CHAINS.values(), ("", ())]:
                seconds = []
                for _ in range(repeats):
                    began = time.process_time()
                    if mapper:
                        hb.map_tasks(graph, where, mapper=mapper, refine=refine, threads=1)
                    else:
                        ones = np.ones(where.k, np.int64)
                        cut(graph, where, Bounds(ones, ones, exact=True), Effort(), settings_of(1, 4))
                    seconds.append(time.process_time() - began)
                least.append(min(seconds))
            print(f"{processes:9d} {name:13s} " + " ".join(f"{each:10.2f}" for each in least), flush=True)


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("experiment", choices=("quality", "time"))
    parser.add_argument("--draws", type=int, default=4, help="scattered allocations beside the first nodes")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--out", type=Path, default=Path("ptram.jsonl"))
    asked = parser.parse_args()
    if asked.experiment == "quality":
        quality(asked.draws, asked.out)
    else:
        times(asked.repeats)


if __name__ == "__main__":
    main()
