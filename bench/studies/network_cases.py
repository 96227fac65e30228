"""Presets beside simpler tools on sixty networks: ``python -m bench.studies.network_cases --out FILE.jsonl``.

Every case of ``network_case_list.py`` is mapped by what a user could have instead: the launcher's order with
nodes filled and with tasks spread evenly, UMPA's greedy mapping with exchanges for hops and for congestion,
PTRAM, Scotch (Debian's ``scotch_gmap``, groups of tasks onto nodes by the hops between them); and by the
presets, once asked for hop-bytes (WH) and once for the highest congestion (MC). One JSON line per run,
started again it goes on where it was. Then two tables, one per objective: geometric means over the spread
order, on how many cases a contender is best, and every case on which a preset is behind a rival or behind a
preset that promises less. Quality only: run it niced, in one process, at any time.
"""

from __future__ import annotations

import argparse
import fnmatch
import json
import math
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import hopbytes as hb
import hopbytes_laboratory
from bench.instances.graphs import shared_folder
from bench.instances.network_case_list import Case, cases, describe
from bench.rivals import scotch_gmap
from hopbytes.errors import HopbytesError

OBJECTIVES = {"hop_bytes": "WH", "max_congestion": "MC"}
#: What it costs nothing to have, whatever is asked for.
RIVALS: dict[str, str | list[str]] = {
    "in-order, spread": "identity", "in-order, filled": "identity", "ug+uwh": ["ug", "uwh"],
    "ug+umc": ["ug", "umc"], "ptram": ["ptram", "ptram"], "scotch": "",
}
#: From the least that is promised to the most; `routed` stands beside `best`.
LADDER = ("fast", "eco", "strong", "best")
PRESETS = (*LADDER, "routed")
#: Arcs that `best` may look at: more than `strong` needs on any of the cases.
WORK = 1_000_000_000

Row = dict[str, Any]


def mapped(case: Case, graph: hb.CommGraph, where: hb.Allocation, name: str, objective: str) -> hb.Mapping:
    """Map one case with one contender."""
    if name == "scotch":
        return scotch_gmap.on_nodes(graph, where)[0]
    if name in RIVALS:
        filled = name.endswith("filled") and graph.n < where.k
        used = hb.allocate(where, pack=True) if filled else where
        return hb.map_tasks(graph, used, RIVALS[name], partition=False, threads=1, seed=1)
    limits = hb.Limits(work=WORK if name == "best" else None)
    return hb.map_tasks(
        graph, where, name, objective=objective, partition=False, limits=limits, threads=1, seed=1
    )


def run(case: Case, graph: hb.CommGraph, where: hb.Allocation, name: str, objective: str) -> Row:
    """Map and measure once; an error is a result too."""
    row: Row = {"case": case.key, "contender": name, "objective": objective, "version": hb.__version__}
    began = time.process_time()
    try:
        mapping = mapped(case, graph, where, name, objective)
    except (HopbytesError, scotch_gmap.AbsentError, RuntimeError, ValueError) as error:
        return row | {"error": str(error)[:200]}
    row["cpu_seconds"] = round(time.process_time() - began, 3)
    facts = hb.evaluate(graph, mapping, baselines=False).to_dict()
    return row | {metric: facts[metric] for metric in OBJECTIVES}


def of_objective(rows: Iterable[Row], objective: str) -> dict[str, dict[str, float]]:
    """Value by case and contender; rivals count for every objective, presets for the one they were asked."""
    found: dict[str, dict[str, float]] = {}
    for row in rows:
        if "error" not in row and row["objective"] in ("", objective):
            found.setdefault(row["case"], {})[row["contender"]] = row[objective]
    return found


def behind(values: dict[str, float], contender: str) -> list[tuple[str, float]]:
    """Return whom a preset is behind, and by what factor.

    No preset should be behind a rival or behind a preset of less effort; the latter is promised.
    """
    own = values.get(contender)
    if own is None:
        return []
    lower = LADDER[: 3 if contender == "routed" else LADDER.index(contender)]
    others = [name for name in (*RIVALS, *lower) if name in values]
    lost = [(name, values[name]) for name in others if own > values[name] * (1 + 1e-12)]
    return [(name, own / value if value else math.inf) for name, value in lost]


def table(rows: list[Row], objective: str) -> str:
    """Return geometric means over the spread order and the cases on which presets are behind."""
    found = of_objective(rows, objective)
    symbol = OBJECTIVES[objective]
    head = f"{'contender':18}{'cases':>6}{'mean':>8}{'worst':>8}{'best on':>9}"
    lines = [f"{symbol}: {len(found)} cases", head]
    for name in (*RIVALS, *PRESETS):
        own = {case: values[name] for case, values in found.items() if name in values}
        ratios = [
            own[case] / found[case]["in-order, spread"] for case in own
            if own[case] and found[case].get("in-order, spread")
        ]
        if ratios:
            mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
            wins = sum(own[case] <= min(found[case].values()) for case in own)
            lines.append(f"{name:18}{len(own):6}{mean:8.3f}{max(ratios):8.3f}{wins:9}")
    for name in PRESETS:
        lost = {case: behind(values, name) for case, values in found.items()}
        lost = {case: whom for case, whom in lost.items() if whom}
        lines.append(f"{name}: behind on {len(lost)} cases")
        for case, whom in lost.items():
            lines.append(f"  {case}: " + ", ".join(f"{other} x {factor:.3f}" for other, factor in whom))
    return "\n".join(lines)


def main() -> None:
    hopbytes_laboratory.register()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("bench/results/network_cases.jsonl"))
    parser.add_argument("--case", default="*", help="pattern for machine | hosts | pattern")
    parser.add_argument("--contender", default="*")
    parser.add_argument("--objective", default="*")
    parser.add_argument("--list", action="store_true", help="print the cases and end")
    options = parser.parse_args()
    shared = shared_folder()
    samples = None if shared is None else shared.parent / "samples"
    chosen = [case for case in cases(samples) if fnmatch.fnmatchcase(case.key, options.case)]
    if options.list:
        for case in chosen:
            print(f"{case.key}: {describe(case, *case.read(samples))}")
        return
    options.out.parent.mkdir(parents=True, exist_ok=True)
    rows = [json.loads(line) for line in options.out.open()] if options.out.exists() else []
    done = {(row["case"], row["contender"], row["objective"]) for row in rows}
    jobs = [(name, "") for name in RIVALS] + [(name, goal) for name in PRESETS for goal in OBJECTIVES]
    with options.out.open("a") as file:
        for case in chosen:
            missing = [
                (name, goal) for name, goal in jobs
                if (case.key, name, goal) not in done and fnmatch.fnmatchcase(name, options.contender)
                and (not goal or fnmatch.fnmatchcase(goal, options.objective))
            ]
            graph, where = case.read(samples) if missing else (None, None)
            for name, goal in missing:
                row = run(case, graph, where, name, goal)
                rows.append(row)
                print(json.dumps(row), file=file, flush=True)
    kept = {case.key for case in chosen}
    for objective in OBJECTIVES:
        print(table([row for row in rows if row["case"] in kept], objective), end="\n\n")


if __name__ == "__main__":
    main()
