"""PTRAM's own experiments (Mirsadeghi and Afsahi, 2016) on its fat tree, generated: Fig. 5, 6 and 8.

``python -m bench.papers.ptram quality --draws 4 --out ptram.jsonl`` maps the three patterns of 4096 processes
onto 512 nodes, the first ones and scattered draws; one JSON line a case, a run that was stopped goes on where
it ended. ``python -m bench.papers.ptram time`` measures CPU seconds of mapping for 1024, 2048 and 4096
processes. Both print all that is in the file beside what the paper has and draw it (``table``: only that). In
order means two things: nodes as the machine numbers them, and nodes as a host list names them that knows
nothing of switches (drawn at random). ``--quick`` maps 1024 processes once.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import hopbytes as hb
from bench.papers import ptram_table
from bench.papers.quick import Report
from hopbytes.algorithms.base import Bounds, Effort
from hopbytes.algorithms.two_level.groups import cut, finish, settings_of
from hopbytes.cost.objectives.link_sums import traffic
from hopbytes.cost.objectives.on_links import four_terms

#: 103 leaf switches of 30 nodes, 3 cables to a line switch of each of two cores (18 line, 9 spine switches).
CORES = 8
FATTREE = f"fattree:30x6x18:up=1x2x9:cables=1x3x2:nodes=3090@10 / core:{CORES}@1"
WIDE = "ptram:rule=count,nearest=31,rounds=1000"
#: What the preset ``fast`` does.
START = (
    "multisection:initial_partitions=2,flow_rounds=2", "vcycle:cycles=0",
    "swap:starts=1,perturbations=100,one_way=5"
)
#: A mapper, then refiners.
CHAINS = {
    "PTRAM raw": ("ptram:raw=true", "ptram"),
    "PTRAM": ("ptram", "ptram"),
    "PTRAM wide": ("ptram:guarded=true", WIDE),
    "ours": (*START, "congestion:hop_percent=10"),
    "ours, long": (*START, "congestion:hop_percent=10,group_work=2000,task_work=200"),
}


def patterns(processes: int) -> dict[str, hb.CommGraph]:
    """Return the three patterns, one unit of volume a message; all-to-all in columns of the 2-D grid."""
    bits = processes.bit_length() - 1
    flat = (1 << (bits + 1) // 2, 1 << bits // 2)
    solid = (1 << (bits + 2) // 3, 1 << (bits + 1) // 3, 1 << bits // 3)
    rank = np.arange(processes).reshape(flat)
    a, b = np.nonzero(~np.eye(flat[0], dtype=bool))
    corners = [(x, y, z) for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]
    return {
        "2-D 5-point": grid(flat, axes(2)),
        "3-D 15-point": grid(solid, [*axes(3), *corners]),
        "all-to-all": hb.CommGraph.from_edges(rank[a].reshape(-1), rank[b].reshape(-1)),
    }


def axes(dimensions: int) -> list[tuple[int, ...]]:
    """Steps to the nearest neighbours."""
    steps = np.vstack([np.eye(dimensions, dtype=int), -np.eye(dimensions, dtype=int)])
    return [tuple(int(c) for c in step) for step in steps]


def grid(sizes: tuple[int, ...], steps: list[tuple[int, ...]]) -> hb.CommGraph:
    """Every cell sends one unit along each step that stays inside."""
    places = np.stack(np.unravel_index(np.arange(int(np.prod(sizes))), sizes), axis=1)
    sources, targets = [], []
    for step in steps:
        there = places + np.array(step)
        inside = np.all((there >= 0) & (there < np.array(sizes)), axis=1)
        sources.append(np.flatnonzero(inside))
        targets.append(np.ravel_multi_index(tuple(there[inside].T), sizes))
    return hb.CommGraph.from_edges(np.concatenate(sources), np.concatenate(targets))


@cache
def whole_machine() -> hb.Allocation:
    """Return all of the fat tree."""
    return hb.allocate(FATTREE)


def allocation(count: int, draw: int) -> hb.Allocation:
    """Take the first nodes (draw 0) or some at random."""
    whole = whole_machine()
    nodes = np.unique(whole.node_of_pe)
    rng = np.random.default_rng(draw)
    chosen = rng.choice(nodes, count, replace=False) if draw else nodes[:count]
    return whole.select(np.flatnonzero(np.isin(whole.node_of_pe, chosen)))


def measured(graph: hb.CommGraph, where: hb.Allocation, pe: np.ndarray) -> dict[str, float]:
    """Return the four metrics of the paper."""
    terms = four_terms(traffic(graph, graph.volumes, where, pe.astype(np.int32), "bench", priced=True))
    return dict(zip(ptram_table.METRICS, terms, strict=True))


def quality_of(
    name: str, draw: int, processes: int = 4096, chains: Sequence[str] = tuple(CHAINS)
) -> dict[str, Any]:
    """Measure chains, and tasks and parts in both orders of the nodes."""
    graph, where = patterns(processes)[name], allocation(processes // CORES, draw)
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
    rows = {step: measured(graph, where, pe) for step, pe in found.items()}
    for step in chains:
        mapper, *refine = CHAINS[step]
        began = time.process_time()
        mapping = hb.map_tasks(graph, where, [mapper, *refine], threads=1)
        cpu = time.process_time() - began
        rows[step] = measured(graph, where, mapping.pe) | {"cpu": cpu}
    return {"what": "quality", "pattern": name, "draw": draw, "rows": rows}


def times_of(name: str, processes: int, repeats: int) -> dict[str, Any]:
    """CPU seconds of every chain, and of the partition to nodes alone: the least of some repeats."""
    graph, where = patterns(processes)[name], allocation(processes // CORES, 1)
    ones = np.ones(where.k, np.int64)

    def once(chain: tuple[str, ...]) -> float:
        began = time.process_time()
        if chain:
            mapper, *refine = chain
            hb.map_tasks(graph, where, [mapper, *refine], threads=1)
        else:
            cut(graph, where, Bounds(ones, ones, exact=True), Effort(), settings_of(1, 4))
        return time.process_time() - began

    steps: dict[str, tuple[str, ...]] = {"partition": (), **CHAINS}
    seconds = {step: min(once(how) for _ in range(repeats)) for step, how in steps.items()}
    return {"what": "time", "pattern": name, "processes": processes, "seconds": seconds}


def quick() -> Report:
    """Map 1024 processes on 128 scattered nodes."""
    report = Report("PTRAM on its fat tree, 1024 processes, 4096 in the paper: ratios to tasks in order")
    for name in patterns(64):
        rows = quality_of(name, 1, 1024, ("PTRAM raw", "PTRAM", "ours"))["rows"]
        for step in ("initPart listed", "PTRAM raw", "PTRAM", "ours"):
            figure = "Fig. 6" if step.startswith("initPart") else "Fig. 5"
            ratios = {
                short: rows[step][metric] / rows["DEF listed"][metric]
                for short, metric in zip(ptram_table.SHORT, ptram_table.METRICS, strict=True)
            }
            paper = INITIAL.get(name, "") if figure == "Fig. 6" else f"MC {ptram_table.PUBLISHED[name]}"
            ours = ", ".join(f"{short} {ratio:.2f}" for short, ratio in ratios.items())
            report.row(figure, f"{name}, {step}", paper, ours)
            if "cpu" in rows[step]:
                report.row("Fig. 8", f"{name}, {step}: seconds", SECONDS[name], f"{rows[step]['cpu']:.2f}")
    report.missing("Fig. 1, 2", "an example in pictures; tests/papers/test_routing_awareness.py has its like")
    report.missing("Fig. 7", "times on the cluster GPC; python -m bench.papers.paper_times ptram simulates")
    report.missing("Fig. 9", "Gadget-3 is not published: other recorded programs in paper_times")
    report.missing("LibTopoMap", "hopbytes_laboratory has its greedy and RCM mappers")
    return report


#: MC after the initial partition, and seconds of PTRAM with 4096 processes, as the text of the paper says.
INITIAL = {"2-D 5-point": "MC about 0.45", "3-D 15-point": "MC about 0.71", "all-to-all": "MC about 1"}
SECONDS = {"2-D 5-point": "2.3 (4096)", "3-D 15-point": "5 (4096)", "all-to-all": "38 (4096)"}


def key(row: dict[str, Any]) -> tuple[Any, ...]:
    """What a case is known by."""
    return row["what"], row["pattern"], row.get("draw", row.get("processes"))


def waiting(
    experiment: str, draws: int, repeats: int, known: set[tuple[Any, ...]]
) -> Iterator[tuple[Any, ...]]:
    """Yield what is to be run: a function and its arguments."""
    for name in ("2-D 5-point", "3-D 15-point", "all-to-all"):
        if experiment == "quality":
            yield from ((quality_of, name, draw) for draw in range(draws + 1)
                        if ("quality", name, draw) not in known)
        else:
            yield from ((times_of, name, count, repeats) for count in (1024, 2048, 4096)
                        if ("time", name, count) not in known)


def main(words: list[str] | None = None) -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("experiment", choices=("quality", "time", "table"), nargs="?", default="table")
    parser.add_argument("--quick", action="store_true", help="1024 processes in a minute, beside the paper")
    parser.add_argument("--draws", type=int, default=4, help="scattered allocations beside the first nodes")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path("ptram.jsonl"))
    asked = parser.parse_args(words)
    if asked.quick:
        print(quick().text())
        return
    rows = ptram_table.rows_of(asked.out)
    if asked.experiment != "table":
        left = list(waiting(asked.experiment, asked.draws, asked.repeats, {key(row) for row in rows}))
        with ProcessPoolExecutor(asked.jobs) as pool, asked.out.open("a") as file:
            for job in as_completed([pool.submit(*each) for each in left]):
                file.write(json.dumps(job.result()) + "\n")
                file.flush()
        rows = ptram_table.rows_of(asked.out)
    print(ptram_table.table(rows))
    ptram_table.draw(rows, asked.out)


if __name__ == "__main__":
    main()
