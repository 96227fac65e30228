"""The experiments of Schulz and Woydt, SharedMap (2025): Fig. 2 to 6 as tables and pictures.

    python -m bench.papers.paper001 --out bench/results/paper001.jsonl --plots bench/results [--figures 2,3]

Fig. 2  multisection under nb_layer with SharedMap's own configurations, one thread and several
Fig. 3  the four schedules: seconds with 1 and 2 workers, counted length for 80 threads
Fig. 4  nb_layer: speed-up over one thread, measured for 2, counted for 16, 64 and 80, and critical path
Fig. 5  with 2 threads: SharedMap, Mt-KaHyPar's Steiner-tree mapping, ours
Fig. 6  with 1 thread: SharedMap, its configurations inside our multisection, ours

Prints tables, draws performance profiles and speed-ups. Every mapping is judged by bench/evaluate.py. What is
counted are arcs looked at, which repeats exactly (bench/papers/schedules.py): the machine at hand has no 80
threads. Where the paper separates graphs by a million vertices, --large does. Of KaHIP's own mappers
bench/run.py runs global multisection; KaFFPa-Map, integrated mapping and ParHIPMap are not run. Interrupt it
whenever you like; rows of the same code are not run again. ``--quick`` runs all of it on one small graph and
prints the paper's numbers beside ours. SharedMap's bound, which is rounded up, holds for its configurations
inside our multisection as well.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import hopbytes as hb
from bench import pictures, run
from bench.instances.graphs import Prepared, prepare
from bench.instances.suites import SUITES
from bench.papers import schedules
from bench.papers.quick import Report
from bench.rivals.needed import missing, need
from bench.rivals.tools import TOOLS, Hopbytes, Task, code_digest
from hopbytes.algorithms.multisection.scheduling import SCHEDULES

#: Serial and parallel partitioner of the paper's configurations.
CONFIGURATIONS = {
    "fast": ("kahip:fast", "mtkahypar:default"),
    "eco": ("kahip:eco", "mtkahypar:quality"),
    "strong": ("kahip:strong", "mtkahypar:highest_quality"),
}
Row = dict[str, Any]


class Reproduced(Hopbytes):
    """Our multisection with the partitioners, the schedule and the shares of slack of SharedMap."""

    def command(self, task: Task, out: Path) -> list[str]:
        """As a user types it."""
        serial, parallel = CONFIGURATIONS[task.preset]
        method = f"multisection:repetitions=0,slack=even,schedule=nb_layer,partitioner={serial}"
        command = super().command(task, out)
        at = command.index("--preset")
        command[at : at + 2] = ["--bound", "ceil", "--mapper", f"{method},parallel_partitioner={parallel}"]
        return command


@dataclass(frozen=True)
class Contender:
    """A tool, its preset and threads: one line of a figure."""

    tool: str
    preset: str
    threads: int

    @property
    def name(self) -> str:
        """As in the tables."""
        return f"{self.tool}:{self.preset}-{self.threads}"


def contenders(tool: str, presets: Sequence[str], threads: Sequence[int]) -> list[Contender]:
    """All combinations."""
    return [Contender(tool, preset, count) for count in threads for preset in presets]


ALL = ("fast", "eco", "strong")
#: Lines of a figure; seconds are compared with those of the last one.
FIGURES: dict[int, list[Contender]] = {
    2: [*contenders("reproduced", ALL, (2,)), *contenders("reproduced", ALL, (1,))],
    5: [
        *contenders("steiner", ("default", "quality"), (2,)), *contenders("hopbytes", ALL, (2,)),
        *contenders("sharedmap", ("fast", "strong"), (2,)),
    ],
    6: [
        *contenders("reproduced", ("fast", "strong"), (1,)), *contenders("hopbytes", ALL, (1,)),
        *contenders("sharedmap", ("fast", "strong"), (1,)),
    ],
}  # fmt: skip
#: What the tools of the figures cannot do without.
NEEDS = {"reproduced": ("kahip", "mtkahypar"), "steiner": ("mtkahypar",), "sharedmap": ("chszlablib",)}


def mapped(options: argparse.Namespace, wanted: list[Contender], path: Path) -> list[Row]:
    """Run what has no row yet; return all rows."""
    TOOLS["reproduced"] = Reproduced()
    for seed in run.SEEDS[: options.seeds]:
        for one in dict.fromkeys(wanted):
            run.main([
                "--suite", options.suite, "--instances", options.instances, "--hierarchy", options.hierarchy,
                "--tools", one.tool, "--presets", one.preset, "--threads", str(one.threads),
                "--seeds", f"{seed},", "--out", str(path), "--timeout", "3600",
            ])  # fmt: skip
    rows = [row for row in run.read_rows(path) if row["hierarchy"] == options.hierarchy]
    latest = {row["tool"]: row["versions"] for row in rows}  # of several versions the last one
    return [row for row in rows if row["versions"] == latest[row["tool"]]]


def averaged(rows: list[Row], wanted: list[Contender]) -> dict[str, dict[str, tuple[float, float]]]:
    """J and seconds by contender and instance, means over seeds; only instances that all of them solved."""
    found: dict[str, dict[str, tuple[float, float]]] = {}
    for one in wanted:
        of: dict[str, list[Row]] = {}
        for row in rows:
            who = Contender(row["tool"], row["preset"], row["threads"])
            if who == one and not row["error"]:
                of.setdefault(row["instance"], []).append(row)
        found[one.name] = {
            name: (mean(row["comm_cost"] for row in each), mean(row["inner_seconds"] for row in each))
            for name, each in of.items()
        }
    common = set.intersection(*(set(each) for each in found.values()))
    return {who: {name: each[name] for name in sorted(common)} for who, each in found.items()}


def quality_table(number: int, found: dict[str, dict[str, tuple[float, float]]]) -> dict[str, Any]:
    """Print a figure's profile and speed-ups as a table; return what is drawn."""
    count = len(next(iter(found.values())))
    base = list(found)[-1]
    print(f"\nFig. {number}: {count} instances, seconds of mapping beside {base}\n")
    if not count:
        return {}
    costs = np.array([[cost for cost, _ in each.values()] for each in found.values()])
    seconds = np.array([[time for _, time in each.values()] for each in found.values()])
    ratio, speed = costs / costs.min(axis=0), seconds[-1] / seconds
    print("| | best on | within 1 % | within 5 % | within 10 % | J / best | speed-up, mean | least | most |")
    print("|---|---|---|---|---|---|---|---|---|")
    for who, each, fast in zip(found, ratio, speed, strict=True):
        shares = " | ".join(f"{np.mean(each <= limit):.0%}" for limit in (1.0, 1.01, 1.05, 1.1))
        speeds = f"{geometric(fast):.2f} | {fast.min():.2f} | {fast.max():.2f}"
        print(f"| `{who}` | {shares} | {geometric(each):.3f} | {speeds} |")
    return {"names": list(found), "ratio": ratio, "speed": speed}


def traced(options: argparse.Namespace, path: Path) -> list[Row]:
    """Schedules measured and counted: one row per instance (run what has none), of the installed code."""
    code = code_digest("hopbytes")
    facts = {"hierarchy": options.hierarchy, "runs": options.runs, "code": code}
    rows = [row for row in run.read_rows(path) if facts.items() <= row.items()]
    done = {row["instance"] for row in rows}
    where = hb.allocate(hierarchy=options.hierarchy)
    with open(path, "a") as file:
        for prepared in chosen(options):
            if prepared.name in done:
                continue
            graph = hb.read(str(prepared.path))
            base = schedules.traced(graph, where, "naive", 1, options.runs)
            row: Row = {"instance": prepared.name, "n": prepared.n, **facts}
            row["critical_path"] = schedules.critical_path(base, options.runs)
            for name in SCHEDULES:
                seconds = {}
                for workers in (1, 2):
                    trace = schedules.traced(graph, where, name, workers, options.runs)
                    seconds[str(workers)] = max(line["end"] for line in trace)
                lengths = {
                    str(threads): schedules.counted(name, threads, base, options.runs, "tries")
                    for threads in (1, 2, 16, 64, 80)
                }
                row[name] = {"seconds": seconds, "counted": lengths}
            rows.append(row)
            file.write(json.dumps(row) + "\n")
            file.flush()
            print(f"{prepared.name}: schedules", file=sys.stderr, flush=True)
    return rows


def chosen(options: argparse.Namespace) -> list[Prepared]:
    """The instances asked for."""
    names = options.instances.split(",") if options.instances else None
    return [prepare(each) for each in SUITES[options.suite]() if names is None or each.name in names]


def schedule_table(rows: list[Row], large: int) -> dict[str, Any]:
    """Print Fig. 3: speed over layer, and how often each schedule is (also) first."""
    drawn = {}
    for size, belongs in halves(large):
        of = [row for row in rows if belongs(row)]
        print(f"\nFig. 3, {size} ({len(of)} instances): speed over layer, first on\n")
        print(f"| | {' | '.join(SCHEDULES)} |\n|---{'|---' * len(SCHEDULES)}|")
        for label, kind, count in MEASURES:
            if of:
                values = np.array([[row[name][kind][count] for row in of] for name in SCHEDULES])
                speed = values[list(SCHEDULES).index("layer")] / values
                first = np.mean(values <= values.min(axis=0), axis=1)
                cells = (f"{geometric(s):.3f} ({f:.0%})" for s, f in zip(speed, first, strict=True))
                print(f"| {label} | {' | '.join(cells)} |")
                drawn[f"{size}, {label}"] = {"names": list(SCHEDULES), "speed": speed}
    return drawn


MEASURES = (
    ("1 worker, seconds", "seconds", "1"), ("2 workers, seconds", "seconds", "2"),
    ("80 threads, counted", "counted", "80"),
)  # fmt: skip


def scaling_table(rows: list[Row], large: int) -> dict[str, Any]:
    """Print Fig. 4: speed-up of nb_layer over one thread; the critical path is where it ends."""
    drawn = {}
    for size, belongs in halves(large):
        of = [row["nb_layer"] | {"critical_path": row["critical_path"]} for row in rows if belongs(row)]
        print(f"\nFig. 4, {size} ({len(of)} instances): speed-up of nb_layer over one thread\n")
        print("| | mean | most |\n|---|---|---|")
        if not of:
            continue
        speeds = {"2 workers, seconds": [row["seconds"]["1"] / row["seconds"]["2"] for row in of]}
        for threads in ("2", "16", "64", "80"):
            lengths = [row["counted"]["1"] / row["counted"][threads] for row in of]
            speeds[f"{threads} threads, counted"] = lengths
        speeds["critical path, counted"] = [row["counted"]["1"] / row["critical_path"] for row in of]
        for label, values in speeds.items():
            print(f"| {label} | {geometric(np.array(values)):.2f} | {max(values):.2f} |")
        drawn[size] = {"names": list(speeds), "speed": np.array(list(speeds.values()))}
    return drawn


def halves(large: int) -> tuple[tuple[str, Callable[[Row], bool]], ...]:
    """Small and large graphs."""
    return (
        (f"below {large} vertices", lambda row: row["n"] < large),
        (f"{large} vertices and more", lambda row: row["n"] >= large),
    )


def mean(values: Any) -> float:
    """Arithmetic mean."""
    return float(np.mean(list(values)))


def geometric(values: Any) -> float:
    """Geometric mean."""
    return math.exp(float(np.mean(np.log(values))))


#: What the paper says of each line of a figure: share of instances on which it is best, speed.
SAID = {
    (2, "strong-1"): "better than strong-80, up to 60 times slower than fast-1", (2, "fast-1"): "",
    (5, "steiner:quality"): "best on 5 %, 0.96 of the speed", (5, "sharedmap:strong"): "best on 95 %",
    (5, "steiner:default"): "4.5 times as fast", (5, "sharedmap:fast"): "6.4 times as fast",
    (6, "sharedmap:strong"): "best on 60 %",
}


def quick() -> Report:
    """Run all figures on one small graph."""
    report = Report("SharedMap: J over the best of a figure, seconds of mapping, on 4096 points")
    options = argparse.Namespace(
        suite="smoke", instances="del12", hierarchy="4:4:2", seeds=1, runs=4, large=60_000
    )
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(sys.stderr):
        for number, all_of_it in FIGURES.items():
            lacking = {tool: why for tool, each in NEEDS.items() for one in each if (why := missing(one))}
            wanted = [one for one in all_of_it if one.tool not in lacking]
            for tool in sorted({one.tool for one in all_of_it} & lacking.keys()):
                report.missing(f"Fig. {number}, {tool}", lacking[tool])
            rows = mapped(options, wanted, Path(folder) / "rows.jsonl")
            found = {one: list(averaged(rows, [one])[one.name].values()) for one in wanted}
            least = min((values[0][0] for values in found.values() if values), default=1)
            for one, values in found.items():
                keys = ((number, f"{one.preset}-{one.threads}"), (number, f"{one.tool}:{one.preset}"))
                paper = next((SAID[each] for each in keys if each in SAID), "")
                ours = f"{values[0][0] / least:.3f}, {values[0][1]:.2f} s" if values else "failed"
                report.row(f"Fig. {number}", one.name, paper, ours)
        row = traced(options, Path(folder) / "schedules.jsonl")[0]
    for name in SCHEDULES:
        counted = row["layer"]["counted"]["80"] / row[name]["counted"]["80"]
        report.row("Fig. 3", f"{name} over layer, 80 threads counted", LAYER.get(name, ""), f"{counted:.2f}")
    said = {"16": "5.1, at most 9", "64": "4.8, at most 11.9", "80": "4.3, at most 10.8"}
    for threads, paper in said.items():
        speed = row["nb_layer"]["counted"]["1"] / row["nb_layer"]["counted"][threads]
        report.row("Fig. 4", f"nb_layer with {threads} threads, counted", paper, f"{speed:.2f}")
    report.missing("Table 1", "instances that are not published with the paper: --suite foundation has some")
    report.missing("80 threads", "no such machine is at hand: two threads are measured, more are counted")
    report.missing("Fig. 5, ParHIPMap", "its source is no package; ours is hopbytes map --distributed")
    report.missing("Fig. 6, KaFFPa-Map, IM, GM", "programs of KaHIP: bench/run.py runs global_multisection")
    return report


#: Speed over layer on small graphs, as the text of the paper says.
LAYER = {"naive": "never the fastest", "queue": "1.00", "nb_layer": "1.02", "layer": "1"}


def numbers(text: str) -> list[int]:
    """Parse ``2,3``."""
    return [int(part) for part in text.split(",")]


def parse() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, help="rows; schedules in a file beside it")
    parser.add_argument("--quick", action="store_true", help="one small graph, beside the paper")
    parser.add_argument("--plots", type=Path, help="a folder for paper001_figN.png")
    parser.add_argument("--suite", choices=sorted(SUITES), default="foundation")
    parser.add_argument("--instances", default="", help="only these, by name")
    parser.add_argument("--hierarchy", default="4:8:4")
    parser.add_argument("--figures", type=numbers, default=[2, 3, 4, 5, 6])
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--runs", type=int, default=4, help="tries of decisive cuts in Fig. 3 and 4")
    parser.add_argument("--large", type=int, default=60_000, help="vertices from which a graph is large")
    return parser.parse_args()


def main() -> None:
    options = parse()
    if options.quick:
        print(quick().text())
        return
    if options.out is None:
        raise SystemExit("--out or --quick is needed")
    pictures.check(options.plots)
    for one in [one for number in options.figures for one in FIGURES.get(number, [])]:
        need(*NEEDS.get(one.tool, ()))
    options.out.parent.mkdir(parents=True, exist_ok=True)
    wanted = [one for number in options.figures for one in FIGURES.get(number, [])]
    rows = mapped(options, wanted, options.out) if wanted else []
    drawn: dict[int, Any] = {}
    for number in options.figures:
        if number in FIGURES:
            drawn[number] = quality_table(number, averaged(rows, FIGURES[number]))
    if set(options.figures) & {3, 4}:
        counted = traced(options, options.out.with_suffix(".schedules.jsonl"))
        tables = {3: schedule_table, 4: scaling_table}
        for number in sorted(set(options.figures) & {3, 4}):
            drawn[number] = tables[number](counted, options.large)
    if options.plots:
        from bench.papers.paper001_plots import draw

        draw(drawn, options.plots)


if __name__ == "__main__":
    main()
