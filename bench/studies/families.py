"""Many families of graphs on many machines, drawn anew every run: where does a preset fall behind?

    python -m bench.studies.families --out bench/results/families.jsonl --cases 44
    python -m bench.studies.families --out bench/results/families.jsonl --table
    python -m bench.studies.families --out new.jsonl --tools hopbytes:eco --decades 9 --seed 7 # and old.jsonl
    python -m bench.studies.families --out new.jsonl --against old.jsonl

The last line sets two installs, or two commits, beside each other on the same cases. Cases are those of
bench/instances/family_graphs.py; their seed is drawn unless given, and printed. Every run is a process of its
own with one thread; CPU seconds count mapping alone. With the seed given again it skips what has a row.
SharedMap is left out where volumes together pass its 32 bits.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import resource
import secrets
import time
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bench.evaluate import evaluate
from bench.instances.family_graphs import FAMILIES, case_of
from bench.instances.graphs import Arrays
from bench.rivals.needed import missing

PRESETS = ("fast", "eco", "strong")
RIVAL = "sharedmap:strong"
Row = dict[str, Any]


def numbers(text: str) -> list[int]:
    """Parse ``4:8:2``."""
    return [int(part) for part in text.split(":")]


def ours(preset: str, graph: Arrays, facts: Row) -> tuple[Any, float, str]:
    """Return the placement, CPU seconds, and what it says of the bound."""
    import hopbytes as hb

    targets = graph.targets.astype(np.int32)
    whole = hb.CommGraph(graph.indptr, targets, graph.volumes, loads=graph.loads)
    where = hb.allocate(hierarchy=facts["hierarchy"], distance=facts["distance"])
    begin = time.process_time()
    mapping = hb.map_tasks(
        whole, where, preset, seed=facts["tool_seed"], threads=1, partition=True,
        imbalance=facts["imbalance"]
    )
    return np.asarray(mapping.pe), time.process_time() - begin, str(mapping.info["balance"])


def sharedmap(mode: str, graph: Arrays, facts: Row) -> tuple[Any, float, str]:
    """Return the same of SharedMap, which says nothing of the bound."""
    from chszlablib import Decomposition, Graph

    volumes = np.ones(len(graph.targets), np.int64) if graph.volumes is None else graph.volumes
    whole = Graph.from_csr(graph.indptr, graph.targets, node_weights=graph.task_loads(), edge_weights=volumes)
    begin = time.process_time()
    found = Decomposition.process_map(
        whole, numbers(facts["hierarchy"]), numbers(facts["distance"]), mode=mode,
        imbalance=facts["imbalance"], threads=1, seed=facts["tool_seed"],
    )
    return np.asarray(found.assignment, np.int64), time.process_time() - begin, ""


TOOLS = {"hopbytes": ours, "sharedmap": sharedmap}


def child(pipe: Any, tool: str, graph: Arrays, facts: Row) -> None:
    """Map, judge and report; rivals that print do so into nothing."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    try:
        name, _, mode = tool.partition(":")
        pe, seconds, said = TOOLS[name](mode, graph, facts)
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
        hierarchy, distance = numbers(facts["hierarchy"]), numbers(facts["distance"])
        judged = evaluate(graph, pe, hierarchy, distance, facts["imbalance"])
        row = {
            "cpu": round(seconds, 4), "said": said, "J": judged["comm_cost"], "over": judged["over_bound"],
            "levels": judged["level_volumes"], "mb": memory / 1024,
        }
    except Exception as error:  # whatever a tool does, the others go on
        row = {"error": f"{type(error).__name__}: {error}"[:300]}
    pipe.send(row)


def run(tool: str, graph: Arrays, facts: Row, timeout: float) -> Row:
    """One run in a process of its own."""
    near, far = multiprocessing.Pipe(duplex=False)
    process = multiprocessing.get_context("fork").Process(target=child, args=(far, tool, graph, facts))
    process.start()
    far.close()
    try:
        row = near.recv() if near.poll(timeout) else {"error": f"timed out after {timeout:.0f} s"}
    except EOFError:
        row = {}
    if "timed out" in row.get("error", ""):
        process.kill()
    process.join()
    return {**facts, "tool": tool, **(row or {"error": f"died, exit code {process.exitcode}"})}


def rows_of(path: Path) -> list[Row]:
    """Return the rows there are."""
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def mean(ratios: Sequence[float]) -> str:
    """Geometric mean and how many."""
    return f"{np.exp(np.mean(np.log(ratios))):.3f} ({len(ratios)})" if ratios else "-"


def table(rows: list[Row]) -> None:
    """Print ratios by family, then every case that is out of line."""
    cases: dict[tuple[int, int, str], dict[str, Row]] = defaultdict(dict)
    for row in rows:
        cases[row["seed"], row["case"], row["hash"]][row["tool"]] = row
    ratios: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    odd = []
    pace = {
        preset: float(np.median([
            row["cpu"] / max(1, row["arcs"]) for row in rows
            if row["tool"] == f"hopbytes:{preset}" and "cpu" in row
        ] or [np.inf]))
        for preset in PRESETS
    }  # fmt: skip
    for found in cases.values():
        first = next(iter(found.values()))
        name = f"{first['family']}{first['label']} n={first['n']} {first['hierarchy']} {first['distance']} "
        name += f"eps={first['imbalance']} (seed {first['seed']}, case {first['case']})"
        cost = {tool: max(1, row["J"]) for tool, row in found.items() if "J" in row and not row["over"]}
        for tool, row in found.items():
            if tool.startswith("hopbytes") and ("error" in row or row["over"] or row["said"] != "met"):
                odd.append(f"{name} {tool}: {row.get('error') or row['said']}")
            pace_here = row.get("cpu", 0) / max(1, row["arcs"])
            if tool.startswith("hopbytes") and pace_here > 5 * pace[tool.partition(":")[2]]:
                odd.append(f"{name} {tool}: {1e6 * pace_here:.0f} us per arc")
        pairs = [(f"hopbytes:{p}", RIVAL, most) for p, most in zip(PRESETS, (1.06, 1.02, 1.01), strict=True)]
        pairs += [("hopbytes:strong", "hopbytes:eco", 1.01), ("hopbytes:eco", "hopbytes:fast", 1.01)]
        for own, other, most in pairs:
            if own not in cost or other not in cost:
                continue
            ratio = cost[own] / cost[other]
            for group in (first["family"], "all"):
                ratios[group][f"{own} / {other}"].append(ratio)
            if ratio > most:
                odd.append(f"{name} {own}: {ratio:.3f} of {other}")
    columns = list(ratios["all"])
    print(f"| family | {' | '.join(columns)} |".replace("hopbytes:", ""))
    print("|" + "---|" * (len(columns) + 1))
    for family in (*FAMILIES, "all"):
        if family in ratios:
            print(f"| {family} | " + " | ".join(mean(ratios[family][each]) for each in columns) + " |")
    over = sum(bool(row.get("over")) for row in rows if row["tool"] == RIVAL)
    print(f"\n{RIVAL}: {over} over the bound rounded up. Out of line:", *sorted(odd), sep="\n")


def against(rows: list[Row], others: list[Row]) -> None:
    """Print J and CPU seconds over those of other rows: same case, same tool, both within the bound."""
    before = {(row["seed"], row["case"], row["hash"], row["tool"]): row for row in others}
    ratios: dict[tuple[str, str], list[tuple[float, float]]] = defaultdict(list)
    apart = 0
    for row in rows:
        old = before.get((row["seed"], row["case"], row["hash"], row["tool"]))
        if old is None:
            continue
        if any("J" not in each or each["over"] for each in (row, old)):
            apart += 1
            continue
        cost, cpu = (max(1, row["J"]) / max(1, old["J"]), max(0.001, row["cpu"]) / max(0.001, old["cpu"]))
        for group in (row["family"], "all"):
            ratios[group, row["tool"]].append((cost, cpu))
    tools = sorted({tool for _, tool in ratios})
    print("| family |" + "".join(f" {tool}: J | CPU |" for tool in tools))
    print("|" + "---|" * (1 + 2 * len(tools)))
    for family in (*FAMILIES, "all"):
        found = [list(zip(*ratios[family, tool], strict=True)) or [(), ()] for tool in tools]
        if any(cost for cost, _ in found):
            print(f"| {family} |" + "".join(f" {mean(cost)} | {mean(cpu)} |" for cost, cpu in found))
    print(f"\nGeometric means, in brackets how many; without {apart} that failed or are over the bound.")


def startable(tool: str) -> bool:
    """Whether a tool can be run; says in one line what it needs where not."""
    said = missing("chszlablib") if tool.startswith("sharedmap") else None
    if said:
        print(f"{tool} is left out: {said}", flush=True)
    return said is None


def main() -> None:
    """Run what has no row yet, or show a table."""
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("--out", type=Path, required=True, help="results file; rows are appended")
    parser.add_argument("--table", action="store_true", help="show it, run nothing")
    parser.add_argument("--against", type=Path, help="show ratios to the rows of this file, run nothing")
    parser.add_argument("--seed", type=int, help="of the cases; drawn unless given")
    parser.add_argument("--cases", type=int, default=44, help="how many; every 22 meet each family once")
    parser.add_argument("--tasks", type=int, nargs=2, default=[2000, 60000], metavar=("FEWEST", "MOST"))
    parser.add_argument("--decades", type=float, help="volumes of all cases are 10**uniform(0, decades)")
    parser.add_argument("--tools", default=",".join([*(f"hopbytes:{each}" for each in PRESETS), RIVAL]))
    parser.add_argument("--timeout", type=float, default=120, help="seconds of a run")
    parser.add_argument("--largest", type=int, default=1 << 40, help="arcs of the largest case that is run")
    options = parser.parse_args()
    rows = rows_of(options.out)
    if options.table:
        return table(rows)
    if options.against:
        return against(rows, rows_of(options.against))
    tools = [each for each in options.tools.split(",") if startable(each)]
    seed = secrets.randbelow(1 << 31) if options.seed is None else options.seed
    print(f"seed {seed}", flush=True)
    done = {(row["seed"], row["case"], row["tool"], row["hash"]) for row in rows}
    options.out.parent.mkdir(parents=True, exist_ok=True)
    with open(options.out, "a") as file:
        for number in range(options.cases):
            facts, graph = case_of(seed, number, tuple(options.tasks), options.decades)
            total = 0 if graph.volumes is None else int(graph.volumes.sum())
            for tool in tools if facts["arcs"] <= options.largest else ():
                known = (seed, number, tool, facts["hash"]) in done
                if known or (tool.startswith("sharedmap") and total >= 1 << 31):
                    continue
                row = run(tool, graph, facts, options.timeout)
                file.write(json.dumps(row) + "\n")
                file.flush()
                said = row.get("error") or f"J {row['J']}, {row['cpu']} CPU s{', OVER' * row['over']}"
                print(f"{number} {facts['family']}{facts['label']} n={facts['n']} {tool}: {said}", flush=True)


if __name__ == "__main__":
    main()
