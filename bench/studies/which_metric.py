"""Which metric of a mapping predicts its simulated time? The regression of Deveci et al. over many mappings.

    python -m bench.studies.which_metric --rows rows.jsonl --mappings 200    # goes on where it ended
    python -m bench.studies.which_metric --rows rows.jsonl --table           # tables of what is there
    python -m bench.studies.which_metric --objectives                        # what each objective gains

Every row is one mapping of one pattern on one machine: the 14 metrics and the simulated seconds of a round
(grade flows). Mappings are random ones, and orders and preset fast with 0 to 64 random exchanges. Metrics are
z-scored and times divided by their mean inside each pair of pattern and machine; coefficients are >= 0.
8000 rows take about 20 minutes. The real fabric and two recorded patterns need the developers' samples.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

import hopbytes as hb
from bench.instances.graphs import shared_folder
from hopbytes.cost.metrics.mapping_metrics import measure_all
from hopbytes.machines.allocate.launcher_order import launcher_placement
from hopbytes_laboratory.regression import SYMBOLS, explain_times, metric_columns

_GRAPHS = shared_folder()
SHARED = _GRAPHS.parent if _GRAPHS else Path("no-shared-folder")
CORES = "core:4:bw=1e10:lat=3e-7"
INSIDE = f"lat=1e-7:bw=12500000000 / {CORES}"
#: 16 nodes each. The tree has one link between each pair of switches; the fabric is a cluster in Bordeaux.
MACHINES = {
    "torus": f"torus:4x2x2:{INSIDE}",
    "tree 4:1": f"fattree:4x4:up=1x1:{INSIDE}",
    "fat tree 1:1": f"fattree:4x4:up=1x4:{INSIDE}",
    "dragonfly": f"dragonfly:4x2x2:{INSIDE}",
    "real fabric": f"ib:{SHARED}/samples/infiniband/avakas / {CORES}",
}
HOSTS = {"real fabric": "node[001-004],node[060-063],node[120-123],node[200-203]"}
RECORDED = f"{SHARED}/samples/mpip_commatrix"
PATTERNS = {
    "stencil 7": "stencil:4x4x4", "stencil 27": "stencil:4x4x4:points=27:periodic=xyz",
    "alltoall": "alltoall:tasks=64:groups=8", "butterfly": "butterfly:64",
    "hierarchical": "hierarchical:4x4x4", "training": "ml:tp=4,pp=4,dp=4",
    "LULESH": f"{RECORDED}/lulesh_64.mpiP.gz", "NPB MG": f"{RECORDED}/npb_mg_C_64.mpiP.gz",
}  # fmt: skip
#: Correlations below this are listed as failures.
FAILS = 0.9
MOST_EXCHANGES = 64
OBJECTIVES = ("comm_cost", "hop_bytes", "hops", "max_congestion", "max_messages", "hybrid")


def mapping_number(number: int, graph: hb.CommGraph, where: hb.Allocation) -> hb.Mapping:
    """Return one of the mappings of the study: random, or a base with some random exchanges."""
    rng = np.random.default_rng(number)
    if number % 4 == 0:
        return hb.map_tasks(graph, where, "random", seed=number)
    if number % 4 == 1:
        base = launcher_placement(where, graph.n, "fill").pe.copy()
    elif number % 4 == 2:
        base = launcher_placement(where, graph.n, "cyclic").pe.copy()
    else:
        base = hb.map_tasks(graph, where, "fast", seed=number).pe.copy()
    for _ in range(int(MOST_EXCHANGES ** rng.random()) - 1):
        a, b = rng.choice(graph.n, 2, replace=False)
        base[[a, b]] = base[[b, a]]
    return hb.Mapping(base, where)


def there(source: str) -> bool:
    """Tell whether a machine or pattern needs no file, or its file is there."""
    path = source.partition(" / ")[0].removeprefix("ib:")
    return not path.startswith(str(SHARED)) or Path(path).exists()


def machine_named(name: str) -> hb.Allocation:
    """Return one of the machines."""
    return hb.allocate(MACHINES[name], hosts=HOSTS.get(name))


def simulate_rows(path: Path, mappings: int) -> None:
    """Append the rows that are missing; mapping after mapping, so that all cases have equally many."""
    done = {(row["machine"], row["pattern"], row["number"]) for row in read_rows(path)}
    machines = {name: machine_named(name) for name in MACHINES if there(MACHINES[name])}
    graphs = {name: hb.read(source) for name, source in PATTERNS.items() if there(source)}
    for number in range(mappings):
        for machine, where in machines.items():
            for pattern, graph in graphs.items():
                if (machine, pattern, number) in done:
                    continue
                mapping = mapping_number(number, graph, where)
                metrics = metric_columns([measure_all(graph, where, mapping.pe)])
                found = hb.simulate(graph, mapping, grade="flows", iterations=1)
                row = {
                    "machine": machine, "pattern": pattern, "number": number, "seconds": found.seconds,
                    "bound": max(found.parts.values()),
                    **{name: values[0] for name, values in metrics.items()},
                }  # fmt: skip
                with path.open("a") as stream:
                    stream.write(json.dumps(row) + "\n")


def read_rows(path: Path) -> list[dict[str, Any]]:
    """Return the rows of a file; none if it does not exist."""
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def table(rows: Sequence[dict[str, Any]]) -> str:
    """Return the fit of every machine, and Pearson's coefficient of times and each metric alone.

    The second table has the mean and the least coefficient of the patterns of a machine.
    """
    names = [*SYMBOLS, "bound"]
    lines = ["| machine | runs | explained | coefficients | not separable |", "|---|---|---|---|---|"]
    for machine in [*MACHINES, "all"]:
        held = [row for row in rows if machine in ("all", row["machine"])]
        if len(held) < 2:
            continue
        columns = {name: [row[name] for row in held] for name in SYMBOLS}
        groups = [(row["machine"], row["pattern"]) for row in held]
        fit = explain_times(columns, [row["seconds"] for row in held], groups)
        used = ", ".join(f"{name} {value:.3f}" for name, value in fit.coefficients.items() if value >= 0.005)
        pairs = ", ".join(f"{a}-{b}" for a, b in fit.interchangeable)
        lines.append(f"| {machine} | {len(held)} | {fit.explained:.0%} | {used} | {pairs} |")
    lines += ["", f"| machine | {' | '.join(names)} |", f"|---|{'---|' * len(names)}"]
    for machine in MACHINES:
        cells = []
        for name in names:
            here = [row for row in rows if row["machine"] == machine]
            found = [_pearson(here, name, pattern) for pattern in PATTERNS]
            known = [value for value in found if value is not None]
            cells.append(f"{np.mean(known):.2f} ({min(known):.2f})" if known else "-")
        lines.append(f"| {machine} | {' | '.join(cells)} |")
    return "\n".join([*lines, "", *failures(rows)])


def failures(rows: Sequence[dict[str, Any]]) -> list[str]:
    """Return the cases in which the busiest link correlates with the time less than `FAILS`, worst first.

    Beside them what correlates best there, and how much the times of all mappings differ.
    """
    cases = []
    for machine in MACHINES:
        for pattern in PATTERNS:
            here = [row for row in rows if (row["machine"], row["pattern"]) == (machine, pattern)]
            found = {name: _pearson(here, name, pattern) for name in SYMBOLS}
            value = found["MC"]
            if value is None or value >= FAILS:
                continue
            best = max((each, name) for name, each in found.items() if each is not None)
            times = [row["seconds"] for row in here]
            cases.append((value, machine, pattern, best, float(np.std(times) / np.mean(times))))
    lines = [f"| machine | pattern, {len(cases)} cases | MC | best | standard deviation of times |"]
    lines.append("|---|---|---|---|---|")
    for value, machine, pattern, (most, name), varied in sorted(cases):
        lines.append(f"| {machine} | {pattern} | {value:.2f} | {name} {most:.2f} | {varied:.0%} |")
    return lines


def objectives() -> str:
    """Return simulated times of preset eco by objective: geometric means over the patterns, in order = 1."""
    lines = [f"| machine | {' | '.join(OBJECTIVES)} |", f"|---|{'---|' * len(OBJECTIVES)}"]
    for machine in filter(lambda name: there(MACHINES[name]), MACHINES):
        where = machine_named(machine)
        shares: dict[str, list[float]] = {name: [] for name in OBJECTIVES}
        for source in filter(there, PATTERNS.values()):
            graph = hb.read(source)
            filled = launcher_placement(where, graph.n, "fill")
            usual = hb.simulate(graph, filled, grade="flows", iterations=1)
            for name in OBJECTIVES:
                mapping = hb.map_tasks(graph, where, "eco", objective=name)
                found = hb.simulate(graph, mapping, grade="flows", iterations=1)
                shares[name].append(found.seconds / usual.seconds)
        means = [f"{np.exp(np.mean(np.log(each))):.3f} (worst {max(each):.2f})" for each in shares.values()]
        lines.append(f"| {machine} | {' | '.join(means)} |")
    return "\n".join(lines)


def _pearson(rows: Sequence[dict[str, Any]], name: str, pattern: str) -> float | None:
    """Return the correlation of a metric with the times of a pattern; None where one of them is constant."""
    held = [row for row in rows if row["pattern"] == pattern]
    values, times = (np.array([row[key] for row in held], float) for key in (name, "seconds"))
    if len(held) < 3 or values.std() <= 1e-12 * np.abs(values).max() or not times.std():
        return None
    return float(np.corrcoef(values, times)[0, 1])


def main() -> None:
    """Simulate, or print the tables."""
    plain = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=plain)
    parser.add_argument("--rows", type=Path, default=Path("rows.jsonl"))
    parser.add_argument("--objectives", action="store_true", help="times of preset eco by objective instead")
    parser.add_argument("--mappings", type=int, default=200)
    parser.add_argument("--table", action="store_true")
    given = parser.parse_args()
    if given.objectives:
        print(objectives())
        return
    if not given.table:
        simulate_rows(given.rows, given.mappings)
    print(table(read_rows(given.rows)))


if __name__ == "__main__":
    main()
